"""Reads the lines of pages and of ended documents, which are nearly all lines of a log, many at a time.

Gives the fields of lines that have one of the usual forms; all others are read by `recordform` one by one: slower,
and with words for what is wrong. What can be known of a line before it is read is not taken apart, but compared as a
whole with what it must be. Needs nothing but the standard library. How lines of one form are read is the business of
`lineforms`; whether records fit together, that of `chaincheck` and `documentcheck`.
"""

import hashlib
import json
import re
from binascii import hexlify
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate, groupby
from typing import Final

from engine.case.checkedlog import Content
from engine.case.lineforms import DIGITS, NUMBER, TEXT, LineForm, as_long_as
from engine.case.recordform import is_timestamp
from engine.models.outcome import Method

_HASH: Final = b"0" * 64
"""Stands for any hash."""
_SMALL_NUMBERS: Final = b"".join(b"\n%d" % number for number in range(1000))
_SMALL_STARTS: Final = [0, *accumulate(len(b"\n%d" % number) for number in range(1000))]
_LAST_DIGITS: Final = b"".join(b"\n%03d" % number for number in range(1000))
_HEX_DIGITS: Final = b"0123456789abcdef"
_NOT_HEX_DIGITS: Final = len(b'","trace_id":"'.translate(None, _HEX_DIGITS))
"""Characters between the two hashes of an extracted page that are none."""


def line_hashes(text: bytes) -> list[bytes]:
    """Return the SHA-256 of each line, without its newline, as 64 hexadecimal digits."""
    sha256 = hashlib.sha256
    # BytesIO finds the ends of lines in a third of the time that split takes, and no line is kept. One conversion for
    # all: half the time of as many calls of hexdigest() and encode().
    digits = hexlify(b"".join([sha256(line[:-1]).digest() for line in BytesIO(text)]), b"\n", 32)
    return digits.split(b"\n") if digits else []


def in_a_row(first: int, number: int, before: bytes = b"") -> bytes:
    """Return so many numbers in a row, as lines, each with something before its digits."""
    if number == 1:
        return b"%b%d" % (before, first)
    thousands, last = divmod(first, 1000)
    if last + number > 1000:
        rest = in_a_row(first + 1000 - last, last + number - 1000, before)
        return b"%b\n%b" % (in_a_row(first, 1000 - last, before), rest)
    if thousands:
        digits, start = _LAST_DIGITS[4 * last + 1 : 4 * (last + number)], b"%b%d" % (before, thousands)
    else:
        digits, start = _SMALL_NUMBERS[_SMALL_STARTS[last] + 1 : _SMALL_STARTS[last + number]], before
    return start + digits.replace(b"\n", b"\n" + start) if start else digits


# Of what the record of a page holds, the part from the digits of the document's number to its hash is called the head
# here, and the part from the event to the document's key the kind: those of the next record are known beforehand.

_BEFORE_PREV: Final = b'","doc_prev":"'
_BEFORE_SHA256: Final = b'","doc_sha256":"'
_AFTER_NUMBER: Final = len(_BEFORE_PREV + _HASH + _BEFORE_SHA256 + _HASH)


def heads(doc_id: int, doc_prevs: Sequence[bytes], sha256: bytes) -> bytes:
    """Return the heads of some pages of a document, as lines, from the hashes of its records before them."""
    if len(doc_prevs) == 1:  # short documents are many
        return b"%07d%b%b%b%b" % (doc_id, _BEFORE_PREV, doc_prevs[0], _BEFORE_SHA256, sha256)
    start, end = b"%07d%b" % (doc_id, _BEFORE_PREV), _BEFORE_SHA256 + sha256
    return start + (end + b"\n" + start).join(doc_prevs) + end


def kind(event: bytes, key: bytes) -> bytes:
    """Return the kind of a document's pages."""
    return b',"event":"%b","key":"%b' % (event, key)


@dataclass(slots=True, kw_only=True)
class PageRows:
    """Parts of some lines of pages of one form, in order.

    What is not said to be digits may still be any bytes: it is compared with what it must be.
    """

    event: bytes
    places: Sequence[int]
    """Of the lines, among all lines that were read."""
    heads: Sequence[bytes]
    """They begin with 7 to 12 digits."""
    kinds: Sequence[bytes]
    pages: Sequence[bytes]
    """Digits, without leading zeros."""
    prevs: Sequence[bytes]
    numbers: Sequence[bytes]
    """Number in the log, which is digits, with what is known beforehand before it."""
    before_number: bytes
    """What must stand before the digits of the number."""

    def document(self, row: int) -> tuple[int, Content]:
        """Return the number of a row's document, and its content, if head and kind are what they must be."""
        head = self.heads[row]
        return int(head[:-_AFTER_NUMBER]), (head[-len(_HASH) :], self.kinds[row][-len(_HASH) :])

    def stretches(self) -> Iterator[slice]:
        """Yield the rows of lines that follow one another and are of one kind, as those of one document are."""
        places, first = self.places, 0
        for _, rows in groupby(self.kinds):
            stop = first + len(list(rows))
            while first < stop:
                last = stop
                if places[last - 1] - places[first] >= last - first:  # there are others between them
                    last = next(row for row in range(first + 1, stop) if places[row] > places[row - 1] + 1)
                yield slice(first, last)
                first = last


@dataclass(slots=True, kw_only=True)
class EndRows:
    """Fields of some lines of documents that have ended, in order; hashes may still be any 64 bytes."""

    places: Sequence[int]
    doc_ids: Sequence[bytes]
    """Digits of the documents' numbers."""
    doc_prevs: Sequence[bytes]
    doc_sha256s: Sequence[bytes]
    keys: Sequence[bytes]
    outcomes: Sequence[bytes]
    counts: Sequence[bytes]
    """Numbers of pages as `counts` writes them."""
    prevs: Sequence[bytes]
    numbers: Sequence[bytes]
    before_number: bytes
    """As for pages."""


def counts(pages: int, *, extracted: int, dead_letter: int, duplicate: int) -> bytes:
    """Return the fields of a document's record that tell how many pages it has, from the first number on."""
    return b'%d,"pages_dead_letter":%d,"pages_duplicate":%d,"pages_extracted":%d' % (
        pages,
        dead_letter,
        duplicate,
        extracted,
    )


@dataclass(slots=True, kw_only=True)
class UsualRows:
    """What some lines hold."""

    pages: Sequence[PageRows]
    """One for each form of pages."""
    ends: Sequence[EndRows]
    others: Mapping[int, bytes]
    """The lines of no usual form, without their newlines, by their places."""


class UsualLines:
    """The usual forms of lines, in a log with this request id."""

    def __init__(self, request_id: str) -> None:
        written = json.dumps(request_id, ensure_ascii=False).encode()
        self._before_run = b'","request_id":%b,"run":' % written
        # Each pattern covers those fields after it, too, that are not named.
        head = b'"D([0-9]{7,12}+.{%d}+)"' % _AFTER_NUMBER
        any_hash = as_long_as(_HASH)
        every = {
            "doc_id": head,
            "mono_ms": NUMBER,
            "ts": b'"(%b)"' % as_long_as(b"2026-03-04T05:06:07.000000+00:00"),
            "v": b"1",
        }
        number = b"(" + as_long_as(self._before_run) + DIGITS + b',"seq":' + DIGITS + b")"

        def page(event: bytes, fields: Mapping[str, bytes]) -> LineForm:
            method = b',"method":"(?:' + "|".join(Method).encode() + b')"'
            forms = {
                "attempt": NUMBER,
                "chars": NUMBER,
                "dur_ms": NUMBER + b"(" + as_long_as(kind(event, _HASH)) + b')"' + method,
                "page": b"(" + NUMBER + b'),"prev":"(' + any_hash + b")" + number,
            }
            return LineForm(dict(sorted({**every, **forms, **fields}.items())))

        # Both hashes in one group, since they are looked at in one go.
        hashes = b'"(%b","trace_id":"%b)"' % (as_long_as(_HASH), as_long_as(_HASH[:32]))
        self._extracted = page(b"EXTRACTED", {"text_sha256": hashes})
        self._duplicate = page(b"DUPLICATE", {"duplicate_of": TEXT, "text_sha256": b'""', "trace_id": TEXT})
        ended = {
            "doc_id": b'"D([0-9]{7}|[1-9][0-9]{7,11})"',
            "doc_prev": b'"(' + any_hash + b')"',
            "doc_sha256": b'"(' + any_hash + b')"(?:,"duplicate_of":' + TEXT + b")?+",
            "event": b'"DOCUMENT"',
            "key": b'"(' + any_hash + b')"',
            "mtime_ns": TEXT,
            "outcome": b'"(EXTRACTED|DUPLICATE)"',
            "page_count": b"(" + NUMBER,
            "pages_dead_letter": NUMBER,
            "pages_duplicate": NUMBER,
            "pages_extracted": NUMBER + b")",
            "path": TEXT,
            "path_b64": TEXT,
            "prev": b'"(' + any_hash + b')"',
            "repaired": b"(?:true|false)",
            "request_id": re.escape(written),
            "root": TEXT,
            "root_b64": TEXT,
            "run": b"(" + DIGITS + b',"seq":' + DIGITS + b")",
            "size_bytes": NUMBER,
            "trace_id": TEXT,
            "version": NUMBER,
        }
        self._ended = LineForm(dict(sorted({**every, **ended}.items())))
        held = {
            "cause": TEXT,
            "event": b'"(?:HELD|RELEASED)"',
            "mono_ms": NUMBER,
            "prev": b'"(' + any_hash + b')"',
            "queue_depth": NUMBER,
            "request_id": re.escape(written),
            "run": b"(" + DIGITS + b',"seq":' + DIGITS + b")",
            "ts": every["ts"],
            "v": every["v"],
        }
        self._held = LineForm(held)

    def read(self, text: bytes, number: int, run: int) -> UsualRows | None:
        """Return what lines hold, or None where one of them seems to be of a usual form and is not quite.

        Args:
            text: Whole lines with their newlines.
            number: How many.
            run: The present one.
        """
        found = self._extracted.read(text, range(number))
        *columns, hashes, times = found.columns
        # A pattern looks at digit by digit; this is several times as fast. Nothing but the name between may be left.
        if len(b"".join(hashes).translate(None, _HEX_DIGITS)) != len(hashes) * _NOT_HEX_DIGITS:
            return None
        before_number = b'%b%d,"seq":' % (self._before_run, run)
        pages = [_page_rows(b"EXTRACTED", before_number, found.places, columns)]
        ends = []
        moments = set(times)
        if not _is_utf8(found.rest):
            return None
        if b'"event":"DUPLICATE"' in found.rest:
            found = self._duplicate.read(found.rest, found.rest_places)
            *columns, times = found.columns
            moments.update(times)
            pages.append(_page_rows(b"DUPLICATE", before_number, found.places, columns))
        if b'"event":"DOCUMENT"' in found.rest:
            found = self._ended.read(found.rest, found.rest_places)
            doc_ids, doc_prevs, sha256s, keys, outcomes, page_counts, prevs, numbers, times = found.columns
            moments.update(times)
            ends.append(
                EndRows(
                    places=found.places,
                    doc_ids=doc_ids,
                    doc_prevs=doc_prevs,
                    doc_sha256s=sha256s,
                    keys=keys,
                    outcomes=outcomes,
                    counts=page_counts,
                    prevs=prevs,
                    numbers=numbers,
                    before_number=b'%d,"seq":' % run,
                )
            )
        if not all(is_timestamp(moment.decode("latin-1")) for moment in moments):
            return None
        others = dict(zip(found.rest_places, found.rest.split(b"\n"), strict=False))  # nothing follows the last newline
        return UsualRows(pages=pages, ends=ends, others=others)

    def tells_of_a_hold(self, line: bytes, prev: bytes, seq: int, run: int) -> bool:
        """Whether a line tells of a hold that began or ended, and is what it must be; they come with every commit.

        Args:
            line: One of the others that were read, without its newline.
            prev: Hash of the line before it.
            seq: Number that it must have.
            run: The present one.
        """
        found = self._held.values(line + b"\n")
        if found is None:
            return False
        found_prev, number, moment = found
        return (found_prev, number) == (prev, b'%d,"seq":%d' % (run, seq)) and is_timestamp(moment.decode("latin-1"))


def _page_rows(
    event: bytes, before_number: bytes, places: Sequence[int], columns: Sequence[Sequence[bytes]]
) -> PageRows:
    """Return the rows of pages, of the columns in the order in which records are written."""
    heads, kinds, pages, prevs, numbers = columns
    return PageRows(
        event=event,
        places=places,
        heads=heads,
        kinds=kinds,
        pages=pages,
        prevs=prevs,
        numbers=numbers,
        before_number=before_number,
    )


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
