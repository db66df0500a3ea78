"""What becomes of documents and their pages: rows, audit records and counters, changed together.

Covers probing (new bytes, the same bytes again, bytes that changed), outcomes of pages, the end of a document, and
what the end means for copies that waited for it. Which fact leads here is the business of `booking`.

A document that other documents may be duplicates of is its bytes' original: it is being processed, or it is done and
no dead letter of it, page or document, blames the file as found. A document with even one such page is none: another
copy could still give that page, and nothing may be left out.
"""

import hashlib
from typing import Final

import apsw

from engine.case.audit import Fields, failure_fields
from engine.case.docrecords import DocumentRecords
from engine.case.journal import Journal
from engine.case.manifest import Document, Manifest
from engine.case.schema import LARGEST_DOCUMENT, doc_and_page, place_of
from engine.case.state import CaseState
from engine.case.storage import ContradictionError
from engine.models.document import Failure, PageResult, Probe, document_label, kept_time_ns
from engine.models.facts import ProbeDecision
from engine.models.outcome import Method, Outcome, Reason, RowState

_ROWS_A_GROUP: Final = 500


class DocumentBook:
    """Books what happens to documents within one transaction.

    Args:
        connection: The writer, inside a transaction.
        state: The transaction's copy of the case's state.
        journal: What the records go to; flushed before they are read back.
        manifest: The rows.
        records: Writes the records of documents and pages.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        *,
        state: CaseState,
        journal: Journal,
        manifest: Manifest,
        records: DocumentRecords,
    ) -> None:
        self._connection = connection
        self._state = state
        self._journal = journal
        self._manifest = manifest
        self._records = records
        self._texts: list[tuple[int, str]] = []
        self._dead_letters: list[tuple[int, int]] = []
        self.set_free = 0
        """Documents that became pending again because the original they waited for failed."""

    def probed(self, document: Document, probe: Probe) -> ProbeDecision:
        """Book what a look into a document found, and decide whether its pages are to be processed.

        Raises:
            ContradictionError: When the document is not in a state to be probed.
        """
        sha256 = bytes.fromhex(probe.sha256)
        self._manifest.clear(place_of(document.doc_id))  # what was slow was the look into it, and that has ended
        if document.state is RowState.OPEN:
            return self._probed_again(document, probe, sha256)
        if document.state is not RowState.PENDING:
            raise ContradictionError(f"document {document.doc_id} is {document.state} and was probed")
        if not 1 <= probe.page_count <= LARGEST_DOCUMENT or len(sha256) != hashlib.sha256().digest_size:
            raise ContradictionError(f"the probe of document {document.doc_id} is impossible")
        original = self._manifest.original(sha256)
        document.sha256 = sha256
        document.page_count = probe.page_count
        document.size_bytes, document.mtime_ns = probe.size_bytes, kept_time_ns(probe.mtime_ns)
        document.repaired = probe.repaired
        self._manifest.changed(document)
        if original is None:
            document.state = RowState.OPEN
            self._state.pages += probe.page_count
            return ProbeDecision(doc_id=document.doc_id, process=True)
        document.duplicate_of = original.doc_id
        if original.state is RowState.DONE:
            self._duplicate(document)
        else:
            document.state = RowState.WAITING
            self._state.waiting += 1
        return ProbeDecision(doc_id=document.doc_id, process=False, duplicate_of=original.doc_id)

    def failed(self, document: Document, failure: Failure, attempt: int) -> None:
        """Book that a document cannot be processed, or not any further.

        Raises:
            ContradictionError: When it has its terminal record already.
        """
        if document.state is RowState.OPEN:
            self._bury_pages(document, failure, attempt)
            return
        if document.state not in (RowState.PENDING, RowState.WAITING):
            raise ContradictionError(f"document {document.doc_id} is {document.state} and failed")
        self._state.waiting -= document.state is RowState.WAITING
        document.sha256 = document.page_count = document.duplicate_of = None
        document.source_fault = failure.reason.blames_source
        seq = self._end(document, Outcome.DEAD_LETTER, failure.reason, {**failure_fields(failure), "attempt": attempt})
        self._dead_letter(failure.reason, seq)

    def pages_done(self, document: Document, results: tuple[PageResult, ...]) -> None:
        """Book outcomes of pages; with the last one the document ends.

        Raises:
            ContradictionError: When the document is not open, or a result is impossible.
        """
        if document.state is not RowState.OPEN or document.page_count is None or document.sha256 is None:
            raise ContradictionError(f"document {document.doc_id} is {document.state} and got results of pages")
        if document.pages_done + len(results) > document.page_count:
            raise ContradictionError(f"document {document.doc_id} got more results than it has pages")
        page_count, first_place, extracted = document.page_count, place_of(document.doc_id), 0
        write_extracted, keep_text = self._records.extracted_writer(document), self._texts.append
        for result in results:
            page, outcome = result.page, result.outcome
            if not 1 <= page <= page_count:
                raise ContradictionError(f"document {document.doc_id} has no page {page}")
            if outcome is Outcome.EXTRACTED and result.failure is None:
                write_extracted(result)
                extracted += 1
                if result.text:
                    keep_text((first_place + page, result.text))
            elif outcome is Outcome.DEAD_LETTER and result.failure is not None:
                self._bury(document, result, result.failure)
            else:
                raise ContradictionError(f"page {page} of document {document.doc_id} has an impossible outcome")
        self._state.pages_extracted += extracted
        if len(self._texts) >= _ROWS_A_GROUP:
            self.flush()
        document.pages_done += len(results)
        self._manifest.progressed(document)
        self._end_when_complete(document)

    def retried(self, document: Document, page: int | None, failure: Failure, attempt: int) -> None:
        """Book that a page or a document is going to be tried again: one strike.

        Raises:
            ContradictionError: When it has its terminal record already.
        """
        place = place_of(document.doc_id, page or 0)
        if page is not None:
            self._journal.flush()
            if not 1 <= page <= (document.page_count or 0) or self._manifest.is_terminal(place):
                raise ContradictionError(f"page {page} of document {document.doc_id} cannot be tried again")
        if document.state not in (RowState.PENDING, RowState.OPEN):
            raise ContradictionError(f"document {document.doc_id} is {document.state} and is to be tried again")
        self._manifest.clear(place)  # this try has ended; should the application die later, it was not for this
        if failure.reason.ends_worker:  # a source that could not be read says nothing against the page
            self._manifest.strike(place)
        self._records.retried(document, page, failure, attempt)
        self._manifest.progressed(document)

    def slow(self, document: Document, page: int | None) -> None:
        """Book that a page, or the document where `page` is None, has been in work for long: it is suspected.

        Raises:
            ContradictionError: When the document has no such page.
        """
        if page is not None and not 1 <= page <= (document.page_count or 0):
            raise ContradictionError(f"page {page} of document {document.doc_id} cannot be in work")
        self._manifest.suspect(place_of(document.doc_id, page or 0))

    def strike_suspects(self) -> None:
        """Count one strike, with its RETRY record, against whatever was in work for long when the application died.

        What got its terminal record after it was suspected is not struck, and nothing is that was in work in a run of
        this process: it lives.
        """
        self._journal.flush()
        self._manifest.flush()
        for place in self._manifest.convicted():
            doc_id, page = doc_and_page(place)
            document = self._manifest.document(doc_id)
            if document.state in (RowState.PENDING, RowState.OPEN):
                self._manifest.strike(place)
                self._manifest.died(place)
                failure = Failure(reason=Reason.WORKER_LOST)
                self._records.retried(document, page or None, failure, self._manifest.strikes(place))
                self._manifest.progressed(document)
            self._manifest.trim()
        self._manifest.forget_suspects()

    def flush(self) -> None:
        """Write the rows that were kept."""
        self._connection.executemany("INSERT INTO texts VALUES (?, ?)", self._texts)
        self._texts.clear()
        self._connection.executemany("INSERT INTO dead_letters VALUES (?, ?)", self._dead_letters)
        self._dead_letters.clear()

    def _probed_again(self, document: Document, probe: Probe, sha256: bytes) -> ProbeDecision:
        """Book the look into a document whose pages were begun by an earlier run."""
        if sha256 != document.sha256:
            self._bury_pages(document, Failure(reason=Reason.SOURCE_CHANGED), 1)
            return ProbeDecision(doc_id=document.doc_id, process=False)
        # Touched or copied back, with the same bytes: from now on these are what workers must find.
        document.size_bytes, document.mtime_ns = probe.size_bytes, kept_time_ns(probe.mtime_ns)
        self._manifest.changed(document)
        return ProbeDecision(doc_id=document.doc_id, process=True)

    def _duplicate(self, document: Document) -> None:
        """End a document whose bytes another one accounts for: a record for each page, and one for itself."""
        count, original = document.page_count or 0, document.duplicate_of or 0
        for page in range(1, count + 1):
            self._records.duplicate_page(document, page, original)
        document.pages_done = count
        self._state.pages += count
        self._state.pages_duplicate += count
        self._end(document, Outcome.DUPLICATE, None, {"duplicate_of": document_label(original)})

    def _bury_pages(self, document: Document, failure: Failure, attempt: int) -> None:
        """Make every page without terminal record a dead letter, and so end the document."""
        self._journal.flush()
        for page in self._manifest.unfinished_pages(document):
            result = PageResult(page=page, outcome=Outcome.DEAD_LETTER, method=Method.NONE, attempt=attempt)
            self._bury(document, result, failure)
            document.pages_done += 1
        self._manifest.progressed(document)
        self._end_when_complete(document)

    def _bury(self, document: Document, result: PageResult, failure: Failure) -> None:
        seq = self._records.page(document, result, failure_fields(failure))
        self._state.pages_dead += 1
        document.pages_dead += 1
        if failure.reason.blames_source and not document.source_fault:
            document.source_fault = True
            self._manifest.changed(document)
        self._dead_letter(failure.reason, seq)

    def _dead_letter(self, reason: Reason, seq: int) -> None:
        self._dead_letters.append((self._state.count_dead_letter(reason), seq))
        if len(self._dead_letters) >= _ROWS_A_GROUP:
            self.flush()

    def _end_when_complete(self, document: Document) -> None:
        if document.pages_done != document.page_count:
            return
        if document.pages_done > document.pages_dead:
            self._end(document, Outcome.EXTRACTED, None, {})
        else:
            self._journal.flush()
            reason = self._manifest.commonest_reason(document)
            self._end(document, Outcome.DEAD_LETTER, reason, failure_fields(Failure(reason=reason)))
        if self._state.waiting:
            self._answer_waiting(document)

    def _answer_waiting(self, document: Document) -> None:
        for waiting in self._manifest.waiting_for(document.doc_id):
            self._state.waiting -= 1
            if document.source_fault:
                self._set_free(waiting)
            else:
                self._duplicate(waiting)

    def _set_free(self, document: Document) -> None:
        """Let a copy be looked into again, since the original's file failed and its bytes may be fine."""
        document.state = RowState.PENDING
        document.sha256 = document.page_count = document.duplicate_of = None
        document.repaired = False
        self._manifest.changed(document)
        self.set_free += 1

    def _end(self, document: Document, outcome: Outcome, reason: Reason | None, extra: Fields) -> int:
        """Write a document's terminal record; return its number."""
        document.state, document.outcome, document.reason = RowState.DONE, outcome, reason
        self._manifest.changed(document)
        self._state.count_document(outcome)
        return self._records.ended(document, self._manifest.root_of(document), outcome, extra)
