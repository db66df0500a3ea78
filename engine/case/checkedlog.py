"""What is remembered of a log while it is checked: its open documents, which have ended, and the sums.

Needs nothing but the standard library. What the records must be like is the business of `chaincheck`.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final


class Bits:
    """A set of whole numbers from 0, one bit each where they stand close together."""

    def __init__(self) -> None:
        self._chunks: dict[int, int] = {}
        self.count = 0

    def add(self, number: int) -> bool:
        """Add a number; return whether it is new."""
        chunk, bit = number >> 8, 1 << (number & 255)
        bits = self._chunks.get(chunk, 0)
        if bits & bit:
            return False
        self._chunks[chunk] = bits | bit
        self.count += 1
        return True

    def add_run(self, first: int, number: int) -> bool:
        """Add so many numbers in a row if all of them are new; return whether they were."""
        chunk, low = divmod(first, 256)
        if low + number <= 256:  # nearly always
            bits, mask = self._chunks.get(chunk, 0), ((1 << number) - 1) << low
            if bits & mask:
                return False
            self._chunks[chunk] = bits | mask
            self.count += number
            return True
        masks, stop = [], first + number
        while first < stop:
            chunk, low = divmod(first, 256)
            width = min(256 - low, stop - first)
            masks.append((chunk, ((1 << width) - 1) << low))
            first += width
        if any(self._chunks.get(chunk, 0) & mask for chunk, mask in masks):
            return False
        for chunk, mask in masks:
            self._chunks[chunk] = self._chunks.get(chunk, 0) | mask
        self.count += number
        return True

    @property
    def highest(self) -> int:
        """The highest number, 0 where there is none."""
        chunk = max(self._chunks, default=0) if len(self._chunks) != 1 else next(iter(self._chunks))
        return (chunk << 8) + max(self._chunks.get(chunk, 0).bit_length() - 1, 0)

    def __contains__(self, number: int) -> bool:
        return bool(self._chunks.get(number >> 8, 0) & (1 << (number & 255)))


Content = tuple[bytes, bytes]
"""Hash and key of a document's bytes; empty where they were never read."""

NO_CONTENT: Final = (b"", b"")


@dataclass(slots=True)
class OpenDocument:
    """A document that has records and no end yet."""

    last: bytes
    """Hash of its last record, as hexadecimal digits, like all hashes here."""
    content: Content = NO_CONTENT
    pages: Bits = field(default_factory=Bits)
    extracted: int = 0
    dead_letter: int = 0
    duplicate: int = 0


@dataclass(slots=True)
class Tallies:
    """What the records add up to."""

    documents: Counter[str] = field(default_factory=Counter)
    """Ended documents by outcome."""
    pages: Counter[str] = field(default_factory=Counter)
    """Pages by outcome."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Dead letters by reason, documents that could not be opened included."""
    skipped: int = 0
    documents_stated: int = 0
    """Documents enumerated, as the last RECONCILED record states."""
    pages_stated: int = 0
    is_reconciled: bool = False
    """Whether the last RECONCILED record says that everything was accounted for."""
