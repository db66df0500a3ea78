"""The rows of an SQLite file read page by page, without SQLite: what is left to read of a file that SQLite refuses.

Covers the form of the file and of its write-ahead log: pages, the cells of table leaves, overflowing values. What a
row means is the business of `salvage`. Every page that looks like a leaf of a table or a
page of an index is read, whether or not the way to
it from the file's beginning is still there, and so are older versions of pages that still stand in the log: a row says
nothing about whether it holds, and whoever uses one must be able to tell.

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
_LOG_HEADER: Final = struct.Struct(">IIIIIIII")
_LOG_MAGIC: Final = {0x377F0682: "<", 0x377F0683: ">"}
_FRAME_HEADER: Final = struct.Struct(">IIIIII")
_FRAME_BYTES: Final = _FRAME_HEADER.size + PAGE_BYTES
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
            self._latest: dict[int, int] = {}
            self.frames = 0
            """Pages in the write-ahead log that belong to its present round."""
            self.is_log_whole = True
            """Whether SQLite reads all of that round, so that nothing in it is lost to it."""
            log = Path(os.path.realpath(path) + "-wal")
            if log.exists():
                self._log = log.open("rb")
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
        """Yield every row that can be read: the file's first, then those of the log, the latest last.

        Raises:
            OSError: When the disk fails.
        """
        for image in range(self.pages + self.frames):
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
        """Return the latest version of a page, by its number from 1."""
        frame = self._latest.get(number)
        if frame is not None:
            return self._image(self.pages + frame)
        if not 1 <= number <= self.pages:
            raise _NoRowError
        return self._image(number - 1)

    def _image(self, image: int) -> bytes:
        if image < self.pages:
            file, offset = self._file, image * PAGE_BYTES
        else:
            assert self._log is not None  # noqa: S101  # it has no frames otherwise
            file, offset = self._log, _LOG_HEADER.size + (image - self.pages) * _FRAME_BYTES + _FRAME_HEADER.size
        file.seek(offset)
        return file.read(PAGE_BYTES)

    def _read_log(self, log: BufferedReader) -> None:
        """Find the frames of the log's present round; those up to its last commit give the latest pages.

        A frame whose checksum fails ends what SQLite would read. What follows is read as rows all the same, since it
        may be whole.
        """
        header = log.read(_LOG_HEADER.size)
        if not header:
            return
        self.is_log_whole = False
        if len(header) != _LOG_HEADER.size:
            return
        magic, _, page_bytes, _, *salts, first, second = _LOG_HEADER.unpack(header)
        order = _LOG_MAGIC.get(magic)
        if order is None or page_bytes != PAGE_BYTES:
            return
        sums = _checksum(header[:24], order, (0, 0))
        is_header_sound = sums == (first, second)
        is_sound, uncommitted = True, dict[int, int]()
        while len(frame := log.read(_FRAME_BYTES)) == _FRAME_BYTES:
            number, committed, *salt, first, second = _FRAME_HEADER.unpack_from(frame)
            if salt != salts:
                break
            if is_sound:
                sums = _checksum(frame[_FRAME_HEADER.size :], order, _checksum(frame[:8], order, sums))
                is_sound = sums == (first, second)
            if is_sound:
                uncommitted[number] = self.frames
                if committed:
                    self._latest.update(uncommitted)
                    uncommitted.clear()
            self.frames += 1
        # What follows is of an earlier round, unless the frame that seemed to end this one was damaged.
        is_whole = is_header_sound and is_sound and not uncommitted
        while is_whole and len(frame) == _FRAME_BYTES:
            frame = log.read(_FRAME_BYTES)
            is_whole = not frame or list(_FRAME_HEADER.unpack_from(frame.ljust(_FRAME_BYTES))[2:4]) != salts
        self.is_log_whole = is_whole and not frame


def _checksum(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    for one, other in struct.iter_unpack(f"{order}II", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


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
