"""The audit records of documents and their pages: which fields each kind has, and how they are linked.

Every record of a document carries the hash of the one before it, so that one document's history verifies alone. When
a record is written, and what else changes with it, is the business of `documents`.
"""

import hashlib
from collections.abc import Callable
from typing import Final

from engine.case.audit import Fields, PageForm, check_numbers, failure_fields, place_fields, trace_base, trace_id
from engine.case.identity import CaseIdentity
from engine.case.journal import Journal
from engine.case.manifest import Document
from engine.case.schema import place_of
from engine.case.state import CaseState
from engine.case.storage import ContradictionError
from engine.models.document import Failure, PageResult, document_label, idempotency_key
from engine.models.outcome import Method, Outcome, SkipReason


class DocumentRecords:
    """Writes records of documents within one transaction.

    Every method leaves the record's hash in the document; whoever calls says that the row changed.

    Args:
        identity: The case.
        state: The transaction's copy of the case's state.
        journal: Takes the records.
        form: Writes the lines of extracted pages.
    """

    def __init__(self, *, identity: CaseIdentity, state: CaseState, journal: Journal, form: PageForm) -> None:
        self._identity = identity
        self._state = state
        self._journal = journal
        self._form = form
        # Of the document written last, since many pages in a row belong to the same one.
        self._content: tuple[bytes, Fields] = (b"", {})
        self._trace: tuple[tuple[int, int], str] = ((0, 0), "")

    def left_out(self, document: Document, root: bytes, reason: SkipReason) -> None:
        """Write that a directory entry was left out: its terminal record."""
        fields: Fields = {
            **place_fields(root, document.path),
            **_version_fields(document),
            "doc_id": document_label(document.doc_id),
            "reason": reason.value,
        }
        self._write(document, "SKIPPED", fields, place_of(document.doc_id))

    def retried(self, document: Document, page: int | None, failure: Failure, attempt: int) -> None:
        """Write that a page, or the document where `page` is None, is going to be tried again."""
        fields: Fields = {**self._names(document, page or 0), **failure_fields(failure), "attempt": attempt}
        if page is not None:
            fields["page"] = page
        self._write(document, "RETRY", fields)

    def page(self, document: Document, result: PageResult, extra: Fields, *, text_sha256: str = "") -> int:
        """Write a page's terminal record; return its number.

        Args:
            document: Its document.
            result: What became of the page.
            extra: Further fields.
            text_sha256: Hash of its text, where it was extracted.
        """
        fields: Fields = {
            **self._page_names(document, result.page),
            "method": result.method.value,
            "chars": len(result.text),
            "text_sha256": text_sha256,
            "attempt": result.attempt,
            "dur_ms": result.dur_ms,
            **extra,
        }
        if result.replaced:
            fields["replaced"] = result.replaced
        if result.damaged:
            fields["damaged"] = True
        return self._write(document, result.outcome.value, fields, place_of(document.doc_id, result.page))

    def duplicate_page(self, document: Document, page: int, original: int) -> None:
        """Write the terminal record of a page that another document accounts for."""
        fields: Fields = {
            **self._page_names(document, page),
            "method": Method.NONE.value,
            "chars": 0,
            "text_sha256": "",
            "attempt": 1,
            "dur_ms": 0,
            "duplicate_of": document_label(original),
        }
        self._write(document, Outcome.DUPLICATE.value, fields, place_of(document.doc_id, page))

    def ended(self, document: Document, root: bytes, outcome: Outcome, extra: Fields) -> int:
        """Write a document's terminal record; return its number."""
        extracted = 0 if outcome is Outcome.DUPLICATE else document.pages_done - document.pages_dead
        fields: Fields = {
            **self._names(document, 0),
            **self._content_of(document),
            **place_fields(root, document.path),
            **_version_fields(document),
            "outcome": outcome.value,
            "page_count": document.page_count,
            "pages_extracted": extracted,
            "pages_dead_letter": document.pages_dead,
            "pages_duplicate": document.pages_done - document.pages_dead - extracted,
            "repaired": document.repaired,
            **extra,
        }
        return self._write(document, "DOCUMENT", fields, place_of(document.doc_id))

    def extracted_writer(self, document: Document) -> Callable[[PageResult], None]:
        """Return what writes the terminal records of a document's extracted pages, with the hashes of their texts.

        Nearly all records are written by it: nothing that stays the same is made twice. It raises `ContradictionError`
        when a text holds lone surrogates, of which there is no hash.
        """
        state, append, sha256 = self._state, self._journal.append, hashlib.sha256
        content = self._content_of(document)
        form = self._form.of_document(
            doc_id=document_label(document.doc_id),
            doc_sha256=str(content["doc_sha256"]),
            key=str(content["key"]),
            mono_ms=self._journal.mono_ms,
            run=state.run,
            trace=self._trace_of(document),
            ts=self._journal.ts,
        )
        first_place = place_of(document.doc_id)

        def write(result: PageResult) -> None:
            page, text = result.page, result.text
            try:
                text_sha256 = sha256(text.encode()).hexdigest()
            except UnicodeEncodeError as error:
                raise ContradictionError(
                    f"the text of page {page} of document {document.doc_id} holds lone surrogates"
                ) from error
            if result.damaged or result.replaced:
                self.page(document, result, {}, text_sha256=text_sha256)
                return
            line = form % (
                result.attempt,
                len(text),
                document.last_record,
                result.dur_ms,
                _METHOD_WORDS[result.method],
                page,
                state.head,
                state.records + 1,
                text_sha256,
                page,
            )
            document.last_record = append(line.encode(), first_place + page)

        return write

    def _write(self, document: Document, event: str, fields: Fields, place: int | None = None) -> int:
        check_numbers(fields)
        seq = self._state.records + 1
        fields["doc_prev"] = document.last_record
        document.last_record = self._journal.record(event, fields, place)
        return seq

    def _page_names(self, document: Document, page: int) -> Fields:
        return {**self._names(document, page), **self._content_of(document), "page": page}

    def _names(self, document: Document, page: int) -> Fields:
        return {"doc_id": document_label(document.doc_id), "trace_id": trace_id(self._trace_of(document), page)}

    def _content_of(self, document: Document) -> Fields:
        if document.sha256 is None:
            return {"doc_sha256": None, "key": None}
        if self._content[0] != document.sha256:
            sha256 = document.sha256.hex()
            key = idempotency_key(sha256, self._identity.request_id)
            self._content = (document.sha256, {"doc_sha256": sha256, "key": key})
        return self._content[1]

    def _trace_of(self, document: Document) -> str:
        of = (self._state.run, document.doc_id)
        if self._trace[0] != of:
            self._trace = (of, trace_base(self._identity.case_id, *of))
        return self._trace[1]


_METHOD_WORDS: Final = {method: method.value for method in Method}


def _version_fields(document: Document) -> Fields:
    # The time in nanoseconds is too large for a number that every reader of JSON keeps exactly.
    return {
        "version": document.version,
        "size_bytes": document.size_bytes,
        "mtime_ns": str(document.mtime_ns),
    }
