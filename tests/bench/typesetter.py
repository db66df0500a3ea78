"""Sets the benchmark's documents; a program of its own, since it loads MuPDF.

Run as `python -m tests.bench.typesetter FOLDER` with the plan as JSON on its standard input. The pages are set as the
programs that people use set them: fonts are embedded, letters are named by code or by glyph, lines are justified by
word spaces or word by word, and the first line of a page has a font of its own. The same plan gives the same bytes.
What the plan is made of is the business of `documents`.
"""

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# PyMuPDF would otherwise load a layout model that is not used here, which takes three times its memory.
for name in ("onnxruntime", "pymupdf4llm", "pymupdf.layout"):
    sys.modules[name] = None  # type: ignore[assignment]  # this is how a module is marked as not to be had

import pymupdf  # noqa: E402  # only once the marks above are set

from engine.sample.prose import Lines, Prose  # noqa: E402  # as above

_LEFT_PT, _TOP_PT, _LEADING = 60, 780, 1.32
_PICTURE_WIDTH = 512
_PAGES_A_KNOT = 64
_LETTERS = "".join(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0x100))))
_WRITERS: tuple[Callable[[Prose, int], Iterator[Lines]], ...] = (
    lambda prose, pages: prose.review("Report of the works department", pages),
    Prose.minutes,
    Prose.letter,
    lambda prose, pages: prose.review("Survey of the water supply", pages),
    Prose.ledger,
    Prose.inspection,
)


def main(folder: Path) -> None:
    """Set every document of the plan."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    for number, planned in enumerate(json.load(sys.stdin.buffer)):
        write_document(folder / planned["path"], planned["pages"], planned["picture_bytes"], number)


def write_document(path: Path, pages: int, picture_bytes: int, number: int) -> None:
    """Write one document.

    Args:
        path: The file.
        pages: How many pages it has.
        picture_bytes: About how many bytes of each page are a picture.
        number: Its place in the plan, which says what kind of text it holds.
    """
    dice = random.Random(path.name)  # noqa: S311  # repeatable filler, nothing secret
    document = pymupdf.open()
    layout = Layout(document, dice)
    leaves: list[str] = []
    for lines in _WRITERS[number % len(_WRITERS)](Prose(path.name), pages):
        content, resources = layout.content(lines), layout.fonts
        if picture_bytes:
            content += b"q 120 0 0 60 400 20 cm /Im Do Q\n"
            resources += f"/XObject<</Im {_picture(document, dice, picture_bytes)} 0 R>>"
        leaves.append(f"/Contents {_stream(document, '', content)} 0 R/Resources<<{resources}>>")
    _bind(document, leaves)
    document.save(path, no_new_id=True, use_objstms=number % 2)
    document.close()


def _bind(document: Any, leaves: Sequence[str]) -> None:
    """Make pages and hang them into a tree, some dozens at a knot.

    By hand, since MuPDF looks through the whole tree for each page that is added.
    """
    root = int(document.xref_get_key(document.pdf_catalog(), "Pages")[1].split()[0])
    knots = []
    for start in range(0, len(leaves), _PAGES_A_KNOT):
        knot, kids = document.get_new_xref(), []
        for leaf in leaves[start : start + _PAGES_A_KNOT]:
            kids.append(document.get_new_xref())
            document.update_object(kids[-1], f"<</Type/Page/Parent {knot} 0 R/MediaBox[0 0 595 842]{leaf}>>")
        document.update_object(knot, f"<</Type/Pages/Parent {root} 0 R/Count {len(kids)}/Kids[{_references(kids)}]>>")
        knots.append(knot)
    document.update_object(root, f"<</Type/Pages/Count {len(leaves)}/Kids[{_references(knots)}]>>")


def _references(xrefs: Sequence[int]) -> str:
    return " ".join(f"{xref} 0 R" for xref in xrefs)


def _stream(document: Any, entries: str, data: bytes, *, compress: bool = True) -> int:
    """Add a stream and return its number."""
    xref: int = document.get_new_xref()
    document.update_object(xref, f"<<{entries}>>")
    document.update_stream(xref, data, compress=compress)
    return xref


class Layout:
    """How one document looks, by the dice.

    Args:
        document: The document, still empty; fonts come in by way of a page, which is replaced afterwards.
        dice: Decides.
    """

    def __init__(self, document: Any, dice: random.Random) -> None:
        self._by_glyph = dice.random() < 0.5
        self._style = dice.choice(("lines", "spaced", "words"))
        self._size_pt = dice.choice((10.0, 10.5, 11.0))
        body = dice.choice(("tiro", "tiro", "helv"))
        first = document.new_page()
        references, self._glyphs = [], list[dict[int, str]]()
        for number, face in enumerate((body, "hebo" if body == "helv" else "tibo"), 1):
            font = pymupdf.Font(face)
            xref = first.insert_font(fontname=f"F{number}", fontbuffer=font.buffer, set_simple=not self._by_glyph)
            references.append(f"/F{number} {xref} 0 R")
            self._glyphs.append({ord(letter): f"{font.has_glyph(ord(letter)):04x}" for letter in _LETTERS})
        self.fonts = f"/Font<<{''.join(references)}>>"
        """The fonts, as part of a page's resources."""

    def content(self, lines: Sequence[str]) -> bytes:
        """Return the content stream of a page."""
        leading_pt = self._size_pt * _LEADING
        parts = [b"BT /F2 %g Tf %d %d Td %g TL\n" % (self._size_pt + 1, _LEFT_PT, _TOP_PT, leading_pt)]
        parts += [self._string(lines[0], heading=True), b"Tj /F1 %g Tf T*\n" % self._size_pt]
        parts += [self._line(line) if line else b"T*\n" for line in lines[1:]]
        return b"".join(parts) + b"ET\n"

    def _line(self, line: str) -> bytes:
        """Return the operators that show one line and go to the next."""
        words = line.split(" ")
        if self._style == "words" and len(words) > 1:
            space = b"%d" % (-250 - len(line) % 60)
            return b"[%b]TJ T*\n" % space.join(map(self._string, words))
        if self._style == "spaced":
            return b"%g Tw %b Tj 0 Tw T*\n" % (len(line) % 9 / 10, self._string(line))
        return b"%b Tj T*\n" % self._string(line)

    def _string(self, text: str, *, heading: bool = False) -> bytes:
        if self._by_glyph:
            return b"<%b>" % text.translate(self._glyphs[heading]).encode()
        return b"(%b)" % text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _picture(document: Any, dice: random.Random, picture_bytes: int) -> int:
    """Add a picture of noise, which no filter makes smaller, and return its number."""
    height = max(1, picture_bytes // _PICTURE_WIDTH)
    entries = f"/Type/XObject/Subtype/Image/Width {_PICTURE_WIDTH}/Height {height}/ColorSpace/DeviceGray"
    noise = dice.randbytes(_PICTURE_WIDTH * height)
    return _stream(document, f"{entries}/BitsPerComponent 8", noise, compress=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
