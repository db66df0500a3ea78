"""A new case from what was left of a damaged one: which records are kept, and what follows from them.

Kept is the longest beginning of the audit log that a case can go on from. It ends with a whole transaction; the text
of every page in it is there; and of every document in it that is not done, the place of its file is known, and the
hash and the number of pages where pages of it are done. Everything else in the new case is worked out from these
records, or follows from nothing and begins anew: documents without a record are pending and get the numbers that no
record uses, and all sources are looked through again, so that what was forgotten is found again.

Reading the damaged file is the business of `salvage`.
"""

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

from engine.case.lostfiles import LostFiles
from engine.case.manifest import Document, Manifest
from engine.case.salvage import EMPTY_TEXT, Salvage
from engine.case.schema import apply_steps, insert_header, place_of
from engine.case.state import CaseState
from engine.case.storage import connect_writer, transaction
from engine.models.outcome import Outcome, Reason, RowState, SkipReason

_GROUP: Final = 500
_PAGE_EVENTS: Final = frozenset(outcome.value for outcome in Outcome)
_ENDS: Final = frozenset({"DOCUMENT", "SKIPPED"})

T = TypeVar("T")


def kept_records(found: Salvage, files: LostFiles) -> int:
    """Return how many of the first records a case can go on from; `files` then knows what is pending there."""
    cut = found.sound
    while (first := _first_to_leave(found, files, cut)) is not None:
        query = "SELECT max(seq) FROM chain WHERE part < (SELECT part FROM chain WHERE seq = ?)"
        last: int | None = found.scratch.execute(query, (first,)).get
        cut = last or 0
    return cut


def _first_to_leave(found: Salvage, files: LostFiles, cut: int) -> int | None:
    """Return the first record that cannot be kept though others up to `cut` could, or None where all can."""
    leave: list[int] = []
    unended: list[Any] = found.scratch.execute(_UNENDED, (cut,)).fetchall()
    for doc_id, first, first_page in unended:
        if files.place(doc_id) is None:
            leave.append(first)
        elif first_page is not None and files.opened(doc_id, _content(found, first_page)) is None:
            leave.append(first_page)
    numbers: Any = found.scratch.execute(_NUMBERS, (cut,)).fetchone()
    recorded, highest = numbers
    room = recorded + files.find_pending(cut)
    if highest > room:  # a number in between would stand for nothing
        above: int = found.scratch.execute("SELECT min(seq) FROM chain WHERE doc_id > ?", (room,)).get
        leave.append(above)
    return min(leave, default=None)


def _content(found: Salvage, seq: int) -> str:
    """Return the hash of the document's bytes that a page's record states."""
    line: bytes = found.scratch.execute("SELECT line FROM chain WHERE seq = ?", (seq,)).get
    return str(json.loads(line)["doc_sha256"])


def rebuild(found: Salvage, files: LostFiles, kept: int, target: Path) -> CaseState:
    """Write a case from the first records of the log.

    Args:
        found: What was left.
        files: What is known of its files, after `kept_records`.
        kept: How many records to keep.
        target: The file to make.

    Returns:
        The state of the new case.

    Raises:
        apsw.Error: Mapped by the caller.
    """
    connection = connect_writer(target)
    try:
        with transaction(connection):
            apply_steps(connection)
            insert_header(connection, found.identity.line)
        state = _Rebuilding(found, files, connection, kept).run()
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.close()
    return state


class _Rebuilding:
    """Fills the tables of a new case, in transactions of some hundred rows."""

    def __init__(self, found: Salvage, files: LostFiles, connection: apsw.Connection, kept: int) -> None:
        self._found = found
        self._files = files
        self._connection = connection
        self._kept = kept
        self._manifest = Manifest(connection, found.identity.digest)
        self._state = CaseState(head=found.head_at(kept), records=kept, paused=found.paused)
        self._deaths = False
        """Whether the record before was the start of a run, or counted a death of the application after one."""

    def run(self) -> CaseState:
        for rows in _groups(self._chain()):
            with transaction(self._connection):
                for seq, line in rows:
                    self._take_record(seq, line)
        last: Iterator[Any] = self._found.scratch.execute(_LAST_RECORDS, (self._kept,))
        for documents in _groups(last):
            with transaction(self._connection):
                for doc_id, seq in documents:
                    self._take_document(self._document(doc_id, seq))
        for rows in _groups(zip(self._free_numbers(), self._files.pending(), strict=False)):
            with transaction(self._connection):
                for doc_id, (root, path, size, mtime) in rows:
                    self._take_document(self._pending(doc_id, root, path, size, mtime))
        with transaction(self._connection):
            sources = self._files.sources()
            self._connection.executemany(
                "INSERT INTO sources (path, finished) VALUES (?, 0)", ((it,) for it in sources)
            )
            self._state.unfinished_sources = len(sources)
            self._state.save(self._connection)
        return self._state

    def _chain(self) -> Iterator[Any]:
        query = "SELECT seq, line FROM chain WHERE seq <= ? ORDER BY seq"
        return self._found.scratch.execute(query, (self._kept,))

    def _take_record(self, seq: int, line: bytes) -> None:
        fields, state, insert = json.loads(line), self._state, self._connection.execute
        event = fields["event"]
        doc_id = int(fields["doc_id"][1:]) if "doc_id" in fields else 0
        place = place_of(doc_id, fields.get("page") or 0)
        is_terminal = event in _PAGE_EVENTS or event in _ENDS
        insert("INSERT INTO audit VALUES (?, ?, ?)", (seq, line, place if is_terminal else None))
        is_death = event == "RETRY" and self._deaths and fields["reason"] == Reason.WORKER_LOST
        self._deaths = event == "RUN_STARTED" or is_death
        if event == "RETRY":
            if Reason(fields["reason"]).ends_worker:
                self._manifest.strike(place)
            if is_death:
                self._manifest.died(place)
        elif event == "RUN_STARTED":
            state.run += 1
            insert("INSERT INTO runs VALUES (?, ?)", (state.run, seq))
        elif event == "CHECKPOINT":
            state.checkpointed = seq
        elif is_terminal:
            self._take_outcome(seq, fields, place)

    def _take_outcome(self, seq: int, fields: dict[str, Any], place: int) -> None:
        state = self._state
        match fields["event"]:
            case "EXTRACTED":
                state.pages_extracted += 1
                if fields["text_sha256"] != EMPTY_TEXT:
                    text = self._found.text(fields["text_sha256"])
                    self._connection.execute("INSERT INTO texts VALUES (?, ?)", (place, text))
            case "DUPLICATE":
                state.pages_duplicate += 1
            case "DEAD_LETTER":
                state.pages_dead += 1
                self._take_dead_letter(seq, fields)
            case "DOCUMENT":
                state.count_document(Outcome(fields["outcome"]))
                if fields["page_count"] is None:
                    self._take_dead_letter(seq, fields)

    def _take_dead_letter(self, seq: int, fields: dict[str, Any]) -> None:
        number = self._state.count_dead_letter(Reason(fields["reason"]))
        self._connection.execute("INSERT INTO dead_letters VALUES (?, ?)", (number, seq))

    def _take_document(self, document: Document) -> None:
        self._manifest.add(document)
        if document.state is RowState.SKIPPED:
            self._state.skipped += 1
            return
        self._state.documents += 1
        self._state.pages += document.page_count or 0

    def _document(self, doc_id: int, last_seq: int) -> Document:
        """Return the row of a document that has records: as they say, or as the damaged file says where it is open."""
        line: bytes = self._found.scratch.execute("SELECT line FROM chain WHERE seq = ?", (last_seq,)).get
        fields = json.loads(line)
        head = self._found.head_at(last_seq)
        if fields["event"] in _ENDS:
            return self._ended(doc_id, fields, head)
        place = self._files.place(doc_id)
        assert place is not None  # noqa: S101  # or its records had been left
        counts = Counter(event for event, _ in self._pages(doc_id))
        pages: list[Any] = self._found.scratch.execute(_FIRST_PAGE, (doc_id, self._kept)).fetchall()
        opened = self._files.opened(doc_id, _content(self._found, pages[0][0])) if pages else None
        return Document(
            doc_id=doc_id,
            root_id=self._manifest.root_id(place.root),
            path=place.path,
            version=place.version,
            size_bytes=place.size_bytes,
            mtime_ns=place.mtime_ns,
            state=RowState.PENDING if opened is None else RowState.OPEN,
            sha256=None if opened is None else bytes.fromhex(opened.sha256),
            page_count=None if opened is None else opened.page_count,
            repaired=opened is not None and opened.repaired,
            pages_done=counts.total(),
            pages_dead=counts["DEAD_LETTER"],
            source_fault=self._blames_source(doc_id),
            last_record=head,
        )

    def _ended(self, doc_id: int, fields: dict[str, Any], head: str) -> Document:
        is_skipped = fields["event"] == "SKIPPED"
        reason, sha256, original = fields.get("reason"), fields.get("doc_sha256"), fields.get("duplicate_of")
        kind = SkipReason if is_skipped else Reason
        return Document(
            doc_id=doc_id,
            root_id=self._manifest.root_id(base64.b64decode(fields["root_b64"])),
            path=base64.b64decode(fields["path_b64"]),
            version=fields["version"],
            size_bytes=fields["size_bytes"],
            mtime_ns=int(fields["mtime_ns"]),
            state=RowState.SKIPPED if is_skipped else RowState.DONE,
            outcome=None if is_skipped else Outcome(fields["outcome"]),
            reason=None if reason is None else kind(reason),
            sha256=None if sha256 is None else bytes.fromhex(sha256),
            page_count=fields.get("page_count"),
            pages_done=fields.get("page_count") or 0,
            pages_dead=fields.get("pages_dead_letter", 0),
            repaired=fields.get("repaired", False),
            source_fault=not is_skipped and self._blames_source(doc_id),
            duplicate_of=None if original is None else int(original[1:]),
            last_record=head,
        )

    def _pages(self, doc_id: int) -> Iterator[tuple[str, bytes]]:
        rows: Iterator[Any] = self._found.scratch.execute(_PAGES, (doc_id, self._kept))
        return rows

    def _blames_source(self, doc_id: int) -> bool:
        """Whether a dead letter of a document, page or whole, blames the file as found."""
        query = "SELECT line FROM chain WHERE doc_id = ? AND seq <= ? AND event IN ('DEAD_LETTER', 'DOCUMENT')"
        lines: Iterator[Any] = self._found.scratch.execute(query, (doc_id, self._kept))
        reasons = (json.loads(line).get("reason") for (line,) in lines)
        return any(Reason(reason).blames_source for reason in reasons if reason is not None)

    def _pending(self, doc_id: int, root: bytes, path: bytes, size_bytes: int, mtime_ns: int) -> Document:
        root_id = self._manifest.root_id(root)
        query = "SELECT max(version) FROM manifest WHERE root_id = ? AND path = ?"
        version: int | None = self._connection.execute(query, (root_id, path)).get
        return Document(
            doc_id=doc_id,
            root_id=root_id,
            path=path,
            version=(version or 0) + 1,
            size_bytes=size_bytes,
            mtime_ns=mtime_ns,
            state=RowState.PENDING,
            last_record=self._found.identity.digest,
        )

    def _free_numbers(self) -> Iterator[int]:
        """Yield the numbers of documents that no record uses, without end."""
        number = 1
        used: Iterator[Any] = self._found.scratch.execute(_RECORDED, (self._kept,))
        for (recorded,) in used:
            yield from range(number, recorded)
            number = recorded + 1
        while True:
            yield number
            number += 1


def _groups(rows: Iterable[T]) -> Iterator[list[T]]:
    rows = iter(rows)
    while group := list(islice(rows, _GROUP)):
        yield group


_UNENDED: Final = (
    "SELECT doc_id, min(seq), min(CASE WHEN event <> 'RETRY' THEN seq END) FROM chain "
    "WHERE doc_id IS NOT NULL AND seq <= ? GROUP BY doc_id HAVING max(event IN ('DOCUMENT', 'SKIPPED')) = 0"
)
_NUMBERS: Final = (
    "SELECT count(DISTINCT doc_id), coalesce(max(doc_id), 0) FROM chain WHERE doc_id IS NOT NULL AND seq <= ?"
)
_RECORDED: Final = "SELECT DISTINCT doc_id FROM chain WHERE doc_id IS NOT NULL AND seq <= ? ORDER BY doc_id"
_LAST_RECORDS: Final = (
    "SELECT doc_id, max(seq) FROM chain WHERE doc_id IS NOT NULL AND seq <= ? GROUP BY doc_id ORDER BY doc_id"
)
_PAGES: Final = (
    "SELECT event, line FROM chain WHERE doc_id = ? AND seq <= ? AND event IN ('EXTRACTED', 'DEAD_LETTER', 'DUPLICATE')"
)
_FIRST_PAGE: Final = (
    "SELECT seq FROM chain WHERE doc_id = ? AND seq <= ? AND event IN ('EXTRACTED', 'DEAD_LETTER', 'DUPLICATE') "
    "ORDER BY seq LIMIT 1"
)
