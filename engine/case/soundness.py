"""Whether anything is wrong with a case at all: looked at as a whole, and without leaving a trace beside it.

Repairing a sound case would make a second one that goes its own way, and the checkpoint of the second would shut the
first one out. What is compared: SQLite's own structures, the tables, the whole audit chain with the checkpoint kept
elsewhere, the counters, and every text with the hash in its record.
"""

import contextlib
import hashlib
import json
import logging
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import apsw

from engine.case.chaincheck import ChainCheck
from engine.case.checkpoints import CheckpointKeeper
from engine.case.identity import CaseIdentity
from engine.case.inspection import check_checkpoint
from engine.case.schema import VERSION, check_tables, too_new, version_of
from engine.case.state import CaseState
from engine.case.storage import has_log, shown
from engine.errors import CaseDamagedError
from engine.models.outcome import Outcome

_log = logging.getLogger(__name__)

_LINES_A_CHECK: Final = 500


def is_sound(path: Path, ledger: CheckpointKeeper | None) -> bool:
    """Whether a case is as this program leaves it, closed in order or not.

    A case that cannot be looked at as SQLite has it is not sound. The write-ahead log is taken as SQLite takes it, up
    to the first frame that is not whole; whether there is one, `RawRows` tells.

    Args:
        path: The case; nobody writes to it meanwhile.
        ledger: Where checkpoints were kept, to be compared with.
    """
    try:
        with contextlib.closing(_connect(path)) as connection:
            return _is_whole(connection, path) and _is_as_logged(connection, path, ledger)
    except Exception as error:  # noqa: BLE001  # the border to a file that may hold anything: whatever it is, it is not sound
        _log.info("%s is not sound (%s: %s)", shown(path), type(error).__name__, error)
        return False


def require_known(path: Path) -> None:
    """Refuse a case that a newer program wrote: what this one would make of it would shut it out.

    Raises:
        CaseTooNewError: When its tables are none of this program's, and its version says whose they are.
    """
    version = 0
    try:
        with contextlib.closing(_connect(path)) as connection:
            version = version_of(connection, shown(path))
            check_tables(connection, shown(path))
    except CaseDamagedError:
        if version > VERSION:
            raise too_new(shown(path), version) from None
    except Exception as error:  # noqa: BLE001  # as above: then nothing tells that it is a newer one
        _log.info("%s cannot be asked for its version (%s: %s)", shown(path), type(error).__name__, error)


def _connect(path: Path) -> apsw.Connection:
    """Open a case so that no byte of it changes, and no file appears beside it."""
    if not has_log(path):
        uri = f"file:{quote(str(path.absolute()))}?immutable=1"
        return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    connection = apsw.Connection(str(path.absolute()), flags=apsw.SQLITE_OPEN_READWRITE)
    # The index of the log is then kept in memory, and not in a file; and nothing is moved out of the log at the end.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.pragma("locking_mode", "exclusive")
    connection.pragma("query_only", True)
    return connection


def _is_whole(connection: apsw.Connection, path: Path) -> bool:
    """Whether structure and tables are right, and nothing of what was recorded last is missing."""
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    if version_of(connection, shown(path)) > VERSION:
        return False
    check_tables(connection, shown(path))
    if connection.execute("PRAGMA integrity_check(1)").get != "ok":
        return False
    is_clean: int = connection.execute("SELECT clean FROM state").get
    # An older case has no copy of the header: its tables were compared with those of its version.
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'header_copy'").get is not None:
        copies: int = connection.execute("SELECT count(*) FROM header JOIN header_copy USING (id, line)").get
        if copies != 1:
            return False
    return is_clean == 1 or has_log(path)


def _is_as_logged(connection: apsw.Connection, path: Path, ledger: CheckpointKeeper | None) -> bool:
    """Whether log, texts and counters agree with one another."""
    identity = CaseIdentity.of_line(connection.execute("SELECT line FROM header").get, path)
    point = None if ledger is None else ledger.last(identity.case_id)
    if point is not None:
        check_checkpoint(connection, path, point)
    check, texts = ChainCheck(identity.line), 0
    rows: Any = connection.execute(_LINES)
    while group := [row for row, _ in zip(rows, range(_LINES_A_CHECK), strict=False)]:
        check.take_all([line for line, _, _ in group])
        for line, place, text in group:
            if not _has_its_text(line, place, text):
                return False
            texts += text is not None
    state = CaseState.load(connection)
    return (
        not check.problems
        and (state.records, state.head) == (check.records, check.head)
        and texts == connection.execute("SELECT count(*) FROM texts").get
        and _counts(state) == _counted(connection, check)
        and not connection.execute(_MISCOUNTED).get
    )


def _has_its_text(line: bytes, place: int | None, text: bytes | None) -> bool:
    """Whether a record has the text whose hash it states, and none where it states none."""
    fields = json.loads(line)
    if fields["event"] != Outcome.EXTRACTED:
        return text is None
    return place is not None and fields["text_sha256"] == hashlib.sha256(text or b"").hexdigest()


def _counts(state: CaseState) -> tuple[object, ...]:
    return (
        (state.documents_extracted, state.documents_dead, state.documents_duplicate),
        (state.pages_extracted, state.pages_dead, state.pages_duplicate),
        {reason.value: number for reason, number in state.reasons.items()},
        (state.skipped, state.dead_letters, state.skipped),
        (state.documents, state.pages, state.waiting, state.unfinished_sources),
    )


def _counted(connection: apsw.Connection, check: ChainCheck) -> tuple[object, ...]:
    """Return what `_counts` would be, counted from the log and the tables."""
    tallies = check.tallies
    listed: Any = connection.execute(_LISTED).fetchone()
    outcomes = (Outcome.EXTRACTED, Outcome.DEAD_LETTER, Outcome.DUPLICATE)
    return (
        tuple(tallies.documents[outcome] for outcome in outcomes),
        tuple(tallies.pages[outcome] for outcome in outcomes),
        {reason: number for reason, number in tallies.reasons.items() if number},
        (tallies.skipped, *listed),
        connection.execute(_KNOWN).fetchone(),
    )


_LINES: Final = (
    "SELECT line, audit.place, CAST(text AS BLOB) FROM audit LEFT JOIN texts ON texts.place = audit.place ORDER BY seq"
)
_LISTED: Final = "SELECT (SELECT count(*) FROM dead_letters), (SELECT count(*) FROM manifest WHERE state = 'skipped')"
_KNOWN: Final = (
    "SELECT count(*), coalesce(sum(page_count) FILTER (WHERE state IN ('open', 'done')), 0), "
    "count(*) FILTER (WHERE state = 'waiting'), (SELECT count(*) FROM sources WHERE finished = 0) "
    "FROM manifest WHERE state != 'skipped'"
)
_MISCOUNTED: Final = (
    "SELECT count(*) FROM manifest WHERE pages_done != (SELECT count(*) FROM audit "
    "WHERE audit.place > manifest.doc_id << 32 AND audit.place < (manifest.doc_id + 1) << 32)"
)
