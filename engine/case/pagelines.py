"""Reads the lines of pages and of ended documents, which are nearly all lines of a log, many at a time.

Gives the fields of lines that have one of the usual forms; all others are read by `recordform` one by one: slower,
and with words for what is wrong. Needs nothing but the standard library. How lines of one form are read is the
business of `lineforms`; whether records fit together, that of `chaincheck` and `documentcheck`.
"""

import hashlib
import json
import re
from binascii import hexlify
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from engine.case.lineforms import HASH, NUMBER, TEXT, LineForm
from engine.case.recordform import is_timestamp
from engine.models.outcome import Method

_BETWEEN: Final = b',"seq":'
_LABEL: Final = rb'"D([0-9]{7}|[1-9][0-9]{7,11})"'
_METHOD: Final = b'"(?:' + "|".join(Method).encode() + b')"'
_TIMESTAMP: Final = rb'"(.{32}+)"'
_SMALL_NUMBERS: Final = [b"%d" % number for number in range(1000)]
_LAST_DIGITS: Final = [b"%03d" % number for number in range(1000)]
_HEX_DIGITS: Final = b"0123456789abcdef"
_NOT_HEX_DIGITS: Final = len(b'","trace_id":"'.translate(None, _HEX_DIGITS))
"""Characters between the two hashes of an extracted page that are none."""
_RUN: Final = rb"([0-9]{1,15}+"
_NUMBER_AFTER_IT: Final = rb"[0-9]{1,15}+)"
"""Both in one group, which is compared with what it must be."""
_HASH_OF_TEXT: Final = rb'"(.{64}+"'
_TRACE_AFTER_IT: Final = rb'".{32}+)"'
"""Both in one group, since they are looked at in one go."""


def line_hashes(lines: Sequence[bytes]) -> list[bytes]:
    """Return the SHA-256 of each line, as 64 hexadecimal digits."""
    sha256 = hashlib.sha256
    # One conversion for all: half the time of as many calls of hexdigest() and encode().
    digits = hexlify(b"".join([sha256(line).digest() for line in lines]), b"\n", 32)
    return digits.split(b"\n") if lines else []


def in_a_row(first: int, number: int, before: bytes = b"") -> list[bytes]:
    """Return the digits of so many numbers in a row, each with something before it."""
    found: list[bytes] = []
    while number > len(found):
        thousands, last = divmod(first + len(found), 1000)
        digits = (_LAST_DIGITS if thousands else _SMALL_NUMBERS)[last : last + number - len(found)]
        start = b"%b%d" % (before, thousands) if thousands else before
        found += [start + end for end in digits] if start else digits
    return found


def numbered(run: int, first: int, number: int) -> list[bytes]:
    """Return what so many records in a row must hold as their run and number, as `Rows.numbers` gives it."""
    return in_a_row(first, number, b"%d%b" % (run, _BETWEEN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Fields of some lines of one form, in order.

    Hashes may still hold any 64 bytes: they are compared with what they must be.
    """

    places: Sequence[int]
    """Of the lines, among all lines that were read."""
    prevs: Sequence[bytes]
    numbers: Sequence[bytes]
    """Run and number in the log, with what stands between them."""
    doc_ids: Sequence[bytes]
    """Digits of the documents' numbers."""
    doc_prevs: Sequence[bytes]
    doc_sha256s: Sequence[bytes]
    keys: Sequence[bytes]

    def are_linked(self, prevs: Sequence[bytes], numbers: Sequence[bytes]) -> bool:
        """Whether links, runs and numbers are those given here for every line that was read."""
        if len(self.places) < len(numbers):
            prevs = [prevs[place] for place in self.places]
            numbers = [numbers[place] for place in self.places]
        return self.prevs == prevs and self.numbers == numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRows(Rows):
    """Lines of pages."""

    event: str
    pages: Sequence[bytes]
    """Digits, without leading zeros."""

    def stretches(self) -> Iterator[slice]:
        """Yield the rows of lines that follow one another and are of one document."""
        places, first = self.places, 0
        for _, rows in groupby(self.doc_ids):
            stop = first + len(list(rows))
            while first < stop:
                last = stop
                if places[last - 1] - places[first] >= last - first:  # there are others between them
                    last = next(row for row in range(first + 1, stop) if places[row] > places[row - 1] + 1)
                yield slice(first, last)
                first = last

    def are_consecutive(self, rows: slice) -> bool:
        """Whether the pages of these rows follow one another."""
        pages = self.pages[rows]
        return len(pages) == 1 or pages == in_a_row(int(pages[0]), len(pages))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRows(Rows):
    """Lines of documents that have ended."""

    outcomes: Sequence[bytes]
    counts: Sequence[bytes]
    """Numbers of pages as `counts` writes them."""


def counts(pages: int, *, extracted: int, dead_letter: int, duplicate: int) -> bytes:
    """Return the fields of a document's record that tell how many pages it has, from the first number on."""
    return b'%d,"pages_dead_letter":%d,"pages_duplicate":%d,"pages_extracted":%d' % (
        pages,
        dead_letter,
        duplicate,
        extracted,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualRows:
    """What some lines hold."""

    pages: Sequence[PageRows]
    """One for each form of pages."""
    ends: EndRows
    others: Sequence[int]
    """Places of the lines of no usual form."""

    def are_linked(self, prevs: Sequence[bytes], numbers: Sequence[bytes]) -> bool:
        """Whether links, runs and numbers of all but the others are those given here for every line."""
        return all(rows.are_linked(prevs, numbers) for rows in (*self.pages, self.ends))


_PAGE: Final = {
    "attempt": NUMBER,
    "chars": NUMBER,
    "doc_id": _LABEL,
    "doc_prev": HASH,
    "doc_sha256": HASH,
    "dur_ms": NUMBER,
    "key": HASH,
    "method": _METHOD,
    "page": b"(" + NUMBER + b")",
}
"""What both kinds of records of pages have."""


class UsualLines:
    """The usual forms of lines, in a log with this request id."""

    def __init__(self, request_id: str) -> None:
        every = {
            "mono_ms": NUMBER,
            "prev": HASH,
            "request_id": re.escape(json.dumps(request_id, ensure_ascii=False).encode()),
            "run": _RUN,
            "seq": _NUMBER_AFTER_IT,
            "ts": _TIMESTAMP,
            "v": b"1",
        }

        def form(fields: Mapping[str, bytes]) -> LineForm:
            return LineForm(dict(sorted({**every, **fields}.items())))

        self._extracted = form(
            {**_PAGE, "event": b'"EXTRACTED"', "text_sha256": _HASH_OF_TEXT, "trace_id": _TRACE_AFTER_IT}
        )
        self._duplicate = form(
            {**_PAGE, "duplicate_of": TEXT, "event": b'"DUPLICATE"', "text_sha256": b'""', "trace_id": TEXT}
        )
        self._ended = form(
            {
                "doc_id": _LABEL,
                "doc_prev": HASH,
                "doc_sha256": HASH + b'(?:,"duplicate_of":' + TEXT + b")?+",
                "event": b'"DOCUMENT"',
                "key": HASH,
                "mtime_ns": TEXT,
                "outcome": b'"(EXTRACTED|DUPLICATE)"',
                "page_count": b"(" + NUMBER,
                "pages_dead_letter": NUMBER,
                "pages_duplicate": NUMBER,
                "pages_extracted": NUMBER + b")",
                "path": TEXT,
                "path_b64": TEXT,
                "repaired": b"(?:true|false)",
                "root": TEXT,
                "root_b64": TEXT,
                "size_bytes": NUMBER,
                "trace_id": TEXT,
                "version": NUMBER,
            }
        )

    def read(self, text: bytes, number: int) -> UsualRows | None:
        """Return what lines hold, or None where one of them seems to be of a usual form and is not quite.

        Args:
            text: Whole lines with their newlines.
            number: How many.
        """
        found = self._extracted.read(text, range(number))
        *columns, hashes, times = found.columns
        # A pattern looks at digit by digit; this is several times as fast. Nothing but the name between may be left.
        if len(b"".join(hashes).translate(None, _HEX_DIGITS)) != len(hashes) * _NOT_HEX_DIGITS:
            return None
        moments = set(times)
        extracted = _page_rows("EXTRACTED", found.places, columns)
        is_text = _is_utf8(found.rest)
        found = self._duplicate.read(found.rest, found.rest_places)
        *columns, times = found.columns
        moments.update(times)
        duplicate = _page_rows("DUPLICATE", found.places, columns)
        found = self._ended.read(found.rest, found.rest_places)
        doc_ids, doc_prevs, sha256s, keys, outcomes, page_counts, prevs, numbers, times = found.columns
        moments.update(times)
        ends = EndRows(
            places=found.places,
            prevs=prevs,
            numbers=numbers,
            doc_ids=doc_ids,
            doc_prevs=doc_prevs,
            doc_sha256s=sha256s,
            keys=keys,
            outcomes=outcomes,
            counts=page_counts,
        )
        if not is_text or not all(is_timestamp(moment.decode("latin-1")) for moment in moments):
            return None
        return UsualRows(pages=(extracted, duplicate), ends=ends, others=found.rest_places)


def _page_rows(event: str, places: Sequence[int], columns: Sequence[Sequence[bytes]]) -> PageRows:
    """Return the rows of pages, of the columns in the order in which records are written."""
    doc_ids, doc_prevs, sha256s, keys, pages, prevs, numbers = columns
    return PageRows(
        event=event,
        places=places,
        prevs=prevs,
        numbers=numbers,
        doc_ids=doc_ids,
        doc_prevs=doc_prevs,
        doc_sha256s=sha256s,
        keys=keys,
        pages=pages,
    )


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
