"""The boxes of a page's blocks of text, read where MuPDF keeps them.

Its Python objects cost some ten microseconds a block, a twelfth of all the time that a page takes. So the blocks are
read out of memory, by the one shape that they have: where a block's box lies in it, and where its link to the next
one. That shape is not assumed: it is measured on a document of our own, with those very Python objects. Where it
cannot be measured without doubt, the objects are what is used.
"""

import ctypes
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.work.child import parser
from engine.work.child.specimen import specimen

Box = Sequence[float]
"""Left, top, right and bottom, in points."""

_LONGEST_BYTES = 256
"""A block is shorter; it lies in a pool of MuPDF's that is many times as large."""
_BOX_BYTES = struct.calcsize("4f")
_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)
_POINTER = "Q" if struct.calcsize("Q") == _POINTER_BYTES else "I"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockShape:
    """Where the fields of a block lie, in bytes from its beginning."""

    box_at: int
    next_at: int

    @classmethod
    def of(cls, page: Any) -> "BlockShape | None":
        """Return the shape of the blocks of a page that should have two, or None where it leaves room for doubt."""
        first = page.first_block
        second = None if first is None else first.next
        if second is None:
            return None
        start, after = _address(first), _address(second)
        raw = ctypes.string_at(start, _LONGEST_BYTES)
        box_at = _address(first.bbox) - start
        found = [at for at in range(0, _LONGEST_BYTES, _POINTER_BYTES) if raw.startswith(_pointer(after), at)]
        if len(found) != 1 or not 0 <= box_at <= found[0] - _BOX_BYTES:
            return None
        shape = cls(box_at=box_at, next_at=found[0])
        return shape if list(shape.boxes(page)) == list(boxes_by_objects(page)) else None

    def boxes(self, page: Any) -> Iterator[Box]:
        """Yield the boxes of the blocks of a page, in order."""
        read, memory = self._access()
        at = _first_address(page)
        while at:
            *box, at = read(memory(at))
            yield box

    def count_inside(self, page: Any, frame: Box) -> int | None:
        """Count the blocks of a page; None where not all are inside of a frame."""
        left, top, right, bottom = frame
        read, memory = self._access()
        at, count = _first_address(page), 0
        while at:  # going by `boxes` would take twice as long, and there are many
            x0, y0, x1, y1, at = read(memory(at))
            # Worded so that a number that is none fails.
            if not (x0 >= left and y0 >= top and x1 <= right and y1 <= bottom):
                return None
            count += 1
        return count

    def _access(self) -> tuple[Callable[[Any], tuple[Any, ...]], Callable[[int], Any]]:
        """Return what reads box and link out of memory, and what gives the memory at an address."""
        between = self.next_at - self.box_at - _BOX_BYTES
        fields = struct.Struct(f"={self.box_at}x4f{between}x{_POINTER}")
        return fields.unpack_from, (ctypes.c_char * fields.size).from_address


def count_inside(page: Any, frame: Box) -> int | None:
    """Count the blocks of a laid out page of `mupdf`, at the lower level; None where not all are inside of a frame."""
    return count_by_objects(page, frame) if _SHAPE is None else _SHAPE.count_inside(page, frame)


def count_by_objects(page: Any, frame: Box) -> int | None:
    """Count the same, by MuPDF's own objects."""
    left, top, right, bottom = frame
    inside = [x0 >= left and y0 >= top and x1 <= right and y1 <= bottom for x0, y0, x1, y1 in boxes_by_objects(page)]
    return len(inside) if all(inside) else None


def boxes_by_objects(page: Any) -> Iterator[Box]:
    """Yield the boxes of the blocks of a page, by MuPDF's own objects."""
    block = page.first_block
    while block is not None:
        box = block.bbox
        yield [box.x0, box.y0, box.x1, box.y1]
        block = block.next


def _first_address(page: Any) -> int:
    first = page.first_block
    return 0 if first is None else _address(first)


def _address(item: Any) -> int:
    return int(item.this)


def _pointer(address: int) -> bytes:
    return address.to_bytes(_POINTER_BYTES, sys.byteorder)


def measured_shape() -> BlockShape | None:
    """Measure the shape on a document of our own; None where there is no saying."""
    document = parser.open_pdf(specimen())
    try:
        found = parser.laid_out(parser.mupdf.fz_load_page(document.this, 0))
        return BlockShape.of(found.m_internal)
    finally:
        document.close()


_SHAPE = measured_shape()
