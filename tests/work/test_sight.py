"""What can be seen on a page: the same as from PyMuPDF's lists of all that is drawn, in less time."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from engine.work.child import parser
from engine.work.child.sight import shows_something
from tests.support.pdfs import PdfFile

WHITE, GREY = b"1 1 1 rg 1 1 1 RG ", b".9 .9 .9 rg .9 .9 .9 RG "
AREA, LINE = b"9 9 400 400 re f ", b"9 9 m 400 400 l S "
PICTURE = b"q 9 0 0 9 99 99 cm BI /W 1 /H 1 /CS/G /BPC 8 ID \xff EI Q "
STENCIL = b"q 9 0 0 9 99 99 cm BI /W 1 /H 1 /IM true ID \x00 EI Q "

NOTHING = (
    b"",
    b"BT /F1 12 Tf 72 700 Td (   ) Tj ET",
    b"BT /F1 12 Tf 7 7 Td (   ) Tj ET",  # where rounding gives it an extent, once the page is turned
    b"BT 3 Tr /F1 12 Tf 7 7 Td (   ) Tj ET",
    WHITE + AREA,
    WHITE + LINE,
    WHITE + b"9 9 400 400 re B ",
    WHITE + 1000 * AREA,
    WHITE + 1000 * LINE,
    b"0 0 0 0 k " + AREA,
    b"1 g " + AREA,
)
SOMETHING = (
    AREA,
    LINE,
    GREY + AREA,
    GREY + LINE,
    WHITE + 1001 * AREA,
    WHITE + AREA + GREY + AREA,
    WHITE + b"0 G 9 9 400 400 re B ",
    b"0 0 0 .1 k " + AREA,
    b".5 g " + AREA,
    b"BT /F1 12 Tf 72 700 Td (letters) Tj ET",
    b"BT 1 Tr /F1 12 Tf 72 700 Td (outlines) Tj ET",
    b"BT 3 Tr /F1 12 Tf 72 700 Td (not drawn) Tj ET",
    PICTURE,
    STENCIL,
    WHITE + AREA + PICTURE,
    b"/S sh ",
)
SHADE = (
    b"/Shading<</S<</ShadingType 2/ColorSpace/DeviceGray/Coords[0 0 9 9]"
    b"/Function<</FunctionType 2/Domain[0 1]/N 1>>>>>>"
)


def pages(contents: Sequence[bytes], entries: bytes = b"") -> Iterator[Any]:
    """Yield a page with each of these contents."""
    file = PdfFile()
    for content in contents:
        file.page(content, resources=SHADE, entries=entries)
    document = parser.open_pdf(file.to_bytes())
    for number in range(len(contents)):
        yield document.load_page(number)
    document.close()


def seen_in_lists(page: Any) -> bool:
    """Tell the same from PyMuPDF's lists of all that is drawn."""
    drawn = [
        kind
        for kind, (left, top, right, bottom) in page.get_bboxlog()
        if not kind.endswith("-text") or (right > left and bottom > top)
    ]
    if len(drawn) > 1000 or not {"fill-path", "stroke-path"}.issuperset(drawn):
        return True
    paths = page.get_cdrawings()
    colours = {colour for path in paths for colour in (path.get("fill"), path.get("color")) if colour is not None}
    return len(drawn) > sum(len(path["type"]) for path in paths) or not {(1.0, 1.0, 1.0)}.issuperset(colours)


@pytest.mark.parametrize("entries", [b"", b"/Rotate 90"], ids=["upright", "turned"])
def test_what_shows_is_what_is_drawn_and_not_white(entries: bytes) -> None:
    """White areas and blanks are nothing; pictures, shades, letters and anything that has a colour are something."""
    for contents, expected in ((NOTHING, False), (SOMETHING, True)):
        for content, page in zip(contents, pages(contents, entries), strict=True):
            assert shows_something(page) is expected, content
            assert seen_in_lists(page) is expected, content


def test_an_annotation_shows() -> None:
    """What is drawn on top of a page that is white itself counts."""
    note = b"/Annots[<</Type/Annot/Subtype/Square/Rect[9 9 99 99]/C[1 0 0]>>]"
    for page in pages([WHITE + AREA], note):
        assert shows_something(page)
        assert seen_in_lists(page)


def test_nothing_is_drawn_after_the_first_thing_that_shows() -> None:
    """Of what comes later nothing is read, so that nothing is complained of; of a white page everything is."""
    late = b"nonsense " * 3
    complaints = []
    for page in pages([AREA + late, WHITE + AREA + late]):
        parser.take_warnings()
        complaints.append((shows_something(page), "nonsense" in parser.take_warnings()))
    assert complaints == [(True, False), (False, True)]


def test_a_turned_page_stays_turned() -> None:
    """A page that is set upright to be looked at is left as it was found."""
    for page in pages([AREA, WHITE + AREA, b""], b"/Rotate 270"):
        shows_something(page)
        assert page.rotation == 270
