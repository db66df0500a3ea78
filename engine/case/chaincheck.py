"""Checks the records of an exported audit log one after the other, in memory that does not grow with the log.

Needs nothing but the standard library, and nothing of what wrote the log. What one record must look like stands in
`recordform`, and for the many that are of one form, in `pagelines`; reading the file and the report for people are the
business of `verify`.

What is kept: for each document that has records and no end yet, its last hash and which of its pages have their
record; for documents that have ended, one bit each.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from engine.case.checkedlog import NO_CONTENT, Bits, Content, OpenDocument, Tallies
from engine.case.pagelines import PageColumns, PageLines, line_hashes, other_lines, unlike_pages
from engine.case.recordform import (
    DOCUMENT_EVENTS,
    HASH,
    LABEL,
    LARGEST_NUMBER,
    PAGE_EVENTS,
    FormError,
    is_timestamp,
    missing_fields,
    parse,
)

_SHOWN_OF_A_KIND: Final = 5


class ChainCheck:
    """Takes the lines of a log in order and finds what is wrong with them.

    Args:
        header: The header line, without newline.

    Attributes:
        records: Lines taken, the header not counted.
        problems: Sentences, the first few of each kind.
    """

    def __init__(self, header: bytes) -> None:
        self.records = self._seq = 0
        self._root = self._prev = hashlib.sha256(header).hexdigest().encode()
        self.tallies = Tallies()
        self._found: Counter[str] = Counter()
        self.problems: list[str] = []
        self._run = 0
        self._open: dict[int, OpenDocument] = {}
        self._ended = Bits()
        self._last_doc_id = 0
        self.request_id = self._read_header(header)
        self._page_lines = PageLines(self.request_id)
        self._current: OpenDocument | None = None
        """The document whose record is being taken."""

    @property
    def head(self) -> str:
        """Hash of the last line, 64 hexadecimal digits."""
        return self._prev.decode()

    @property
    def open_documents(self) -> int:
        """How many documents have records and no end."""
        return len(self._open)

    def take(self, line: bytes) -> None:
        """Check the next line, given without its newline."""
        self.take_all([line])

    def take_all(self, lines: Sequence[bytes]) -> Sequence[bytes]:
        """Check the next lines, given without their newlines; what is found does not depend on how many there are.

        Returns:
            The hash of each line, as hexadecimal digits.
        """
        hashes = line_hashes(lines)
        self._take_between(lines, hashes, unlike_pages(lines))
        return hashes

    def finish(self) -> None:
        """Add the numbers of problems that are not shown one by one."""
        for kind, number in self._found.items():
            if number > _SHOWN_OF_A_KIND:
                self.problems.append(f"{number - _SHOWN_OF_A_KIND:,} more problems of this kind: {kind}.")

    def problem(self, kind: str, detail: str = "") -> None:
        """Note a problem with the current line.

        Args:
            kind: What is wrong, in words that are the same for all of this kind.
            detail: What exactly.
        """
        self._found[kind] += 1
        if self._found[kind] <= _SHOWN_OF_A_KIND:
            where = f"Line {self.records + 1:,}"
            self.problems.append(f"{where}: {kind}{f' ({detail})' if detail else ''}.")

    def _read_header(self, header: bytes) -> str:
        fields = self._fields_of(header) or {}
        request_id = fields.get("request_id")
        if fields.get("format") != "sluicegate-audit" or fields.get("v") != 1 or not isinstance(request_id, str):
            self.problem("this is no header of an audit log")
            return ""
        return request_id

    def _fields_of(self, line: bytes) -> dict[str, Any] | None:
        """Return the fields of a line after noting what is wrong with its form; None where it cannot be a record."""
        try:
            fields, flaws = parse(line)
        except FormError as error:
            self.problem(str(error))
            return None
        for kind in flaws:
            self.problem(kind)
        return fields

    def _take_between(self, lines: Sequence[bytes], hashes: Sequence[bytes], others: Sequence[int]) -> None:
        """Take lines; the `others` one by one, and those between them as pages."""
        first = 0
        for other in (*others, len(lines)):
            if first < other:
                self._take_pages(lines[first:other], hashes[first:other])
            if other < len(lines):
                self._take_one(lines[other], hashes[other])
            first = other + 1

    def _take_one(self, line: bytes, line_hash: bytes) -> None:
        """Take any line."""
        self.records += 1
        self._seq += 1
        fields = self._fields_of(line)
        if fields is not None:
            self._take_record(fields)
        self._prev = line_hash
        if self._current is not None:
            self._current.last = line_hash
            self._current = None

    def _take_pages(self, lines: Sequence[bytes], hashes: Sequence[bytes]) -> None:
        """Take lines that are likely to be extracted pages: together, or else by halves down to the odd ones."""
        columns = self._page_lines.columns(lines)
        if columns is not None and self._are_linked(columns, hashes):
            self._take_columns(columns, lines, hashes)
        elif len(lines) == 1:
            self._take_one(lines[0], hashes[0])
        elif others := other_lines(lines):
            self._take_between(lines, hashes, others)
        else:
            half = len(lines) // 2
            self._take_pages(lines[:half], hashes[:half])
            self._take_pages(lines[half:], hashes[half:])

    def _are_linked(self, columns: PageColumns, hashes: Sequence[bytes]) -> bool:
        """Whether numbers, run and links are as they must be, as `_check_link` sees it for one record."""
        return columns.prevs == (self._prev, *hashes[:-1]) and columns.are_numbered(self._run, self._seq + 1)

    def _take_columns(self, columns: PageColumns, lines: Sequence[bytes], hashes: Sequence[bytes]) -> None:
        """Take the records of extracted pages of which form and links are known to be right."""
        first = 0
        for digits, stretch in groupby(columns.doc_ids):
            stop = first + len(list(stretch))
            if not self._take_stretch(int(digits), columns, hashes, slice(first, stop)):
                for place in range(first, stop):
                    self._take_row(int(digits), columns, place, lines[place], hashes[place])
            first = stop

    def _take_row(self, doc_id: int, columns: PageColumns, place: int, line: bytes, line_hash: bytes) -> None:
        if not columns.has_hashes(place):
            self._take_one(line, line_hash)
            return
        self.records += 1
        self._seq += 1
        content = (columns.doc_sha256s[place], columns.keys[place])
        document = self._take_page("EXTRACTED", doc_id, columns.doc_prevs[place], content, int(columns.pages[place]))
        document.last = self._prev = line_hash
        self._current = None

    def _take_stretch(self, doc_id: int, columns: PageColumns, hashes: Sequence[bytes], rows: slice) -> bool:
        """Take rows of one document, in few steps for all of them, if they are consecutive pages and all is well.

        Returns:
            Whether they were taken; nothing has changed otherwise.
        """
        document = self._open.get(doc_id)
        if document is None:
            return False
        (sha256, key), number = document.content, rows.stop - rows.start
        first = int(columns.pages[rows.start])
        if (
            columns.doc_prevs[rows] != (document.last, *hashes[rows.start : rows.stop - 1])
            or columns.doc_sha256s[rows].count(sha256) != number
            or columns.keys[rows].count(key) != number
            or not columns.are_consecutive(rows)
            or first < 1
            or not document.pages.add_run(first, number)
        ):
            return False
        document.extracted += number
        document.last = self._prev = hashes[rows.stop - 1]
        self.records += number
        self._seq += number
        self.tallies.pages["EXTRACTED"] += number
        return True

    def _take_record(self, fields: dict[str, Any]) -> None:
        missing = missing_fields(fields)
        if missing:
            self.problem("the record lacks a field, or has one that cannot be", ", ".join(missing))
            # As much of the chain as can be judged goes on being judged.
            self._check_link(_encoded(fields.get("prev")), fields.get("seq"), self._run)
            return
        event = fields["event"]
        if event == "RUN_STARTED":
            self._run += 1
            self.tallies.is_reconciled = False  # until this run says so, too
        self._check_link(fields["prev"].encode(), fields["seq"], fields["run"])
        if fields["v"] != 1 or fields["request_id"] != self.request_id or not is_timestamp(fields["ts"]):
            self.problem("the record's version, request id or time is impossible")
        if event == "CHECKPOINT":
            if (fields["count"], fields["head"]) != (self._seq - 1, self.head):
                self.problem("the checkpoint does not match the log before it")
        elif event == "RECONCILED":
            self._check_reconciliation(fields)
        elif event in DOCUMENT_EVENTS:
            self._take_document_record(event, fields)

    def _take_document_record(self, event: str, fields: dict[str, Any]) -> None:
        label = LABEL.fullmatch(fields["doc_id"])
        if label is None:
            self.problem("the document's number is impossible")
            return
        doc_id = int(label.group(1))
        content = (_encoded(fields.get("doc_sha256")), _encoded(fields.get("key")))
        doc_prev = fields["doc_prev"].encode()
        if event in PAGE_EVENTS:
            self._take_page(event, doc_id, doc_prev, content, fields["page"])
            if bool(HASH.fullmatch(fields["text_sha256"].encode())) != (event == "EXTRACTED"):
                self.problem("a page's record has no hash of its text, or one without being extracted")
            if event == "DEAD_LETTER":
                self.tallies.reasons[fields["reason"]] += 1
            return
        document = self._document(doc_id, doc_prev)
        if event == "DOCUMENT":
            self._end(doc_id, document, fields, content)
        elif event == "SKIPPED":
            self.tallies.skipped += 1
            if document.pages.count:
                self.problem("a file that was left out has pages")
            self._close(doc_id)

    def _check_link(self, prev: bytes, seq: Any, run: int) -> None:
        if seq != self._seq:
            self.problem("the records' numbers have a gap or are out of order", f"found {seq!a}, expected {self._seq}")
            if type(seq) is int and 0 < seq <= LARGEST_NUMBER:
                self._seq = seq  # so that one gap is one problem
        if prev != self._prev:
            self.problem("the record does not link to the line before it: something was changed, removed or put in")
        if run != self._run:
            self.problem("the run's number does not follow from the runs started so far")
            self._run = run

    def _document(self, doc_id: int, doc_prev: bytes) -> OpenDocument:
        """Return the document whose record this is, after checking its own chain."""
        document = self._open.get(doc_id)
        if document is None:
            if doc_id in self._ended:
                self.problem("a document has a record after its end: a second terminal record")
            document = self._open[doc_id] = OpenDocument(last=self._root)
            self._last_doc_id = max(self._last_doc_id, doc_id)
        if doc_prev != document.last:
            self.problem("the record does not link to the one before it of the same document")
        self._current = document
        return document

    def _take_page(self, event: str, doc_id: int, doc_prev: bytes, content: Content, page: int) -> OpenDocument:
        document = self._document(doc_id, doc_prev)
        if document.content != content:
            self._check_content(document, content)
        if page < 1 or not document.pages.add(page):
            self.problem("a page has a second terminal record, or an impossible number")
            return document
        match event:
            case "EXTRACTED":
                document.extracted += 1
            case "DEAD_LETTER":
                document.dead_letter += 1
            case _:
                document.duplicate += 1
        self.tallies.pages[event] += 1
        return document

    def _check_content(self, document: OpenDocument, content: Content) -> None:
        """Check hash and key of a document's bytes, at its first record that has them."""
        sha256, key = content
        if document.content != NO_CONTENT:
            self.problem("a document's hash or key changes between its records")
        elif not HASH.fullmatch(sha256):
            self.problem("a document's hash is impossible")
        elif key.decode("latin-1") != _key(sha256, self.request_id):
            self.problem("a document's key does not follow from its hash and the request id")
        document.content = content

    def _end(self, doc_id: int, document: OpenDocument, fields: dict[str, Any], content: Content) -> None:
        """Take a document's terminal record: its pages must be complete, and as it says."""
        page_count, outcome = fields.get("page_count"), fields["outcome"]
        if document.content != content:
            self._check_content(document, content)
        pages = page_count if type(page_count) is int else 0
        if document.pages.count != pages or document.pages.highest > pages:
            self.problem("a document ends without one terminal record for each of its pages")
        found = dict(zip(PAGE_EVENTS, (document.extracted, document.dead_letter, document.duplicate), strict=True))
        stated = {event: fields.get(f"pages_{event.lower()}") for event in PAGE_EVENTS}
        if any(found[event] != number for event, number in stated.items()):
            self.problem("a document's record states other numbers of pages than there are records")
        expected = "DUPLICATE" if found["DUPLICATE"] else "EXTRACTED" if found["EXTRACTED"] else "DEAD_LETTER"
        if outcome != expected:
            self.problem("a document's outcome does not follow from its pages", f"{outcome}, expected {expected}")
        if page_count is None:
            self.tallies.reasons[str(fields.get("reason"))] += 1
        self.tallies.documents[outcome] += 1
        self._close(doc_id)

    def _close(self, doc_id: int) -> None:
        del self._open[doc_id]
        self._ended.add(doc_id)

    def _check_reconciliation(self, fields: dict[str, Any]) -> None:
        tallies = self.tallies
        found = {"skipped": tallies.skipped}
        for kind, counted in (("documents", tallies.documents), ("pages", tallies.pages)):
            found |= {f"{kind}_{event.lower()}": counted[event] for event in PAGE_EVENTS}
        for name, number in found.items():
            if fields.get(name) != number:
                self.problem(
                    "a RECONCILED record states another number than there are records",
                    f"{name} {fields.get(name)!a}, counted {number}",
                )
        documents, pages = fields.get("documents_enumerated"), fields.get("pages_enumerated")
        if type(documents) is not int or type(pages) is not int:
            self.problem("a RECONCILED record does not state what was enumerated")
            return
        tallies.documents_stated, tallies.pages_stated = documents, pages
        tallies.is_reconciled = fields.get("reconciled") is True
        ended = (tallies.documents.total(), tallies.pages.total())
        has_ended = ended == (documents, pages) and fields.get("unfinished_sources") == 0
        is_complete = has_ended and self._ended.count == self._last_doc_id
        if tallies.is_reconciled != has_ended or (tallies.is_reconciled and not is_complete):
            self.problem("a RECONCILED record says that everything is accounted for, or not, and the records differ")


def _encoded(value: Any) -> bytes:
    """Return a text that passed through `_parse` as bytes, and nothing for what is no text."""
    return value.encode() if isinstance(value, str) else b""


def _key(sha256: bytes, request_id: str) -> str:
    return hashlib.sha256(bytes.fromhex(sha256.decode()) + request_id.encode()).hexdigest()
