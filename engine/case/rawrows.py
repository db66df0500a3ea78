"""The rows of an SQLite file read page by page, without SQLite: what is left to read of a file that SQLite refuses.

Covers the form of the file: pages, the cells of table leaves, overflowing values. That of the write-ahead log is in
`logframes`; what a row means is the business of `salvage`. Every page that looks like a leaf of a table or a page of
an index is read, whether or not the way to it from the file's beginning is still there, and so is every page in the
log, older versions and those that SQLite would leave out: a row says nothing about whether it holds, and whoever uses
one must be able to tell.

Only files with pages of `PAGE_BYTES` are read, as all cases have. The files are opened for reading and nothing else.
"""

import hashlib
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final, Self

from engine.case.logframes import FRAME_HEADER_BYTES, HEADER_BYTES, LogFrames, open_log
from engine.case.storage import PAGE_BYTES

LONGEST_ROW: Final = 64 * 1024 * 1024
"""Bytes; a length beyond it was never written by this program."""

Field = int | float | bytes | str | None
"""A value; texts are given as `Text`, since their bytes may no longer be UTF-8."""

_TABLE_LEAF: Final = 0x0D
_INDEX_LEAF: Final = 0x0A
_INDEX_INTERIOR: Final = 0x02
_CELLS_FROM: Final = {_TABLE_LEAF: 8, _INDEX_LEAF: 8, _INDEX_INTERIOR: 12}
_CHILD_BYTES: Final = {_TABLE_LEAF: 0, _INDEX_LEAF: 0, _INDEX_INTERIOR: 4}
_SMALLEST_CELL: Final = 4
_FRAME_BYTES: Final = FRAME_HEADER_BYTES + PAGE_BYTES
_INTEGER_BYTES: Final = (0, 1, 2, 3, 4, 6, 8)


class Text(bytes):
    """The bytes of a text, which may be damaged."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of some table."""

    at: int
    """Where it stands; `RawRows.row` gives it again."""
    rowid: int | None
    """None where it is an entry of an index, which repeats some values of a row."""
    values: tuple[Field, ...]


class _NoRowError(Exception):
    """What stands there is no row."""


class RawRows:
    """Reads the rows of one file and of the write-ahead log beside it.

    Args:
        path: The file.

    Raises:
        OSError: When it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file: BufferedReader = path.open("rb")
        self._log: BufferedReader | None = None
        try:
            self.pages = os.fstat(self._file.fileno()).st_size // PAGE_BYTES
            """Whole pages in the file."""
            self._older: list[int] = []
            """Frames of the write-ahead log that belong to earlier rounds."""
            self._newer: list[int] = []
            """Those that belong to its present round."""
            # The last frame of each page: among those that SQLite reads, those that link to the one before, and others.
            self._latest: dict[int, int] = {}
            self._linked: dict[int, int] = {}
            self._unlinked: dict[int, int] = {}
            self.is_log_whole = True
            """Whether SQLite reads all of that round, so that nothing in it is lost to it."""
            self._log = open_log(path)
            if self._log is not None:
                self._read_log(self._log)
        except BaseException:  # whatever ends it: no file stays open
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        self._file.close()
        if self._log is not None:
            self._log.close()

    def digest(self) -> str:
        """Return the SHA-256 of the file, the log beside it left out."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").hexdigest()

    def rows(self) -> Iterator[Row]:
        """Yield every row that can be read, older ones first: of earlier rounds of the log, of the file, of the log.

        Raises:
            OSError: When the disk fails.
        """
        for image in range(len(self._older) + self.pages + len(self._newer)):
            page = self._image(image)
            if page[0] not in _CELLS_FROM:
                continue
            (count,) = struct.unpack_from(">H", page, 3)
            for cell in range(min(count, PAGE_BYTES // _SMALLEST_CELL)):
                row = self._row(page, image, cell)
                if row is not None:
                    yield row

    def row(self, at: int) -> Row | None:
        """Return the row at a place that `rows` gave, or None where there is none."""
        image, cell = divmod(at, PAGE_BYTES)
        return self._row(self._image(image), image, cell)

    def _row(self, page: bytes, image: int, cell: int) -> Row | None:
        kind = page[0]
        try:
            (start,) = struct.unpack_from(">H", page, _CELLS_FROM[kind] + 2 * cell)
            length, start = _varint(page, start + _CHILD_BYTES[kind])
            rowid = None
            if kind == _TABLE_LEAF:
                rowid, start = _varint(page, start)
            if length > LONGEST_ROW:
                return None
            values = _values(self._payload(page, start, length, _local_bytes(length, is_index=rowid is None)))
        except (_NoRowError, struct.error, IndexError):
            return None
        return Row(at=image * PAGE_BYTES + cell, rowid=None if rowid is None else _signed(rowid), values=values)

    def _payload(self, page: bytes, start: int, length: int, local: int) -> bytes:
        found = [page[start : start + local]]
        if len(found[0]) != local:
            raise _NoRowError
        left = length - local
        number = struct.unpack_from(">I", page, start + local)[0] if left else 0
        while left:
            page = self._page(number)
            (number,) = struct.unpack_from(">I", page)
            found.append(page[4 : 4 + left])
            left -= len(found[-1])
        return b"".join(found)

    def _page(self, number: int) -> bytes:
        """Return a page that holds the rest of a long value, by its number from 1: the version that is likeliest whole.

        Such a page is not written again as long as the value is there.
        """
        frame = self._latest.get(number, self._linked.get(number))
        if frame is not None:
            return self._logged(frame)
        if 1 <= number <= self.pages:
            return self._image(len(self._older) + number - 1)
        if number in self._unlinked:
            return self._logged(self._unlinked[number])
        raise _NoRowError

    def _image(self, image: int) -> bytes:
        number = image - len(self._older)
        if 0 <= number < self.pages:
            self._file.seek(number * PAGE_BYTES)
            return self._file.read(PAGE_BYTES)
        return self._logged(self._older[image] if number < 0 else self._newer[number - self.pages])

    def _logged(self, frame: int) -> bytes:
        """Return the page in a frame of the log."""
        assert self._log is not None  # noqa: S101  # it has no frames otherwise
        self._log.seek(HEADER_BYTES + frame * _FRAME_BYTES + FRAME_HEADER_BYTES)
        return self._log.read(PAGE_BYTES)

    def _read_log(self, log: BufferedReader) -> None:
        """Sort the frames of the log: those of earlier rounds, and of the present one those that SQLite reads.

        Whatever else is there is read as rows all the same. Which round is the present one is guessed where the log's
        header is damaged; a frame that links to the one before it belongs to it, whatever its own salts say.
        """
        frames = LogFrames(log)
        if frames.page_bytes != PAGE_BYTES:
            self.is_log_whole = False
            return
        size, uncommitted = os.fstat(log.fileno()).st_size, dict[int, int]()
        is_whole = not size or (frames.is_header_sound and (size - HEADER_BYTES) % _FRAME_BYTES == 0)
        for frame in frames:
            if not (frame.is_present or frame.is_linked):
                self._older.append(frame.index)
                continue
            self._newer.append(frame.index)
            if frame.is_read:
                uncommitted[frame.number] = frame.index
                if frame.is_commit:
                    self._latest.update(uncommitted)
                    uncommitted.clear()
                continue
            is_whole = False
            (self._linked if frame.is_linked else self._unlinked)[frame.number] = frame.index
        self._unlinked.update(uncommitted)
        self.is_log_whole = is_whole and not uncommitted


def _local_bytes(length: int, *, is_index: bool) -> int:
    """Return how much of a row of so many bytes stands in its own page; the rest is in overflow pages."""
    most = (PAGE_BYTES - 12) * 64 // 255 - 23 if is_index else PAGE_BYTES - 35
    if length <= most:
        return length
    least = (PAGE_BYTES - 12) * 32 // 255 - 23
    some = least + (length - least) % (PAGE_BYTES - 4)
    return some if some <= most else least


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return the number at a place, and the place behind it."""
    number = 0
    for position in range(start, start + 8):
        byte = data[position]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, position + 1
    return number << 8 | data[start + 8], start + 9


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _values(payload: bytes) -> tuple[Field, ...]:
    end, start = _varint(payload, 0)
    values: list[Field] = []
    place = end
    while start < end:
        kind, start = _varint(payload, start)
        value, place = _value(payload, kind, place)
        values.append(value)
    if place != len(payload):
        raise _NoRowError
    return tuple(values)


def _value(payload: bytes, kind: int, place: int) -> tuple[Field, int]:
    if kind >= 12:
        end = place + (kind - 12) // 2
        if end > len(payload):
            raise _NoRowError
        data = payload[place:end]
        return (Text(data) if kind & 1 else data), end
    if kind <= 6:
        end = place + _INTEGER_BYTES[kind]
        return (int.from_bytes(payload[place:end], signed=True) if kind else None), end
    if kind == 7:
        return struct.unpack_from(">d", payload, place)[0], place + 8
    if kind in (8, 9):
        return kind - 8, place
    raise _NoRowError
