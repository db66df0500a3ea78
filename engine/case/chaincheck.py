"""Checks the records of an exported audit log one after the other, in memory that does not grow with the log.

Needs nothing but the standard library, and nothing of what wrote the log. What one record must look like stands in
`recordform`, and for the many that are of usual forms, in `pagelines`; whether the records of one document fit
together is the business of `documentcheck`, reading the file and the report for people that of `verify`.

What is kept: for each document that has records and no end yet, its last hash and which of its pages have their
record; for documents that have ended, one bit each.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

from engine.case.checkedlog import Tallies
from engine.case.documentcheck import DocumentCheck
from engine.case.pagelines import EndRows, PageRows, UsualLines, UsualRows, line_hashes
from engine.case.recordform import (
    DOCUMENT_EVENTS,
    LARGEST_NUMBER,
    PAGE_EVENTS,
    FormError,
    is_timestamp,
    missing_fields,
    parse,
)

_SHOWN_OF_A_KIND: Final = 5

_Step = tuple[int, PageRows | EndRows | bytes, slice]
"""Place of a line, and the rows of it and those after it that are taken together, or a line of no usual form."""


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
        self._prev = hashlib.sha256(header).hexdigest().encode()
        self.tallies = Tallies()
        self._found: Counter[str] = Counter()
        self.problems: list[str] = []
        self._run = 0
        self.request_id = self._read_header(header)
        self._usual = UsualLines(self.request_id)
        self._documents = DocumentCheck(self._prev, self.request_id, self.tallies, self.problem)

    @property
    def head(self) -> str:
        """Hash of the last line, 64 hexadecimal digits."""
        return self._prev.decode()

    @property
    def open_documents(self) -> int:
        """How many documents have records and no end."""
        return self._documents.open_documents

    def take(self, line: bytes) -> None:
        """Check the next line, given without its newline."""
        self.take_all([line])

    def take_all(self, lines: Sequence[bytes]) -> None:
        """Check the next lines, given without their newlines; what is found does not depend on how many there are."""
        if any(b"\n" in line for line in lines):  # together with others, it would look like two
            for line in lines:
                self._take_one(line, hashlib.sha256(line).hexdigest().encode())
        else:
            self.take_text(b"\n".join((*lines, b"")))

    def take_text(self, text: bytes) -> Sequence[bytes]:
        """Check the next lines, given with their newlines.

        Returns:
            The hash of each line, as hexadecimal digits.
        """
        hashes = line_hashes(text)
        if hashes:
            self._take(text, hashes)
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

    def _take(self, text: bytes, hashes: Sequence[bytes]) -> None:
        """Take lines: together where those of usual forms follow one another, or else by halves."""
        rows = self._usual.read(text, len(hashes), self._run)
        taken = 0 if rows is None else self._take_rows(rows, text, hashes)  # the rest is not numbered as was thought
        if taken == len(hashes):
            return
        if len(hashes) == 1:
            self._take_one(text[:-1], hashes[0])
            return
        lines, half = _lines(text), (taken + len(hashes)) // 2
        for part in (slice(taken, half), slice(half, None)):
            if hashes[part]:
                self._take(b"\n".join((*lines[part], b"")), hashes[part])

    def _take_rows(self, rows: UsualRows, text: bytes, hashes: Sequence[bytes]) -> int:
        """Take lines, up to one after which they are not numbered as was thought; return how many were taken."""
        records, seq, run = self.records, self._seq, self._run
        prevs = [self._prev, *hashes]
        for first, usual, stretch in _steps(rows):
            stop: int = first + stretch.stop - stretch.start
            match usual:
                case PageRows():
                    if self._documents.take_pages(usual, stretch, seq + first + 1, prevs[first:stop], prevs[stop]):
                        continue
                    lines = _lines(text)[first:stop]
                case EndRows():
                    if self._documents.take_end(usual, stretch.start, seq + first + 1, prevs[first]):
                        continue
                    lines = _lines(text)[first:stop]
                case line:
                    if self._usual.tells_of_a_hold(line, prevs[first], seq + first + 1, run):
                        continue
                    lines = [line]
            self.records, self._seq, self._prev = records + first, seq + first, prevs[first]
            for line, line_hash in zip(lines, hashes[first:stop], strict=True):
                self._take_one(line, line_hash)
            if (self._seq, self._run) != (seq + stop, run):
                return stop
        self.records, self._seq, self._prev = records + len(hashes), seq + len(hashes), prevs[-1]
        return len(hashes)

    def _take_one(self, line: bytes, line_hash: bytes) -> None:
        """Take any line."""
        self.records += 1
        self._seq += 1
        fields = self._fields_of(line)
        if fields is not None:
            self._take_record(fields, line_hash)
        self._prev = line_hash

    def _take_record(self, fields: dict[str, Any], line_hash: bytes) -> None:
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
        elif event in DOCUMENT_EVENTS and (document := self._documents.take(event, fields)) is not None:
            document.last = line_hash

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
        is_complete = has_ended and self._documents.are_all_ended
        if tallies.is_reconciled != has_ended or (tallies.is_reconciled and not is_complete):
            self.problem("a RECONCILED record says that everything is accounted for, or not, and the records differ")


def _steps(rows: UsualRows) -> list[_Step]:
    """Return in which order rows and other lines are taken."""
    steps: list[_Step] = [(place, line, slice(0, 1)) for place, line in rows.others.items()]
    for pages in rows.pages:
        steps += [(pages.places[stretch.start], pages, stretch) for stretch in pages.stretches()]
    for ends in rows.ends:
        steps += [(place, ends, slice(row, row + 1)) for row, place in enumerate(ends.places)]
    return sorted(steps, key=itemgetter(0))


def _lines(text: bytes) -> list[bytes]:
    return text.split(b"\n")[:-1]


def _encoded(value: Any) -> bytes:
    """Return a text that passed through `parse` as bytes, and nothing for what is no text."""
    return value.encode() if isinstance(value, str) else b""
