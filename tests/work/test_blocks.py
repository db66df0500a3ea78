"""Boxes of blocks read out of memory: what MuPDF's own objects say, and nothing where there is room for doubt."""

import ctypes
import math
import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.work.child import parser
from engine.work.child.blocks import BlockShape, boxes_by_objects, count_by_objects, count_inside, measured_shape
from tests.support.pdfs import PdfFile

POINTER = ctypes.sizeof(ctypes.c_void_p)


class Block:
    """A block of our own in memory that is laid out as it is told to be.

    Args:
        box: Its box.
        after: The block that follows, if one does.
        links_at: Where the address of that one stands.
        box_at: Where the box stands.
    """

    def __init__(self, box: tuple[float, ...], after: "Block | None", links_at: tuple[int, ...], box_at: int) -> None:
        self._memory = ctypes.create_string_buffer(256)
        self.this = ctypes.addressof(self._memory)
        self.next = after
        for at in links_at:
            address = 0 if after is None else after.this
            ctypes.memmove(self.this + at, address.to_bytes(POINTER, sys.byteorder), POINTER)
        struct.pack_into("4f", self._memory, box_at, *box)
        self.bbox = Box(self.this + box_at, box)


class Box:
    """A box as MuPDF's objects show it."""

    def __init__(self, address: int, box: tuple[float, ...]) -> None:
        self.this = address
        self.x0, self.y0, self.x1, self.y1 = box


class Page:
    """A page of two such blocks."""

    def __init__(self, *, links_at: tuple[int, ...], box_at: int) -> None:
        second = Block((5.0, 6.0, 7.0, 8.0), None, links_at, box_at)
        self.first_block: Block | None = Block((1.0, 2.0, 3.0, 4.0), second, links_at, box_at)


def pages(path: Path) -> Iterator[Any]:
    """Yield laid out pages with none, one and many blocks of text, some of them outside of the page."""
    dice = random.Random(4)  # noqa: S311  # repeatable pages, nothing secret
    file = PdfFile()
    font = file.add(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    for number in range(60):
        pieces = [
            b"BT /F1 %d Tf %d %d Td (piece %d) Tj ET"
            % (dice.randint(4, 30), dice.randint(-50, 600), dice.randint(-50, 800), piece)
            for piece in range(number)
        ]
        file.page(b"\n".join(pieces), resources=b"/Font<</F1 %d 0 R>>" % font)
    document = parser.open_pdf(str(file.write(path)))
    for number in range(document.page_count):
        yield parser.laid_out(parser.mupdf.fz_load_page(document.this, number)).m_internal
    document.close()


def test_memory_holds_what_the_objects_say(tmp_path: Path) -> None:
    """Of pages with up to 59 pieces of text every block is found, in order, with its very box."""
    shape = measured_shape()
    assert shape is not None
    counts = set()
    for page in pages(tmp_path / "pieces.pdf"):
        expected = list(boxes_by_objects(page))
        assert list(shape.boxes(page)) == expected
        counts.add(len(expected))
    assert {0, 1} < counts
    assert max(counts) > 20


def test_blocks_are_counted_where_all_are_inside_of_a_frame(tmp_path: Path) -> None:
    """Each edge of the frame matters; memory and objects say the same."""
    everywhere = (-1e6, -1e6, 1e6, 1e6)
    for page in pages(tmp_path / "pieces.pdf"):
        boxes = list(boxes_by_objects(page))
        assert count_inside(page, everywhere) == count_by_objects(page, everywhere) == len(boxes)
        if boxes:
            left, top, right, bottom = zip(*boxes, strict=True)
            tight = (min(left), min(top), max(right), max(bottom))
            assert count_inside(page, tight) == count_by_objects(page, tight) == len(boxes)
            for edge, inwards in enumerate((0.5, 0.5, -0.5, -0.5)):
                frame = [*tight[:edge], tight[edge] + inwards, *tight[edge + 1 :]]
                assert count_inside(page, frame) is count_by_objects(page, frame) is None


@pytest.mark.parametrize("place", range(4))
def test_a_box_with_a_number_that_is_none_is_not_inside(place: int) -> None:
    """Comparing with it says no, whichever edge it is of."""
    page = Page(links_at=(64,), box_at=8)
    box = [1.0, 2.0, 3.0, 4.0]
    box[place] = math.nan
    page.first_block = Block(tuple(box), None, (64,), 8)
    frame = (0.0, 0.0, 9.0, 9.0)
    assert BlockShape(box_at=8, next_at=64).count_inside(page, frame) is count_by_objects(page, frame) is None


def test_a_shape_is_measured_wherever_its_fields_lie() -> None:
    """Nothing about it is assumed but that the box comes before the link."""
    page = Page(links_at=(64,), box_at=8)
    assert BlockShape.of(page) == BlockShape(box_at=8, next_at=64)
    assert BlockShape.of(Page(links_at=(128,), box_at=60)) == BlockShape(box_at=60, next_at=128)


@pytest.mark.parametrize("blocks", [0, 1])
def test_a_page_without_two_blocks_gives_no_shape(blocks: int) -> None:
    """As a parser would that lays pages out in another way: the objects are used, and the worker starts."""
    page = Page(links_at=(64,), box_at=8)
    page.first_block = Block((1.0, 2.0, 3.0, 4.0), None, (64,), 8) if blocks else None
    assert BlockShape.of(page) is None


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(Page(links_at=(64, 96), box_at=8), id="two fields that could be the link"),
        pytest.param(Page(links_at=(), box_at=8), id="no link"),
        pytest.param(Page(links_at=(64,), box_at=60), id="a box over the link"),
        pytest.param(Page(links_at=(16,), box_at=32), id="a box behind the link"),
    ],
)
def test_a_shape_in_doubt_is_none(page: Page) -> None:
    """The objects are used then."""
    assert BlockShape.of(page) is None
