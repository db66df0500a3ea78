"""Reading a case beside its writer: counts, rows for tables, records and texts, always as of some commit.

A reader has its own read-only connection and may be used from any thread; calls wait for one another. Nothing here
holds a read transaction open between two calls or two steps of an iterator, so that a slow consumer does not keep
SQLite's write-ahead log from being cut back.
"""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import apsw

from engine.case import backlog
from engine.case.identity import CaseIdentity
from engine.case.inspection import check_checkpoint
from engine.case.journal import Checkpoint
from engine.case.places import require_place
from engine.case.schema import VERSION, place_of, too_new, version_of
from engine.case.state import CaseState
from engine.case.storage import Value, connect_reader, damaged, opening_errors, shown
from engine.models.document import DocumentRef, OpenDocument, PageUnit, Strikes
from engine.models.names import display_name
from engine.models.outcome import Outcome, Reason, RowState, SkipReason
from engine.models.run import CaseInfo, Counts, DeadLetterRow, DocumentRow

T = TypeVar("T")

_LINES_A_READ: Final = 500

_DOCUMENT_COLUMNS: Final = (
    "doc_id, manifest.path, roots.path, size_bytes, state, page_count, pages_done, pages_dead, outcome, reason, "
    "repaired, duplicate_of"
)


class CaseReader:
    """Reads one case file.

    Args:
        path: The case file.

    Raises:
        CaseError: When it does not exist or cannot be read.
        NotACaseError: When it is something else.
        CaseDamagedError: When it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        require_place(path)
        with opening_errors(path):
            self._connection = connect_reader(path)
            try:
                self.version = version_of(self._connection, shown(path))
                """Version of the file's tables; above `schema.VERSION` where a newer program wrote it."""
                self.identity = self._read(self._identity)
            except BaseException:  # whatever ends it: no connection stays open
                self._connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        with self._lock:
            self._connection.close()

    def counts(self) -> Counts:
        """Return the reconciliation as of the last commit."""
        return self.state().counts()

    def state(self) -> CaseState:
        """Return the running state as of the last commit."""
        return self._read(CaseState.load)

    def check_checkpoint(self, point: Checkpoint) -> None:
        """Compare the log with a checkpoint that was kept elsewhere.

        Raises:
            CaseDamagedError: When the log is shorter, or another one.
        """
        self._read(lambda connection: check_checkpoint(connection, self.path, point))

    def info(self, *, read_only: bool = False, note: str = "") -> CaseInfo:
        """Return what identifies the case.

        Args:
            read_only: Whether whoever asks can only read it.
            note: A sentence to show on opening.
        """
        roots = self._rows("SELECT path FROM roots ORDER BY root_id")
        unfinished = self._rows("SELECT path FROM sources WHERE finished = 0 ORDER BY number")
        return CaseInfo(
            path=self.path,
            case_id=self.identity.case_id,
            request_id=self.identity.request_id,
            created=self.identity.created,
            roots=tuple(root for (root,) in roots),
            sources=self._rows("SELECT count(*) FROM sources")[0][0],
            unfinished_sources=tuple(path for (path,) in unfinished),
            read_only=read_only,
            paused=self.state().paused,
            note=note,
        )

    def root_paths(self) -> Sequence[tuple[int, bytes]]:
        """Return the source roots, as they were named, with their numbers."""
        return self._rows("SELECT root_id, path FROM roots ORDER BY root_id")

    def has_document(self, root_id: int, path: bytes) -> bool:
        """Whether a file below a source root was ever found as a document, and not only left out."""
        rows = self._rows(
            "SELECT 1 FROM manifest WHERE root_id = ? AND path = ? AND state != 'skipped' LIMIT 1", (root_id, path)
        )
        return bool(rows)

    def document_rows(self, first: int, limit: int) -> Sequence[DocumentRow]:
        """Return rows of the manifest by number, from number `first` on."""
        rows = self._rows(
            f"SELECT {_DOCUMENT_COLUMNS} FROM manifest JOIN roots USING (root_id) "  # noqa: S608  # our own columns
            "WHERE doc_id >= ? ORDER BY doc_id LIMIT ?",
            (first, limit),
        )
        return [_document_row(row) for row in rows]

    def dead_letter_rows(self, first: int, limit: int) -> Sequence[DeadLetterRow]:
        """Return dead letters by number, from number `first` on."""
        rows = self._rows(
            "SELECT number, line, manifest.path FROM dead_letters JOIN audit USING (seq) "
            "JOIN manifest ON doc_id = audit.place >> 32 WHERE number >= ? ORDER BY number LIMIT ?",
            (first, limit),
        )
        records = [(number, json.loads(line), path) for number, line, path in rows]
        postures = {run: self._posture(run) for run in {record["run"] for _, record, _ in records}}
        return [_dead_letter_row(number, record, path, postures) for number, record, path in records]

    def audit_lines(self, first: int = 1, last: int | None = None) -> Iterator[bytes]:
        """Yield the lines of the audit log as they were written, without newline; the header line is not among them.

        Args:
            first: Number of the first record to yield.
            last: Number of the last one; None goes on to the end as it is then.
        """
        after, bound = first - 1, 2**63 - 1 if last is None else last
        while True:
            rows = self._rows(
                "SELECT seq, line FROM audit WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
                (after, bound, _LINES_A_READ),
            )
            for seq, line in rows:
                after = seq
                yield line
            if len(rows) < _LINES_A_READ:
                return

    def page_text(self, doc_id: int, page: int) -> str | None:
        """Return the text of a page: empty for a blank one, None where no text was extracted (yet)."""
        found = self.page_record(doc_id, page)
        return None if found is None else found[1]

    def page_record(self, doc_id: int, page: int) -> tuple[bytes, str | None] | None:
        """Return a page's terminal record and its text, the latter None where it is not an extracted page.

        Returns:
            None where the page has no terminal record.
        """
        rows = self._rows(
            "SELECT line, text FROM audit LEFT JOIN texts USING (place) WHERE audit.place = ?",
            (place_of(doc_id, page),),
        )
        if not rows:
            return None
        line, text = rows[0]
        if text is None and json.loads(line)["event"] == Outcome.EXTRACTED:
            text = ""
        return line, text

    def raw_path(self, doc_id: int) -> tuple[bytes, bytes]:
        """Return a document's source root and its path below that, as bytes.

        Raises:
            KeyError: When there is no such document.
        """
        rows = self._rows(
            "SELECT roots.path, manifest.path FROM manifest JOIN roots USING (root_id) WHERE doc_id = ?", (doc_id,)
        )
        if not rows:
            raise KeyError(doc_id)
        root, path = rows[0]
        return root, path

    def pending_documents(self, after: int, limit: int) -> Sequence[DocumentRef]:
        """Return documents that are pending, by number, those above `after`."""
        return self._read(lambda connection: backlog.pending_documents(connection, after, limit))

    def open_documents(self, after: int, limit: int) -> Sequence[OpenDocument]:
        """Return documents whose pages are known and not all done, by number, those above `after`."""
        return self._read(lambda connection: backlog.open_documents(connection, after, limit))

    def pending_pages(self, doc_id: int, after: int, limit: int) -> Sequence[int]:
        """Return page numbers of an open document without terminal record, those above `after`."""
        return self._read(lambda connection: backlog.pending_pages(connection, doc_id, after, limit))

    def strikes(self, after: PageUnit, limit: int) -> Sequence[Strikes]:
        """Return what has strikes and no terminal record, in order; page 0 stands for a whole document."""
        return self._read(lambda connection: backlog.strikes(connection, after, limit))

    def _posture(self, run: int) -> str:
        """Return the posture of a run's workers, as its RUN_STARTED record states it."""
        rows = self._rows("SELECT line FROM runs JOIN audit USING (seq) WHERE run = ?", (run,))
        if not rows:
            return ""
        record = json.loads(rows[0][0])
        return ", ".join(f"{name} {record[name]}" for name in ("sandbox", "limits", "parser") if record.get(name))

    def _identity(self, connection: apsw.Connection) -> CaseIdentity:
        return CaseIdentity.of_line(connection.execute("SELECT line FROM header").get, self.path)

    def _rows(self, query: str, values: tuple[Value, ...] = ()) -> list[Any]:
        return self._read(lambda connection: connection.execute(query, values).fetchall())

    def _read(self, query: Callable[[apsw.Connection], T]) -> T:
        """Run one query; all of them pass here.

        Raises:
            CaseDamagedError: When the file is damaged.
            CaseTooNewError: When a newer program has other tables.
            CaseError: When the file cannot be read.
        """
        with self._lock, opening_errors(self.path):
            try:
                return query(self._connection)
            except apsw.SQLError as error:
                if self.version > VERSION:
                    raise too_new(shown(self.path), self.version) from error
                raise damaged(self.path) from error


def _document_row(row: tuple[Any, ...]) -> DocumentRow:
    doc_id, path, root, size, state, page_count, done, dead, outcome, reason, repaired, duplicate_of = row
    words = SkipReason if state == RowState.SKIPPED else Reason
    return DocumentRow(
        doc_id=doc_id,
        path=display_name(path),
        root=display_name(root),
        size_bytes=size,
        state=RowState(state),
        page_count=page_count,
        pages_done=done,
        pages_dead=dead,
        outcome=None if outcome is None else Outcome(outcome),
        reason=None if reason is None else words(reason),
        repaired=bool(repaired),
        duplicate_of=duplicate_of,
    )


def _dead_letter_row(number: int, record: dict[str, Any], path: bytes, postures: dict[int, str]) -> DeadLetterRow:
    return DeadLetterRow(
        number=number,
        doc_id=int(record["doc_id"][1:]),
        path=display_name(path),
        page=record.get("page"),
        reason=Reason(record["reason"]),
        failure_class=record["failure_class"],
        attempts=record["attempt"],
        signal=record.get("signal"),
        code=record.get("code"),
        run=record["run"],
        trace_id=record["trace_id"],
        at=record["ts"],
        request_id=record["request_id"],
        posture=postures[record["run"]],
    )
