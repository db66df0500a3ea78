"""What is left of a damaged case: every row that can be read, sorted by what it is, and how far the audit log holds.

Nothing is believed because it stands in the file. A line of the log counts where the line after it, or a head that was
noted, states its hash; a text where a line states its hash. Where exactly one bit of a line or a text was turned, the
hash tells which. Rows of the manifest, which nothing vouches for, only serve documents that the log has not ended.

All that is found is sorted in a scratch database on disk, so that memory does not grow with the case. Putting a new
case together is the business of `rebuild`.
"""

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import apsw

from engine.case.chaincheck import ChainCheck
from engine.case.identity import CaseIdentity
from engine.case.journal import CHECKPOINT_EVERY
from engine.case.rawrows import RawRows, Row, Text
from engine.case.storage import shown
from engine.errors import CaseDamagedError
from engine.models.outcome import Outcome, RowState

EMPTY_TEXT: Final = hashlib.sha256(b"").hexdigest()
"""Hash of the text of a blank page, which has no row."""

_LONGEST_MENDED: Final = 8 * 1024
_MOST_MENDED: Final = 1000
_MANIFEST_COLUMNS: Final = 17
_STATE_COLUMNS: Final = 19

_SCRATCH = """
CREATE TABLE lines (digest TEXT PRIMARY KEY, seq INTEGER, prev TEXT, line BLOB) WITHOUT ROWID;
CREATE INDEX lines_seq ON lines (seq);
CREATE TABLE texts (digest TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID;
CREATE TABLE places (place INTEGER, at INTEGER, PRIMARY KEY (place, at)) WITHOUT ROWID;
CREATE TABLE mended (digest TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
CREATE TABLE roots (root_id INTEGER, path BLOB, PRIMARY KEY (root_id, path)) WITHOUT ROWID;
CREATE TABLE sources (number INTEGER, path BLOB, PRIMARY KEY (number, path)) WITHOUT ROWID;
CREATE TABLE indexed (number INTEGER, path BLOB, PRIMARY KEY (number, path)) WITHOUT ROWID; -- roots or sources
CREATE TABLE places_of_files (
    doc_id INTEGER, root_id INTEGER, path BLOB, version INTEGER, PRIMARY KEY (doc_id, root_id, path, version)
) WITHOUT ROWID;
CREATE TABLE files (
    doc_id INTEGER, at INTEGER, root_id INTEGER, path BLOB, version INTEGER, size_bytes INTEGER, mtime_ns INTEGER,
    state TEXT, sha256 TEXT, page_count INTEGER, repaired INTEGER,
    PRIMARY KEY (doc_id, path, version, state, sha256)
) WITHOUT ROWID;
CREATE TABLE chain (
    seq INTEGER PRIMARY KEY, part INTEGER, event TEXT, doc_id INTEGER, page INTEGER, digest TEXT, line BLOB
);
CREATE INDEX chain_document ON chain (doc_id, seq) WHERE doc_id IS NOT NULL;
"""


@dataclass(slots=True, kw_only=True)
class Salvage:
    """What was found; see the module. Mutable while it is being filled."""

    path: Path
    raw: RawRows
    scratch: apsw.Connection
    identity: CaseIdentity
    heads: dict[int, set[str]] = field(default_factory=dict)
    """Hashes of lines, by number, as counters in the file state them."""
    paused: bool = False
    known: int = 0
    """Records that the case once had, as far as anything tells."""
    chained: int = 0
    """Records whose chain holds and whose texts are there."""
    sound: int = 0
    """Records up to the last one of them that ended a transaction for certain."""
    mended: int = 0
    """Lines and texts of which one bit was turned back."""
    attempts: int = 0
    """Lines and texts for which that was tried."""

    @classmethod
    def of(cls, path: Path, raw: RawRows, scratch: apsw.Connection) -> Self:
        """Read a damaged case, and follow its audit log as far as it holds.

        Args:
            path: The damaged case, for sentences.
            raw: Its rows.
            scratch: An empty database for what is found.

        Raises:
            CaseDamagedError: When its header cannot be found.
        """
        scratch.execute(_SCRATCH)
        sorter = _Sorter(scratch)
        with scratch:
            for row in raw.rows():
                sorter.take(row)
        found = cls(
            path=path,
            raw=raw,
            scratch=scratch,
            identity=_identity(sorter.headers, scratch, path),
            heads=sorter.heads,
            paused=sorter.paused,
            known=max([sorter.last_line, *sorter.heads]),
        )
        with scratch:
            found._follow()
        return found

    def head_at(self, seq: int) -> str:
        """Return the hash of a record of the chain, or of the header for number 0."""
        if seq == 0:
            return self.identity.digest
        digest: str = self.scratch.execute("SELECT digest FROM chain WHERE seq = ?", (seq,)).get
        return digest

    def text(self, digest: str) -> str:
        """Return the text of that hash, which must have been found."""
        mended: str | None = self.scratch.execute("SELECT text FROM mended WHERE digest = ?", (digest,)).get
        if mended is not None:
            return mended
        at: Any = self.scratch.execute("SELECT at FROM texts WHERE digest = ?", (digest,)).get
        row = self.raw.row(at)
        assert row is not None and isinstance(row.values[1], bytes)  # noqa: S101, PT018  # it was read there before
        return row.values[1].decode()

    def _follow(self) -> None:
        """Follow the chain from the header on, for as long as each line links to the one before it.

        It ends where a text is lost: the record of a page cannot be kept without its text, nor be written again.
        """
        check = ChainCheck(self.identity.line)
        head, part, moment = self.identity.digest, 0, None
        while (line := self._line(self.chained + 1, head)) is not None:
            check.take(line)
            if check.problems:  # whoever wrote that, this program did not
                return
            fields = json.loads(line)
            doc_id = int(fields["doc_id"][1:]) if "doc_id" in fields else None
            if (fields["ts"], fields["mono_ms"]) != moment:  # all records of one transaction carry the same
                part, moment, self.sound = part + 1, (fields["ts"], fields["mono_ms"]), self.chained
            if fields["event"] == Outcome.EXTRACTED and not self._has_text(fields, doc_id or 0):
                return
            head = hashlib.sha256(line).hexdigest()
            self.chained += 1
            self.scratch.execute(
                "INSERT INTO chain VALUES (?, ?, ?, ?, ?, ?, ?)",
                (self.chained, part, fields["event"], doc_id, fields.get("page"), head, line),
            )
        if head in self.heads.get(self.chained, ()):
            self.sound = self.chained

    def _line(self, seq: int, prev: str) -> bytes | None:
        """Return the line of that number that links to the one before it; one that is vouched for, if there is any."""
        candidates = self._candidates(seq)
        vouched = {following for _, _, following in self._candidates(seq + 1) if following} | self.heads.get(seq, set())
        linked = [(digest, line) for digest, line, link in candidates if link == prev]
        for digest, candidate in linked:
            if digest in vouched:
                return candidate
        for digest in sorted(vouched):
            query = "SELECT line FROM lines WHERE digest = ? AND prev = ?"
            found: bytes | None = self.scratch.execute(query, (digest, prev)).get
            attempts = (self._mend(broken, digest) for _, broken, _ in candidates)
            line = found or next((mended for mended in attempts if mended is not None), None)
            if line is not None and _number_and_link(line) == (seq, prev):
                return bytes(line)
        return linked[0][1] if linked else None

    def _candidates(self, seq: int) -> list[tuple[str, bytes, str | None]]:
        rows: list[Any] = self.scratch.execute("SELECT digest, line, prev FROM lines WHERE seq = ?", (seq,)).fetchall()
        return rows

    def _has_text(self, fields: dict[str, Any], doc_id: int) -> bool:
        digest = fields["text_sha256"]
        if digest == EMPTY_TEXT:
            return True
        if self.scratch.execute(_IS_THERE, (digest, digest)).get:
            return True
        place = doc_id << 32 | fields["page"]
        found: list[Any] = self.scratch.execute("SELECT at FROM places WHERE place = ?", (place,)).fetchall()
        for (at,) in found:
            row = self.raw.row(at)
            text = None if row is None or not isinstance(row.values[1], Text) else self._mend(row.values[1], digest)
            if text is not None:
                self.scratch.execute("INSERT INTO mended VALUES (?, ?)", (digest, text.decode()))
                return True
        return False

    def _mend(self, broken: bytes, digest: str) -> bytes | None:
        """Return the bytes of that hash that differ from these in one bit, or None where there are none."""
        if self.attempts >= _MOST_MENDED:
            return None
        self.attempts += 1
        mended = mend(broken, digest)
        self.mended += mended is not None
        return mended


def mend(broken: bytes, digest: str) -> bytes | None:
    """Return the bytes of a hash that differ from some others in one bit, or None where there are none or too many."""
    if len(broken) > _LONGEST_MENDED:
        return None
    wanted = bytes.fromhex(digest)
    before = hashlib.sha256()
    for place, byte in enumerate(broken):
        rest = broken[place + 1 :]
        for bit in range(8):
            turned = bytes([byte ^ 1 << bit])
            attempt = before.copy()
            attempt.update(turned + rest)
            if attempt.digest() == wanted:
                return broken[:place] + turned + rest
        before.update(bytes([byte]))
    return None


class _Sorter:
    """Tells by its form what a row is, and keeps it."""

    def __init__(self, scratch: apsw.Connection) -> None:
        self._scratch = scratch
        self.headers: list[bytes] = []
        self.heads: dict[int, set[str]] = {}
        self.paused = False
        self.last_line = 0
        self._last_state = -1

    def take(self, row: Row) -> None:
        """Keep a row in the scratch database, where it is one of a case."""
        if row.rowid is None:
            self._take_entry(row)
            return
        match row.values:
            case (None, Text() as text):
                self._take_text(row, text)
            case (None, Text(), *_):
                return
            case (None, bytes() as line) if line.startswith(b"{"):
                self.headers.append(bytes(line))
            case (None, bytes() as line, int() | None) if line.startswith(b"{"):
                self._take_line(row, line)
            case (None, bytes() as path):
                self._scratch.execute("INSERT OR IGNORE INTO roots VALUES (?, ?)", (row.rowid, bytes(path)))
            case (None, bytes() as path, 0 | 1):
                self._scratch.execute("INSERT OR IGNORE INTO sources VALUES (?, ?)", (row.rowid, bytes(path)))
            case (None, *_) if len(row.values) == _MANIFEST_COLUMNS:
                self._take_file(row)
            case (None, int(), int(), *_) if len(row.values) == _STATE_COLUMNS:
                self._take_state(row.values)

    def _take_entry(self, row: Row) -> None:
        match row.values:
            case (bytes() as path, int() as number) if not isinstance(path, Text):
                self._scratch.execute("INSERT OR IGNORE INTO indexed VALUES (?, ?)", (number, path))
            case (int() as root_id, bytes() as path, int() as version, int() as doc_id) if not isinstance(path, Text):
                entry = (doc_id, root_id, path, version)
                self._scratch.execute("INSERT OR IGNORE INTO places_of_files VALUES (?, ?, ?, ?)", entry)

    def _take_text(self, row: Row, text: Text) -> None:
        digest = hashlib.sha256(text).hexdigest()
        self._scratch.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (digest, row.at))
        self._scratch.execute("INSERT OR IGNORE INTO places VALUES (?, ?)", (row.rowid, row.at))

    def _take_line(self, row: Row, line: bytes) -> None:
        link = _number_and_link(line)
        prev = None if link is None else link[1]
        if link is not None and link[0] == row.rowid:  # said twice, so not by a turned bit
            self.last_line = max(self.last_line, row.rowid)
        digest = hashlib.sha256(line).hexdigest()
        self._scratch.execute("INSERT OR IGNORE INTO lines VALUES (?, ?, ?, ?)", (digest, row.rowid, prev, bytes(line)))

    def _take_file(self, row: Row) -> None:
        values: tuple[Any, ...] = row.values
        _, root_id, path, version, size, mtime, state, _, _, sha256, page_count, _, _, repaired, *_ = values
        kinds = ((root_id, int), (path, bytes), (version, int), (size, int), (mtime, int), (state, Text))
        if any(not isinstance(value, kind) for value, kind in kinds) or state not in _STATES:
            return
        digest = sha256.hex() if isinstance(sha256, bytes) else ""
        self._scratch.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.rowid,
                row.at,
                root_id,
                bytes(path),
                version,
                size,
                mtime,
                state.decode(),
                digest,
                page_count,
                repaired,
            ),
        )

    def _take_state(self, values: tuple[Any, ...]) -> None:
        _, _, paused, _, records, head, checkpointed, *_ = values
        if not isinstance(records, int) or not isinstance(checkpointed, int) or not isinstance(head, bytes):
            return
        # A checkpoint is never far behind: a turned bit must not make a log look as if most of it was lost.
        if 0 <= records - checkpointed <= CHECKPOINT_EVERY and len(head) == hashlib.sha256().digest_size:
            self.heads.setdefault(records, set()).add(head.hex())
            if records >= self._last_state:
                self._last_state, self.paused = records, paused == 1


_HASH: Final = re.compile("[0-9a-f]{64}")
_IS_THERE: Final = "SELECT 1 FROM texts WHERE digest = ? UNION SELECT 1 FROM mended WHERE digest = ?"
_STATES: Final = frozenset(state.value.encode() for state in RowState)


def _number_and_link(line: bytes) -> tuple[int, str] | None:
    """Return a line's number and the hash that it states of the line before it."""
    try:
        fields = json.loads(line)
        number, link = fields["seq"], fields["prev"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    is_link = isinstance(link, str) and _HASH.fullmatch(link) is not None
    return (number, link) if isinstance(number, int) and is_link else None


def _identity(headers: list[bytes], scratch: apsw.Connection, path: Path) -> CaseIdentity:
    """Return what the header says, as it was found or with one bit turned back.

    Raises:
        CaseDamagedError: When it cannot be had.
    """
    rows: list[Any] = scratch.execute("SELECT prev FROM lines WHERE seq = 1 AND prev IS NOT NULL").fetchall()
    links = {link for (link,) in rows}
    linked = [header for header in headers if hashlib.sha256(header).hexdigest() in links]
    mended = [mend(header, link) for header in headers[:10] for link in links] if not linked else []
    for line in (*linked, *(line for line in mended if line is not None), *headers):
        with contextlib.suppress(CaseDamagedError):
            return CaseIdentity.of_line(line, path)
    raise CaseDamagedError(
        f"The header of {shown(path)}, which says what the case is, cannot be found any more: it cannot be repaired. "
        "Go on with a copy from a backup, or begin a new case."
    )
