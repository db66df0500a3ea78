"""Reads lines of one form, many at a time: a record that is written in exactly this form needs no other look at it.

A form is stricter than what a record must be like: only plain texts, no number of more than 15 digits. So a line of
this form is one that `recordform` has nothing against, and no line is wrong for not having it. Which forms there are
is the business of `pagelines`. Needs nothing but the standard library.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

# Nothing that was matched is given back and tried in another way: it could not help, and takes a third of the time.
DIGITS: Final = rb"[0-9]{1,15}+"
"""Of a number that is compared with what it must be."""
NUMBER: Final = rb"(?!0[0-9])" + DIGITS
TEXT: Final = rb'"[^"\\\x00-\x1f]*+"'
"""Any text that is written without escapes; that the whole is UTF-8 is for the reader of the form to see to."""

_NEWLINE: Final = b"\n"[0]


def as_long_as(example: bytes) -> bytes:
    """Return a pattern of any bytes, as many as these; whatever they are must be compared with what it has to be.

    A pattern takes a step for every byte that it looks at, and one for all that it passes over.
    """
    return b".{%d}+" % len(example)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormRows:
    """What the lines of one form hold, and which lines do not have it."""

    columns: Sequence[Sequence[bytes]]
    """One for each group of the form's pattern, with one value for each line of this form."""
    places: Sequence[int]
    """Of the lines of this form, among all lines."""
    rest: bytes
    """The text of the other lines."""
    rest_places: Sequence[int]


class LineForm:
    """One form of lines.

    Args:
        fields: The pattern of each field's value, in the order in which records are written; or of its value and the
            fields after it. None may match a newline but what is compared by whoever uses the columns.
    """

    def __init__(self, fields: Mapping[str, bytes]) -> None:
        written = b",".join(b'"%s":%s' % (name.encode(), pattern) for name, pattern in fields.items())
        pattern = re.compile(rb"\{" + written + rb"\}\n", re.DOTALL)  # begins with plain bytes, which are found fast
        self._split, self._match = pattern.split, pattern.fullmatch
        self._width = pattern.groups + 1

    def read(self, text: bytes, places: Sequence[int]) -> FormRows:
        """Return what lines of this form hold.

        Args:
            text: Whole lines with their newlines.
            places: Of these lines.
        """
        pieces = self._split(text)
        gaps = pieces[:: self._width]
        own: list[int] = []
        others: list[int] = []
        last = line = 0
        for row in [row for row, gap in enumerate(gaps) if gap]:
            number = gaps[row].count(b"\n")
            if gaps[row][-1] != _NEWLINE:  # something of this form stands within a line
                return self._nothing(text, places)
            first = line + row - last
            own += places[line:first]
            line, last = first + number, row
            others += places[first:line]
        if line + len(gaps) - 1 - last != len(places):  # some of the bytes passed over reach into the next line
            return self._nothing(text, places)
        return FormRows(
            columns=[pieces[column :: self._width] for column in range(1, self._width)],
            places=[*own, *places[line:]] if others else places,
            rest=b"".join(gaps),
            rest_places=others,
        )

    def values(self, line: bytes) -> Sequence[bytes] | None:
        """Return what one line, given with its newline, holds; None where it has not this form."""
        found = self._match(line)
        return None if found is None else found.groups()

    def _nothing(self, text: bytes, places: Sequence[int]) -> FormRows:
        return FormRows(columns=[[]] * (self._width - 1), places=(), rest=text, rest_places=places)
