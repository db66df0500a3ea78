"""Reads the lines of extracted pages, which are nearly all lines of a log, many at a time.

Gives the fields of lines that have exactly the one form, and says no to all others, which `recordform` reads one by
one: slower, and with words for what is wrong. Needs nothing but the standard library. Whether records fit together is
the business of `chaincheck`.
"""

import hashlib
import json
import re
from binascii import hexlify
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.case.recordform import is_timestamp
from engine.models.outcome import Method

_EVENT: Final = b'"event":"EXTRACTED"'
_BETWEEN: Final = b',"seq":'
_BEGINNING: Final = b'{"attempt":'
_HEX_DIGITS: Final = b"0123456789abcdef"
_NOT_HEX_DIGITS: Final = len(b'","trace_id":"'.translate(None, _HEX_DIGITS))
"""Characters between the two hashes of a line that are none."""


def line_hashes(lines: Sequence[bytes]) -> list[bytes]:
    """Return the SHA-256 of each line, as 64 hexadecimal digits."""
    sha256 = hashlib.sha256
    # One conversion for all: half the time of as many calls of hexdigest() and encode().
    digits = hexlify(b"".join([sha256(line).digest() for line in lines]), b"\n", 32)
    return digits.split(b"\n") if lines else []


def unlike_pages(lines: Sequence[bytes]) -> list[int]:
    """Return the places of the lines that do not begin as pages do: a quick look; some others begin so, too."""
    return [place for place, line in enumerate(lines) if not line.startswith(_BEGINNING)]


def other_lines(lines: Sequence[bytes]) -> list[int]:
    """Return the places of the lines that are certainly no extracted pages."""
    return [place for place, line in enumerate(lines) if _EVENT not in line]


def in_a_row(first: int, number: int, before: bytes = b"") -> bytes:
    """Return so many numbers in a row, each with something before it, and spaces between them."""
    return before + (b" " + before).decode().join(map(str, range(first, first + number))).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageColumns:
    """Fields of some lines of extracted pages, in order.

    Hashes other than `text_sha256` may still hold any 64 bytes: they are compared with what they must be.
    """

    doc_ids: Sequence[bytes]
    """Digits of the documents' numbers."""
    doc_prevs: Sequence[bytes]
    doc_sha256s: Sequence[bytes]
    keys: Sequence[bytes]
    pages: Sequence[bytes]
    """Digits, as of all numbers here: without leading zeros."""
    prevs: Sequence[bytes]
    places: Sequence[bytes]
    """Run and number in the log, with `_BETWEEN` between them."""

    def are_numbered(self, run: int, seq: int) -> bool:
        """Whether all are of this run, and numbered from `seq` on."""
        before = b"%d%b" % (run, _BETWEEN)
        return b" ".join(self.places) == in_a_row(seq, len(self.places), before)

    def are_consecutive(self, rows: slice) -> bool:
        """Whether the pages of these rows follow one another."""
        pages = self.pages[rows]
        return len(pages) == 1 or b" ".join(pages) == in_a_row(int(pages[0]), len(pages))

    def has_hashes(self, place: int) -> bool:
        """Whether the hashes of one line, `prev` not among them, are hexadecimal digits."""
        return not (self.doc_prevs[place] + self.doc_sha256s[place] + self.keys[place]).translate(None, _HEX_DIGITS)


class PageLines:
    """The one form of the lines of extracted pages without flags, in a log with this request id."""

    def __init__(self, request_id: str) -> None:
        number, hash_ = b"(?!0[0-9])[0-9]{1,15}", b'"(.{64})"'
        forms = {
            "attempt": number,
            "chars": number,
            "doc_id": rb'"D([0-9]{7}|[1-9][0-9]{7,11})"',
            "doc_prev": hash_,
            "doc_sha256": hash_,
            "dur_ms": number,
            "event": b'"EXTRACTED"',
            "key": hash_,
            "method": b'"(?:' + "|".join(Method).encode() + b')"',
            "mono_ms": number,
            "page": b"(" + number + b")",
            "prev": hash_,
            "request_id": re.escape(json.dumps(request_id, ensure_ascii=False).encode()),
            "run": b"(" + number,
            "seq": number + b")",
            "text_sha256": b'"(.{64}"',
            "trace_id": b'".{32})"',
            "ts": b'"(.{32})"',
            "v": b"1",
        }
        fields = b",".join(b'"%s":%s' % (name.encode(), form) for name, form in forms.items())
        # With DOTALL, `.{64}` is one step instead of 64. That no newline is among them follows from the numbers of
        # lines and of matches.
        self._find = re.compile(rb"^\{" + fields + rb"\}$", re.MULTILINE | re.DOTALL).findall

    def columns(self, lines: Sequence[bytes]) -> PageColumns | None:
        """Return the fields of some lines, or None where one of them does not have this form.

        Args:
            lines: At least one line.
        """
        block = b"\n".join(lines)
        if block.count(b"\n") != len(lines) - 1:  # a newline within a line would make it look like two
            return None
        found = self._find(block)
        if len(found) != len(lines):
            return None
        doc_ids, doc_prevs, sha256s, keys, pages, prevs, places, hashes, times = zip(*found, strict=True)
        # A pattern looks at digit by digit; this is several times as fast. Nothing but the name between may be left.
        if len(b"".join(hashes).translate(None, _HEX_DIGITS)) != len(hashes) * _NOT_HEX_DIGITS:
            return None
        if not all(is_timestamp(moment.decode("latin-1")) for moment in set(times)):
            return None
        return PageColumns(
            doc_ids=doc_ids,
            doc_prevs=doc_prevs,
            doc_sha256s=sha256s,
            keys=keys,
            pages=pages,
            prevs=prevs,
            places=places,
        )
