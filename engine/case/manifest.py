"""The manifest as the writer sees it: one row for each file that was ever met, changed within one transaction.

Rows that a transaction touches are loaded once, changed in memory and written once, by `flush`. What a change means,
and which audit record goes with it, is the business of `booking` and `documents`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Self

import apsw

from engine.case import suspects
from engine.case.schema import place_of
from engine.case.storage import ContradictionError, Value
from engine.models.document import FoundFile
from engine.models.outcome import Outcome, Reason, RowState, SkipReason

_KEPT: Final = 1000
"""Rows kept in memory between two facts."""

_PAGES_A_READ: Final = 2000

_WAITING_A_READ: Final = 100


_COLUMNS: Final = (
    "doc_id, root_id, path, version, size_bytes, mtime_ns, state, outcome, reason, sha256, page_count, pages_done, "
    "pages_dead, repaired, source_fault, duplicate_of, last_record"
)


@dataclass(slots=True, kw_only=True)
class Document:
    """One row of the manifest, in the hands of the writer."""

    doc_id: int
    root_id: int
    path: bytes
    version: int
    size_bytes: int
    mtime_ns: int
    state: RowState
    outcome: Outcome | None = None
    reason: Reason | SkipReason | None = None
    sha256: bytes | None = None
    page_count: int | None = None
    pages_done: int = 0
    pages_dead: int = 0
    repaired: bool = False
    source_fault: bool = False
    duplicate_of: int | None = None
    last_record: str
    """Hash of this document's last audit record, or of the case's header where it has none."""

    def row(self) -> tuple[Value, ...]:
        """Return the values in the order of the columns."""
        return (
            self.doc_id,
            self.root_id,
            self.path,
            self.version,
            self.size_bytes,
            self.mtime_ns,
            self.state.value,
            None if self.outcome is None else self.outcome.value,
            None if self.reason is None else self.reason.value,
            self.sha256,
            self.page_count,
            self.pages_done,
            self.pages_dead,
            self.repaired,
            self.source_fault,
            self.duplicate_of,
            bytes.fromhex(self.last_record),
        )

    @classmethod
    def of_row(cls, row: tuple[Any, ...], header: str) -> Self:
        """Return the document of a row.

        Args:
            row: The values in the order of the columns.
            header: Hash of the case's header line.
        """
        doc_id, root_id, path, version, size, mtime, state, outcome, reason, sha256, page_count, *others = row
        done, dead, repaired, source_fault, duplicate_of, last = others
        kind = SkipReason if state == RowState.SKIPPED else Reason
        return cls(
            doc_id=doc_id,
            root_id=root_id,
            path=path,
            version=version,
            size_bytes=size,
            mtime_ns=mtime,
            state=RowState(state),
            outcome=None if outcome is None else Outcome(outcome),
            reason=None if reason is None else kind(reason),
            sha256=sha256,
            page_count=page_count,
            pages_done=done,
            pages_dead=dead,
            repaired=bool(repaired),
            source_fault=bool(source_fault),
            duplicate_of=duplicate_of,
            last_record=header if last is None else last.hex(),
        )


class Manifest:
    """The manifest within one transaction.

    The mutable state is the rows in memory. Whoever changes one says so with `changed`; `flush` writes them, and
    precedes every query that could find one of them by what was changed.

    Args:
        connection: The writer, inside a transaction.
        header: Hash of the case's header line, to which every document's history chains.
    """

    def __init__(self, connection: apsw.Connection, header: str) -> None:
        self._connection = connection
        self._header = header
        self._documents: dict[int, Document] = {}
        self._changed: dict[int, Document] = {}
        self._progressed: dict[int, Document] = {}
        self._roots: dict[bytes, int] = {}
        self._root_paths: dict[int, bytes] = {}

    def document(self, doc_id: int) -> Document:
        """Return a document.

        Raises:
            ContradictionError: When there is none of that number.
        """
        known = self._documents.get(doc_id)
        if known is not None:
            return known
        row = self._connection.execute(f"SELECT {_COLUMNS} FROM manifest WHERE doc_id = ?", (doc_id,)).fetchone()  # noqa: S608  # our own columns
        if row is None:
            raise ContradictionError(f"there is no document {doc_id} in the case")
        document = self._documents[doc_id] = Document.of_row(row, self._header)
        return document

    def changed(self, document: Document) -> None:
        """Note that a document was changed, so that it is written."""
        self._changed[document.doc_id] = document

    def progressed(self, document: Document) -> None:
        """Note that only its pages done or dead and its last record changed: no index needs to be looked at."""
        self._progressed[document.doc_id] = document

    def latest(self, file: FoundFile) -> Document | None:
        """Return the latest version of a file of this root and path, or None where it was never met."""
        row = self._connection.execute(
            "SELECT doc_id FROM manifest WHERE root_id = ? AND path = ? ORDER BY version DESC LIMIT 1",
            (self.root_id(file.root), file.path),
        ).get
        return None if row is None else self.document(row)

    def add(self, document: Document) -> None:
        """Put a new document into the table, at once, since the next file may be the same path again."""
        self._connection.execute(f"INSERT INTO manifest ({_COLUMNS}) VALUES ({_MARKS})", document.row())  # noqa: S608  # our own columns

    def root_id(self, root: bytes) -> int:
        """Return the number of a source root, a new one for a root not met before."""
        number = self._roots.get(root)
        if number is None:
            self._connection.execute("INSERT OR IGNORE INTO roots (path) VALUES (?)", (root,))
            number = self._connection.execute("SELECT root_id FROM roots WHERE path = ?", (root,)).get
            self._roots[root] = number
        return number

    def root_of(self, document: Document) -> bytes:
        """Return the source root that a document was found under."""
        number = document.root_id
        if number not in self._root_paths:
            path = self._connection.execute("SELECT path FROM roots WHERE root_id = ?", (number,)).get
            self._root_paths[number] = path
        return self._root_paths[number]

    def original(self, sha256: bytes) -> Document | None:
        """Return the document that accounts for these bytes in this case: being processed, or done with no fault of
        its source.
        """  # noqa: D205  # one sentence, too long for one line
        self.flush()
        found = self._connection.execute(
            "SELECT doc_id FROM manifest WHERE sha256 = ? AND sha256 IS NOT NULL AND duplicate_of IS NULL "
            "AND source_fault = 0 AND state IN ('open', 'done')",
            (sha256,),
        ).get
        return None if found is None else self.document(found)

    def waiting_for(self, doc_id: int) -> Iterator[Document]:
        """Yield the documents that wait for an original; each must cease to wait before the next is asked for."""
        self.flush()
        while found := self._waiting(doc_id):
            for waiting in found:
                yield self.document(waiting)
            self.flush()
            for waiting in found:
                del self._documents[waiting]

    def _waiting(self, doc_id: int) -> list[int]:
        rows = self._connection.execute(_WAITING, (doc_id,))
        found: list[int] = [waiting for (waiting,) in islice(rows, _WAITING_A_READ)]
        rows.close()
        return found

    def unfinished_pages(self, document: Document) -> Iterator[int]:
        """Yield the pages without terminal record; the journal must have been flushed for those that have one."""
        count = document.page_count or 0
        for first in range(1, count + 1, _PAGES_A_READ):
            last = min(first + _PAGES_A_READ - 1, count)
            done = {page for (page,) in self._connection.execute(_TERMINAL_PAGES, _between(document, first, last))}
            for page in range(first, last + 1):
                if page not in done:
                    yield page

    def is_terminal(self, place: int) -> bool:
        """Whether a place has its terminal record; the journal must have been flushed."""
        found: int = self._connection.execute("SELECT count(*) FROM audit WHERE place = ?", (place,)).get
        return found == 1

    def commonest_reason(self, document: Document) -> Reason:
        """Return the reason of most of a document's dead pages, of the first one among equals."""
        reason = self._connection.execute(
            "SELECT json_extract(CAST(line AS TEXT), '$.reason') AS reason FROM audit "
            "WHERE place BETWEEN ? AND ? GROUP BY reason ORDER BY count(*) DESC, min(place) LIMIT 1",
            _between(document, 1, document.page_count or 0),
        ).get
        return Reason(reason)

    def strike(self, place: int) -> None:
        """Count a strike against a page or a document."""
        self._connection.execute(
            "INSERT INTO strikes VALUES (?, 1) ON CONFLICT (place) DO UPDATE SET count = count + 1", (place,)
        )

    def died(self, place: int) -> None:
        """Count a death of the application against a page or a document; a strike is counted besides."""
        self._connection.execute(
            "INSERT INTO deaths VALUES (?, 1) ON CONFLICT (place) DO UPDATE SET count = count + 1", (place,)
        )

    def strikes(self, place: int) -> int:
        """Return how many strikes there are against a page or a document."""
        found: int | None = self._connection.execute("SELECT count FROM strikes WHERE place = ?", (place,)).get
        return found or 0

    def suspect(self, place: int) -> None:
        """Remember that a page or a document is in work for long."""
        suspects.suspect(self._connection, place)

    def clear(self, place: int) -> None:
        """Forget that a page or a document was in work for long."""
        suspects.clear(self._connection, place)

    def convicted(self) -> Iterator[int]:
        """Yield the places to be struck, since they were in work for long when the application died.

        The journal must have been flushed.
        """
        return suspects.convicted(self._connection)

    def forget_suspects(self) -> None:
        """Forget all that was in work for long."""
        suspects.forget_all(self._connection)

    def trim(self) -> None:
        """Let go of rows in memory where there are many; nobody may hold one."""
        if len(self._documents) > _KEPT:
            self.flush()
            self._documents.clear()

    def flush(self) -> None:
        """Write the changed rows; they stay in memory.

        Raises:
            apsw.ConstraintError: When two documents would account for the same bytes.
        """
        if self._progressed:
            rows = (
                (item.pages_done, item.pages_dead, bytes.fromhex(item.last_record), item.doc_id)
                for item in self._progressed.values()
                if item.doc_id not in self._changed
            )
            self._connection.executemany(_UPDATE_PROGRESS, rows)
            self._progressed.clear()
        if self._changed:
            changed = map(Document.row, self._changed.values())
            self._connection.executemany(_UPDATE, ((*row[_FIXED:], row[0]) for row in changed))
            self._changed.clear()


_NAMES: Final = _COLUMNS.split(", ")
_FIXED: Final = _NAMES.index("size_bytes")
_MARKS: Final = ", ".join("?" * len(_NAMES))
_UPDATE: Final = f"UPDATE manifest SET {', '.join(f'{name} = ?' for name in _NAMES[_FIXED:])} WHERE doc_id = ?"  # noqa: S608  # our own columns
_UPDATE_PROGRESS: Final = "UPDATE manifest SET pages_done = ?, pages_dead = ?, last_record = ? WHERE doc_id = ?"
_WAITING: Final = "SELECT doc_id FROM manifest WHERE state = 'waiting' AND duplicate_of = ?"
_TERMINAL_PAGES: Final = "SELECT place & 0xFFFFFFFF FROM audit WHERE place BETWEEN ? AND ?"


def _between(document: Document, first: int, last: int) -> tuple[int, int]:
    return place_of(document.doc_id, first), place_of(document.doc_id, last)
