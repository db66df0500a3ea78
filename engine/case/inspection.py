"""Checks that a case passes before anything is written to it.

After a clean close the end of the audit log is compared with what the counters say; after a crash the whole file and
the tail of the chain are checked; and always the log is compared with the last checkpoint that is kept elsewhere.
The chain as a whole is checked in an export, by `chaincheck`.
"""

import json
from pathlib import Path

import apsw

from engine.case.audit import digest
from engine.case.identity import CaseIdentity
from engine.case.journal import CHECKPOINT_EVERY, Checkpoint
from engine.case.state import CaseState
from engine.case.storage import REPAIR, damaged, shown
from engine.errors import CaseDamagedError

TAIL = 2 * CHECKPOINT_EVERY
"""Records at the end of the log that are checked after a crash: the last one kept elsewhere is among them."""


def check_file(connection: apsw.Connection, path: Path) -> None:
    """Let SQLite check the structure of the whole file; it reads all of it.

    Raises:
        CaseDamagedError: When it finds anything.
    """
    if connection.execute("PRAGMA quick_check(1)").get != "ok":
        raise damaged(path)


def check_chain_end(
    connection: apsw.Connection, path: Path, identity: CaseIdentity, state: CaseState, *, records: int = 1
) -> None:
    """Check the links of the last records, and that the log ends where the counters say.

    Args:
        connection: Any connection.
        path: The case file, for the sentence.
        identity: The case.
        state: Its state as read from the file.
        records: How many of the last records to check.

    Raises:
        CaseDamagedError: When a record is missing, changed or too many.
    """
    first = max(1, state.records - records + 1)
    prev = identity.digest if first == 1 else _head_at(connection, first - 1)
    expected = first
    for seq, line in connection.execute("SELECT seq, line FROM audit WHERE seq >= ? ORDER BY seq", (first,)):
        if seq != expected or not _links(line, seq, prev):
            raise _broken(path, expected)
        prev = digest(line)
        expected += 1
    if expected != state.records + 1 or prev != state.head:
        raise _broken(path, expected)


def check_checkpoint(connection: apsw.Connection, path: Path, point: Checkpoint) -> None:
    """Compare the log with a checkpoint that was kept elsewhere.

    Raises:
        CaseDamagedError: When the log is shorter, or another one.
    """
    records = connection.execute("SELECT coalesce(max(seq), 0) FROM audit").get
    if records < point.count:
        raise CaseDamagedError(
            f"The audit log of {shown(path)} is shorter than the last known checkpoint: it has {records:,} records, "
            f"and {point.count:,} were on disk before. An older copy has taken its place, or its end was cut off. "
            f"Nothing is written to it; bring back the newer file, or {REPAIR}."
        )
    if _head_at(connection, point.count) != point.head:
        raise CaseDamagedError(
            f"The audit log of {shown(path)} is not the one that the last known checkpoint belongs to: record "
            f"{point.count:,} differs. The log was written anew or comes from another copy. Nothing is written to it; "
            f"bring back the original file, or {REPAIR}."
        )


def _head_at(connection: apsw.Connection, seq: int) -> str:
    line = connection.execute("SELECT line FROM audit WHERE seq = ?", (seq,)).get
    return "" if line is None else digest(line)


def _links(line: bytes, seq: int, prev: str) -> bool:
    try:
        fields = json.loads(line)
        return bool(fields["seq"] == seq and fields["prev"] == prev)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _broken(path: Path, seq: int) -> CaseDamagedError:
    return CaseDamagedError(
        f"The audit chain of {shown(path)} is broken at record {seq:,}: the record is missing, was changed, or does "
        "not belong there. Nothing is written to the case any more. Keep the file as it is, and go on with a copy from "
        f"a backup, or {REPAIR}."
    )
