"""The write-ahead log beside a case, frame by frame and without SQLite: whether SQLite reads all that counts in it.

After a crash, SQLite takes the log up to the first frame whose checksum is wrong, and says nothing about what follows.
Mostly nothing does: the end of the last transaction did not reach the disk. But a bit that turned makes it drop
transactions that were acknowledged, and the rest of the log still shows them: each commit is synced before the next
transaction begins, so that what follows a commit proves it. Only of the last transaction may any part be missing.

Frames of earlier rounds, behind those of the present one, are old news: all of them are in the case file.
The form of the log is that of SQLite's file format. The rows in its pages are the business of `rawrows`.
"""

import errno
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from io import BufferedReader
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final

from engine.case.storage import PAGE_BYTES, log_of

HEADER_BYTES: Final = 32
FRAME_HEADER_BYTES: Final = 24

_HEADER: Final = struct.Struct(">IIIIIIII")
_FRAME_HEADER: Final = struct.Struct(">IIIIII")
_SUMMED: Final = 8
"""Bytes at the beginning of a frame that its checksum covers, beside the page."""
_SUMS_AT: Final = 16
_ORDERS: Final = {0x377F0682: "<", 0x377F0683: ">"}
_VERSION: Final = 3007000
_SMALLEST_PAGE: Final = 512
_LARGEST_PAGE: Final = 65536
_SECTOR_BYTES: Final = 512
_FRAMES_GUESSED_BY: Final = 16
_MASK: Final = 0xFFFFFFFF

Sums = tuple[int, int]
"""A checksum."""


class LogFinding(Enum):
    """What a look at a write-ahead log found."""

    EMPTY = "There is none, or nothing was ever recorded in it."
    READABLE = "SQLite reads all of it that was acknowledged, as far as the log itself can tell."
    DAMAGED = "SQLite would leave out what was acknowledged."


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One page in the log."""

    index: int
    """Its place, from 0."""
    number: int
    """The page's number in the file, from 1."""
    is_commit: bool
    """Whether it states that a transaction ends with it."""
    is_present: bool
    """Whether it states that it belongs to the log's present round."""
    salt_bits: int
    """In how many bits what it states of its round differs."""
    is_linked: bool
    """Whether its checksum follows from the one that the frame before it states. Not asked far from the round."""
    is_read: bool
    """Whether it and all before it are linked and present, so that SQLite reads it."""
    data: bytes
    before: Sums
    """The checksum that the frame before it states."""


class LogFrames:
    """Reads the frames of a log, one after the other.

    Where the log's header is damaged, what it said is guessed from the frames.

    Args:
        file: The log, open for reading.

    Raises:
        OSError: When it cannot be read.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        header = file.read(HEADER_BYTES).ljust(HEADER_BYTES, b"\0")
        magic, version, page_bytes, _, *salts, first, second = _HEADER.unpack(header)
        self._order = _ORDERS.get(magic, "")
        self._salts = tuple(salts)
        self._sums = first, second
        is_size = _SMALLEST_PAGE <= page_bytes <= _LARGEST_PAGE and not page_bytes & (page_bytes - 1)
        is_known = bool(self._order) and version == _VERSION and is_size
        self.is_header_sound = is_known and checksum(header[: _HEADER.size - 8], self._order) == self._sums
        """Whether SQLite takes what the header says."""
        self.page_bytes: int = page_bytes if self.is_header_sound else PAGE_BYTES
        """Size of the pages."""
        if not self.is_header_sound:
            self._guess()

    @property
    def frame_bytes(self) -> int:
        """Size of a frame."""
        return FRAME_HEADER_BYTES + self.page_bytes

    def __iter__(self) -> Iterator[Frame]:
        self._file.seek(HEADER_BYTES)
        sums, index, is_read, was_present = self._sums, 0, self.is_header_sound, True
        while len(data := self._file.read(self.frame_bytes)) == self.frame_bytes:
            number, committed, *salts, first, second = _FRAME_HEADER.unpack_from(data)
            salt_bits = sum((one ^ other).bit_count() for one, other in zip(salts, self._salts, strict=True))
            is_present = not salt_bits
            # A frame of another round is asked, too, where it follows one of this: its salts may be what is wrong.
            is_linked = (is_present or was_present) and self.sums(data, sums) == (first, second)
            is_read = is_read and is_present and is_linked
            yield Frame(
                index=index,
                number=number,
                is_commit=committed != 0,
                is_present=is_present,
                salt_bits=salt_bits,
                is_linked=is_linked,
                is_read=is_read,
                data=data,
                before=sums,
            )
            sums, index, was_present = (first, second), index + 1, is_present or is_linked

    def sums(self, frame: bytes, before: Sums) -> Sums:
        """Return the checksum of a frame that follows on one with that checksum."""
        return checksum(frame[FRAME_HEADER_BYTES:], self._order, checksum(frame[:_SUMMED], self._order, before))

    def turned_bits(self, frame: Frame) -> Iterator[int]:
        """Yield the bytes of a frame in one of which a bit must be turned for its checksum to be right.

        Several where it cannot be told which: of the upper bits of a number the checksum keeps little.
        """
        found = self.sums(frame.data, frame.before)
        stated: Sums = struct.unpack_from(">II", frame.data, _SUMS_AT)
        if sum((one ^ other).bit_count() for one, other in zip(found, stated, strict=True)) == 1:
            yield _SUMS_AT
        wanted = (stated[0] - found[0]) & _MASK, (stated[1] - found[1]) & _MASK
        summed = frame.data[:_SUMMED] + frame.data[FRAME_HEADER_BYTES:]
        words = struct.unpack(f"{self._order}{len(summed) // 4}I", summed)
        for at, (word, (first, second)) in enumerate(zip(words, _weights(len(words)), strict=True)):
            for bit in range(32):
                change = -1 << bit if word >> bit & 1 else 1 << bit
                if (first * change & _MASK, second * change & _MASK) == wanted:
                    byte = at * 4 + (bit // 8 if self._order == "<" else 3 - bit // 8)
                    yield byte if byte < _SUMMED else byte - _SUMMED + FRAME_HEADER_BYTES

    def _guess(self) -> None:
        """Take salts and byte order from the first frames, which are those of the present round."""
        frames: list[bytes] = []
        while len(frames) < _FRAMES_GUESSED_BY and len(data := self._file.read(self.frame_bytes)) == self.frame_bytes:
            frames.append(data)
        salts: list[tuple[int, ...]] = [_FRAME_HEADER.unpack_from(data)[2:4] for data in frames]
        pairs = [one for one, other in pairwise(salts) if one == other]
        self._salts = next(iter(pairs or salts), self._salts)

        def links(order: str) -> int:
            self._order = order
            return sum(
                self.sums(data, _FRAME_HEADER.unpack_from(before)[4:]) == _FRAME_HEADER.unpack_from(data)[4:]
                for before, data in pairwise(frames)
            )

        self._order = max(_ORDERS.values(), key=links)


def open_log(case: Path) -> BufferedReader | None:
    """Open the log beside a case for reading; None where there is none.

    Raises:
        OSError: When it cannot be read.
    """
    log = log_of(case)
    try:
        if not stat.S_ISREG(log.stat().st_mode):  # to open a pipe would wait for its other end
            raise OSError(errno.EINVAL, "it is no ordinary file")
        return log.open("rb")
    except FileNotFoundError:
        return None


def look_at_log(case: Path) -> LogFinding:
    """Look at the write-ahead log beside a case to which nobody writes meanwhile; nothing is written.

    Args:
        case: The case file.

    Raises:
        OSError: When the log cannot be read.
    """
    file = open_log(case)
    if file is None:
        return LogFinding.EMPTY
    with file:
        frames = LogFrames(file)
        if not frames.is_header_sound:
            # It is synced before the first frame is written, and one sector of a disk is written whole or not at all.
            return LogFinding.DAMAGED if any(any(frame.data) for frame in frames) else LogFinding.EMPTY
        return LogFinding.DAMAGED if _leaves_out(frames, case) else LogFinding.READABLE


def _leaves_out(frames: LogFrames, case: Path) -> bool:
    """Whether there are signs that a transaction that SQLite leaves out was acknowledged.

    Frames that link to one another were written one after the other. Where one follows a commit among them, that
    commit was synced. Where one transaction seems to hold a page twice, it is two, of which the first was. (Its last
    page it may hold twice, where it was too large for the memory.) And one turned bit is nothing that a power failure
    leaves behind. Frames of transactions that failed may stand behind the last good one, though never so.
    """
    first_bad: Frame | None = None
    pages: set[int] = set()
    """Of the transaction that the frames are of."""
    is_committed = is_twice = ends = False
    for frame in frames:
        if frame.is_read:
            pages.add(frame.number)
            if frame.is_commit:
                pages.clear()
        elif frame.is_linked and frame.salt_bits == 1:
            return True  # its checksum, which a frame of another round could not have, knows the round better
        elif first_bad is None:
            first_bad = frame
        elif not frame.is_linked:
            pages.clear()
            is_committed = is_twice = False
        elif is_committed or (frame.is_commit and is_twice):
            return True
        else:
            is_committed = frame.is_commit
            ends = ends or is_committed
            is_twice = is_twice or frame.number in pages
            pages.add(frame.number)
    if first_bad is None or not first_bad.is_present:
        return False
    return (ends or first_bad.is_commit) and _is_turned(frames, first_bad, case)


def _is_turned(frames: LogFrames, frame: Frame, case: Path) -> bool:
    """Whether one bit of a frame was turned, and not a sector of it left as it was before: as in the case, or zeros."""
    turned = list(frames.turned_bits(frame))
    if not turned:
        return False
    with case.open("rb") as file:
        file.seek((frame.number - 1) * frames.page_bytes)
        before = bytes(FRAME_HEADER_BYTES) + file.read(frames.page_bytes)
    start = HEADER_BYTES + frame.index * frames.frame_bytes

    def may_be_old(byte: int) -> bool:
        if byte < _SUMMED:  # it may be all of the frame that stands in its sector
            return (start + _SUMMED) % _SECTOR_BYTES == 0
        begin = (start + byte) // _SECTOR_BYTES * _SECTOR_BYTES - start
        sector = slice(max(begin, FRAME_HEADER_BYTES), begin + _SECTOR_BYTES)
        found = frame.data[sector]
        return byte >= FRAME_HEADER_BYTES and (found == before[sector] or not any(found))

    return not all(may_be_old(byte) for byte in turned)


def checksum(data: bytes, order: str, before: Sums = (0, 0)) -> Sums:
    """Return SQLite's checksum of some data.

    Args:
        data: A multiple of 8 bytes.
        order: The order of the bytes in a number, as `struct` writes it.
        before: The checksum that it goes on from.
    """
    first, second = before
    for one, other in struct.iter_unpack(f"{order}II", data):
        first = (first + one + second) & _MASK
        second = (second + other + first) & _MASK
    return first, second


@cache
def _weights(words: int) -> tuple[Sums, ...]:
    """Return how often each of so many numbers counts in the two halves of their checksum."""
    weights: list[Sums] = []
    one, other = (1, 1), (0, 1)
    for _ in range(0, words, 2):
        weights += other, one
        one, other = (
            ((one[0] + one[1]) & _MASK, (one[0] + 2 * one[1]) & _MASK),
            ((other[0] + other[1]) & _MASK, (other[0] + 2 * other[1]) & _MASK),
        )
    return tuple(reversed(weights))
