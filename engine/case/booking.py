"""One transaction: turns facts into rows, audit records and counters.

Covers files that were found and events that are only noted; what becomes of documents and pages is the business of
`documents`. Beginning and ending the transaction is that of `casefile`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

import apsw

from engine.case.audit import Fields, PageForm, check_noted
from engine.case.docrecords import DocumentRecords
from engine.case.documents import DocumentBook
from engine.case.identity import CaseIdentity
from engine.case.journal import Checkpoint, Journal
from engine.case.manifest import Document, Manifest
from engine.case.state import CaseState
from engine.models.document import FoundFile, kept_time_ns
from engine.models.facts import (
    DocumentFailed,
    DocumentProbed,
    Fact,
    FilesFound,
    Noted,
    PageRetried,
    PagesDone,
    ProbeDecision,
    Receipt,
    WorkSlow,
)
from engine.models.outcome import RowState


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a transaction happens; all its records carry the same."""

    utc: datetime
    mono_ms: int
    """Milliseconds on the monotonic clock since the case was opened."""


class Booking:
    """Books facts within one transaction.

    Args:
        connection: The writer, inside a transaction.
        identity: The case.
        before: The case's state as the file has it; it is left alone.
        form: Writes the lines of extracted pages.
        moment: When this is.
    """

    def __init__(
        self, connection: apsw.Connection, *, identity: CaseIdentity, before: CaseState, form: PageForm, moment: Moment
    ) -> None:
        self._connection = connection
        self._identity = identity
        self._before = before
        self.state = before.copy()
        """The state as this transaction makes it."""
        self._journal = Journal(
            connection,
            self.state,
            request_id=identity.request_id,
            now=moment.utc,
            mono_ms=moment.mono_ms,
        )
        self._manifest = Manifest(connection, identity.digest)
        self._records = DocumentRecords(identity=identity, state=self.state, journal=self._journal, form=form)
        self._documents = DocumentBook(
            connection,
            state=self.state,
            journal=self._journal,
            manifest=self._manifest,
            records=self._records,
        )
        self._decisions: list[ProbeDecision] = []
        self._found = 0

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """Checkpoints recorded so far."""
        return self._journal.checkpoints

    def book(self, fact: Fact) -> None:
        """Book one fact.

        Raises:
            ContradictionError: When it contradicts what the case holds.
        """
        match fact:
            case PagesDone():
                self._documents.pages_done(self._manifest.document(fact.doc_id), fact.results)
            case FilesFound():
                for file in fact.files:
                    self._find(file)
                    self._manifest.trim()
            case DocumentProbed():
                self._decisions.append(self._documents.probed(self._manifest.document(fact.doc_id), fact.probe))
            case DocumentFailed():
                self._documents.failed(self._manifest.document(fact.doc_id), fact.failure, fact.attempt)
            case PageRetried():
                document = self._manifest.document(fact.doc_id)
                self._documents.retried(document, fact.page, fact.failure, fact.attempt)
            case WorkSlow():
                self._documents.slow(self._manifest.document(fact.doc_id), fact.page)
            case Noted():
                self._note(fact)
            case _:
                assert_never(fact)
        self._manifest.trim()

    def checkpoint(self) -> None:
        """Record a CHECKPOINT, unless nothing was recorded since the last one."""
        self._journal.checkpoint()

    def finish(self) -> Receipt:
        """Write what is still in memory; return the receipt, which holds once the transaction is committed."""
        self._journal.flush()
        self._documents.flush()
        self._manifest.flush()
        self.state.save(self._connection, self._before)
        return Receipt(
            counts=self.state.counts(),
            decisions=tuple(self._decisions),
            new_pending=self._found + self._documents.set_free,
        )

    def _find(self, file: FoundFile) -> None:
        latest = self._manifest.latest(file)
        mtime_ns = kept_time_ns(file.mtime_ns)
        if latest is not None and _is_known(latest, file, mtime_ns):
            self.state.files_known += 1
            return
        if latest is not None and latest.state is RowState.PENDING and file.skip is None:
            latest.size_bytes, latest.mtime_ns = file.size_bytes, mtime_ns
            self._manifest.changed(latest)
            return
        document = Document(
            doc_id=self.state.last_doc_id + 1,
            root_id=self._manifest.root_id(file.root),
            path=file.path,
            version=1 if latest is None else latest.version + 1,
            size_bytes=file.size_bytes,
            mtime_ns=mtime_ns,
            state=RowState.PENDING if file.skip is None else RowState.SKIPPED,
            reason=file.skip,
            last_record=self._identity.digest,
        )
        if file.skip is None:
            self.state.documents += 1
            self._found += 1
        else:
            self.state.skipped += 1
            self._records.left_out(document, file.root, file.skip)
        self._manifest.add(document)

    def _note(self, fact: Noted) -> None:
        check_noted(fact.event, fact.fields)
        fields = dict(fact.fields)
        if fact.event == "RUN_STARTED":
            self.state.run += 1
            self.state.files_known = 0
            self._connection.execute("INSERT INTO runs VALUES (?, ?)", (self.state.run, self.state.records + 1))
        elif fact.event == "ENUMERATED":
            fields |= {"documents": self.state.documents, "skipped": self.state.skipped}
        elif fact.event == "RECONCILED":
            fields |= reconciliation(self.state)
        if fact.paused is not None:
            self.state.paused = fact.paused
        if fact.sources:
            self._connection.executemany(
                "INSERT INTO sources (path, finished) VALUES (?, ?) "
                "ON CONFLICT (path) DO UPDATE SET finished = excluded.finished",
                ((source, int(fact.enumerated)) for source in fact.sources),
            )
            unfinished = self._connection.execute("SELECT count(*) FROM sources WHERE finished = 0").get
            assert isinstance(unfinished, int)  # noqa: S101  # a count is a number, for the type checker
            self.state.unfinished_sources = unfinished
        self._journal.record(fact.event, fields)
        if fact.event == "RUN_STARTED":
            self._documents.strike_suspects()
        elif fact.event == "RUN_ENDED":
            self._manifest.forget_suspects()
        if fact.checkpoint:
            self._journal.checkpoint()


def reconciliation(state: CaseState) -> Fields:
    """Return the fields of a RECONCILED record: the case's own counts, whatever the note said.

    `files_known` are the files that the enumeration of this run met again unchanged: the proof that doing it again
    was a no-op.
    """
    counts = state.counts()
    fields: Fields = {
        "reconciled": counts.reconciled,
        "skipped": counts.skipped,
        "files_known": state.files_known,
        "unfinished_sources": state.unfinished_sources,
    }
    for kind, tally in (("documents", counts.documents), ("pages", counts.pages)):
        fields |= {
            f"{kind}_enumerated": tally.enumerated,
            f"{kind}_extracted": tally.extracted,
            f"{kind}_dead_letter": tally.dead_letter,
            f"{kind}_duplicate": tally.duplicate,
            f"{kind}_pending": tally.pending,
        }
    return fields


def _is_known(latest: Document, file: FoundFile, mtime_ns: int) -> bool:
    """Whether a file is met again as it was: a left-out one for the same reason, a document unchanged."""
    if latest.state is RowState.SKIPPED or file.skip is not None:
        return latest.reason == file.skip and latest.state is RowState.SKIPPED
    if latest.state is RowState.DONE and latest.source_fault:
        return False  # it could not be read then; that it is met says that it may be readable now
    return (latest.size_bytes, latest.mtime_ns) == (file.size_bytes, mtime_ns)
