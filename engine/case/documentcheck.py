"""Checks the records of each document of a log: their own chain, their pages, and what its end says of them.

Takes records one by one with all that can be wrong with them, or rows of the usual ones that are taken only where
nothing is. Needs nothing but the standard library. The chain of the whole log is the business of `chaincheck`; what
rows hold, that of `pagelines`.
"""

import hashlib
from binascii import unhexlify
from collections.abc import Callable, Sequence
from typing import Any, Final

from engine.case.checkedlog import NO_CONTENT, Bits, Content, OpenDocument, Tallies
from engine.case.pagelines import EndRows, PageRows, counts, heads, in_a_row, kind
from engine.case.recordform import HASH, LABEL, PAGE_EVENTS

_OUTCOMES: Final = {b"EXTRACTED": "EXTRACTED", b"DUPLICATE": "DUPLICATE"}


class DocumentCheck:
    """Takes the records of documents in order and finds what is wrong with them.

    Args:
        root: Hash of the log's header, to which each document's first record links.
        request_id: As the header states it.
        tallies: The log's sums, to which the records' are added.
        problem: Told of each problem with the present record: its kind, and what exactly.
    """

    def __init__(self, root: bytes, request_id: str, tallies: Tallies, problem: Callable[[str, str], None]) -> None:
        self._root = root
        self._request_id = request_id.encode()
        self._tallies = tallies
        self._problem = problem
        self._open: dict[int, OpenDocument] = {}
        self._ended = Bits()
        self._last_doc_id = 0

    @property
    def open_documents(self) -> int:
        """How many documents have records and no end."""
        return len(self._open)

    @property
    def are_all_ended(self) -> bool:
        """Whether every document up to the highest number has ended, as far as one had a record."""
        return self._ended.count == self._last_doc_id

    def take(self, event: str, fields: dict[str, Any]) -> OpenDocument | None:
        """Take any record of a document that has the fields of its event.

        Returns:
            The document, of which whoever knows the record's hash sets `last`; None where its number is impossible.
        """
        label = LABEL.fullmatch(fields["doc_id"])
        if label is None:
            self._problem("the document's number is impossible", "")
            return None
        doc_id = int(label.group(1))
        content = (_encoded(fields.get("doc_sha256")), _encoded(fields.get("key")))
        document = self._document(doc_id, fields["doc_prev"].encode())
        if event in PAGE_EVENTS:
            self._take_page(event, document, content, fields["page"])
            if bool(HASH.fullmatch(fields["text_sha256"].encode())) != (event == "EXTRACTED"):
                self._problem("a page's record has no hash of its text, or one without being extracted", "")
            if event == "DEAD_LETTER":
                self._tallies.reasons[fields["reason"]] += 1
        elif event == "DOCUMENT":
            self._end(doc_id, document, fields, content)
        elif event == "SKIPPED":
            self._tallies.skipped += 1
            if document.pages.count:
                self._problem("a file that was left out has pages", "")
            self._close(doc_id)
        return document

    def take_pages(self, rows: PageRows, stretch: slice, seq: int, prevs: list[bytes], last: bytes) -> bool:
        """Take a stretch of pages of one document if all is well with them.

        Args:
            rows: Pages.
            stretch: Which of them: lines of one kind that follow one another.
            seq: Number that the first of them must have.
            prevs: Hashes of the lines before each of these; the list may be changed.
            last: Hash of the last of these lines.

        Returns:
            Whether they were taken; nothing has changed otherwise.
        """
        if rows.prevs[stretch] != prevs or b"\n".join(rows.numbers[stretch]) != in_a_row(
            seq, len(prevs), rows.before_number
        ):
            return False
        doc_id, content = rows.document(stretch.start)
        document = self._open.get(doc_id)
        if document is None:
            if doc_id in self._ended:
                return False
            document = OpenDocument(last=self._root)
        prevs[0] = document.last
        sha256, key = content
        if (
            b"\n".join(rows.heads[stretch]) != heads(doc_id, prevs, sha256)
            or rows.kinds[stretch.start] != kind(rows.event, key)
            or not (document.content == content or self._is_first_content(document, content))
            or not _add_pages(document, rows.pages[stretch])
        ):
            return False
        self._open[doc_id] = document
        self._last_doc_id = max(self._last_doc_id, doc_id)
        document.content = content
        document.last = last
        self._count(rows.event.decode(), document, len(prevs))
        return True

    def take_end(self, rows: EndRows, row: int, seq: int, prev: bytes) -> bool:
        """Take a document's terminal record if all is well with it.

        Args:
            rows: Ended documents.
            row: Which of them.
            seq: Number that it must have.
            prev: Hash of the line before it.

        Returns:
            Whether it was taken; nothing has changed otherwise.
        """
        doc_id = int(rows.doc_ids[row])
        document = self._open.get(doc_id)
        if (
            document is None
            or rows.prevs[row] != prev
            or rows.numbers[row] != b"%b%d" % (rows.before_number, seq)
            or rows.doc_prevs[row] != document.last
            or (rows.doc_sha256s[row], rows.keys[row]) != document.content
        ):
            return False
        pages, outcome = document.pages.count, _OUTCOMES[rows.outcomes[row]]
        found = counts(
            pages, extracted=document.extracted, dead_letter=document.dead_letter, duplicate=document.duplicate
        )
        if rows.counts[row] != found or document.pages.highest > pages or outcome != _outcome(document):
            return False
        self._tallies.documents[outcome] += 1
        self._close(doc_id)
        return True

    def _document(self, doc_id: int, doc_prev: bytes) -> OpenDocument:
        """Return the document whose record this is, after checking its own chain."""
        document = self._open.get(doc_id)
        if document is None:
            if doc_id in self._ended:
                self._problem("a document has a record after its end: a second terminal record", "")
            document = self._open[doc_id] = OpenDocument(last=self._root)
            self._last_doc_id = max(self._last_doc_id, doc_id)
        if doc_prev != document.last:
            self._problem("the record does not link to the one before it of the same document", "")
        return document

    def _take_page(self, event: str, document: OpenDocument, content: Content, page: int) -> None:
        if document.content != content:
            self._check_content(document, content)
        if page < 1 or not document.pages.add(page):
            self._problem("a page has a second terminal record, or an impossible number", "")
            return
        self._count(event, document, 1)

    def _count(self, event: str, document: OpenDocument, number: int) -> None:
        match event:
            case "EXTRACTED":
                document.extracted += number
            case "DEAD_LETTER":
                document.dead_letter += number
            case _:
                document.duplicate += number
        self._tallies.pages[event] += number

    def _is_first_content(self, document: OpenDocument, content: Content) -> bool:
        """Whether this is the first that is heard of a document's bytes, and the key follows from their hash."""
        return document.content == NO_CONTENT and self._content_flaw(content) is None

    def _check_content(self, document: OpenDocument, content: Content) -> None:
        """Check hash and key of a document's bytes, at its first record that has them."""
        if document.content != NO_CONTENT:
            self._problem("a document's hash or key changes between its records", "")
        elif flaw := self._content_flaw(content):
            self._problem(flaw, "")
        document.content = content

    def _content_flaw(self, content: Content) -> str | None:
        sha256, key = content
        if not HASH.fullmatch(sha256):
            return "a document's hash is impossible"
        if key != _key(sha256, self._request_id):
            return "a document's key does not follow from its hash and the request id"
        return None

    def _end(self, doc_id: int, document: OpenDocument, fields: dict[str, Any], content: Content) -> None:
        """Take a document's terminal record: its pages must be complete, and as it says."""
        page_count, outcome = fields.get("page_count"), fields["outcome"]
        if document.content != content:
            self._check_content(document, content)
        pages = page_count if type(page_count) is int else 0
        if document.pages.count != pages or document.pages.highest > pages:
            self._problem("a document ends without one terminal record for each of its pages", "")
        found = zip(PAGE_EVENTS, (document.extracted, document.dead_letter, document.duplicate), strict=True)
        if any(fields.get(f"pages_{event.lower()}") != number for event, number in found):
            self._problem("a document's record states other numbers of pages than there are records", "")
        expected = _outcome(document)
        if outcome != expected:
            self._problem("a document's outcome does not follow from its pages", f"{outcome}, expected {expected}")
        if page_count is None:
            self._tallies.reasons[str(fields.get("reason"))] += 1
        self._tallies.documents[outcome] += 1
        self._close(doc_id)

    def _close(self, doc_id: int) -> None:
        del self._open[doc_id]
        self._ended.add(doc_id)


def _add_pages(document: OpenDocument, written: Sequence[bytes]) -> bool:
    """Add pages if all of them are new; they are given by their digits, without leading zeros."""
    first, number = int(written[0]), len(written)
    if number == 1 or b"\n".join(written) == in_a_row(first, number):
        return first >= 1 and document.pages.add_run(first, number)
    pages = [int(page) for page in written]
    if 0 in pages or len(set(pages)) < number or any(page in document.pages for page in pages):
        return False
    for page in pages:
        document.pages.add(page)
    return True


def _outcome(document: OpenDocument) -> str:
    """Return the outcome that follows from a document's pages."""
    return "DUPLICATE" if document.duplicate else "EXTRACTED" if document.extracted else "DEAD_LETTER"


def _encoded(value: Any) -> bytes:
    """Return a text that passed through `parse` as bytes, and nothing for what is no text."""
    return value.encode() if isinstance(value, str) else b""


def _key(sha256: bytes, request_id: bytes) -> bytes:
    return hashlib.sha256(unhexlify(sha256) + request_id).hexdigest().encode()
