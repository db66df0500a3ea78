"""Reads pages twice, in the quick way and in PyMuPDF's own, and prints as JSON where the results differ.

A program of its own, `twofold.py SEED PAGES [FILE...]`: over so many odd pages of its own making, and over the files.
What is compared is all that a worker would answer, damage and failures included.
"""

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.work.child.documents import Document
from engine.work.child.pages import find_page
from engine.work.child.reading import PageText
from engine.work.child.source import DocumentError, SourceFile
from engine.work.messages import FoundPage
from tests.support.pdfs import PdfFile

PAGES_PER_FILE = 100
MOST_PAGES_OF_A_FILE = 100
MAX_TEXT_BYTES = 8 * 1024 * 1024
ODD = (
    *(0x00, 0x01, 0x09, 0x0A, 0x0D, 0x1B, 0x20, 0x5C, 0x7F, 0x80, 0x85, 0x9F, 0xA0, 0xAD, 0xE9, 0xFF, 0x131),
    *(0x200B, 0x2028, 0x202E, 0xD800, 0xDFFF, 0xE000, 0xFB01, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1F600, 0x10FFFF),
)


class QuickDocument(Document):
    """A document that counts how often the quick way was taken."""

    quick = 0

    def text(self, number: int, *, most_chars: int) -> PageText:
        """Return the text of a page."""
        found = super().text(number, most_chars=most_chars)
        self.quick += found.utf8 is not None
        return found


class PlainDocument(Document):
    """A document whose text is that of `get_text`."""

    def text(self, number: int, *, most_chars: int) -> PageText:
        """Return the text of a page in PyMuPDF's way."""
        del most_chars
        return PageText(str(self.page(number).get_text("text")))


def answers(document: Document, numbers: range) -> Iterator[FoundPage]:
    """Yield what a worker would answer, but for the time that it took."""
    for number in numbers:
        yield replace(find_page(document, number, max_text_bytes=MAX_TEXT_BYTES), dur_ms=0)


def compare(path: Path, ways: Counter[str]) -> Iterator[str]:
    """Yield the pages of a file that differ."""
    try:
        quick, plain = QuickDocument(SourceFile(bytes(path))), PlainDocument(SourceFile(bytes(path)))
    except DocumentError:
        ways["does not open"] += 1
        return
    numbers = range(1, 1 + min(quick.page_count, MOST_PAGES_OF_A_FILE))
    for number, one, other in zip(numbers, answers(quick, numbers), answers(plain, numbers), strict=True):
        ways[one.kind] += 1
        if one != other:
            yield f"{path} page {number}: {str(one)[:300]} and {str(other)[:300]}"
    ways["quick"] += quick.quick
    for document in (quick, plain):
        document.close()


def odd_file(dice: random.Random, path: Path) -> Path:
    """Write a file of odd pages: strange characters, places, sizes, boxes and turns."""
    file = PdfFile()
    odd = file.add(
        b"<</Type/Font/Subtype/TrueType/BaseFont/Helvetica/FirstChar 0/LastChar 255/ToUnicode %d 0 R/Widths[%b]>>"
        % (file.stream(_meanings(dice)), b"500 " * 256)
    )
    fonts = [file.add(b"<</Type/Font/Subtype/Type1/BaseFont/%b>>" % name) for name in (b"Times-Roman", b"Symbol")]
    fonts.append(
        file.add(
            b"<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding<</Differences[65/nosuchglyph/.notdef/space]>>>>"
        )
    )
    names = b"/F1 3 0 R/F2 %d 0 R/F3 %d 0 R/F4 %d 0 R/F5 %d 0 R" % (odd, *fonts)
    for _ in range(PAGES_PER_FILE):
        content = b"\n".join(_piece(dice) for _unused in range(dice.choice((0, 1, 3, 12))))
        file.page(content, entries=_entries(dice), resources=b"/Font<<%b>>" % names)
    return file.write(path)


def _meanings(dice: random.Random) -> bytes:
    """Return a map from the codes of a font to characters, odd ones among them."""
    rows = []
    for code in range(256):
        meaning = dice.choice(ODD) if dice.random() < 0.3 else max(code, 32)
        text = f"{meaning:04X}" if meaning < 0x10000 else chr(meaning).encode("utf-16-be").hex()
        rows.append(f"<{code:02X}> <{text}{'0041' if dice.random() < 0.05 else ''}>")
    blocks = [f"100 beginbfchar\n{chr(10).join(rows[at : at + 100])}\nendbfchar" for at in range(0, 256, 100)]
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def 1 begincodespacerange <00> <FF> "
        f"endcodespacerange\n{chr(10).join(blocks)}\nendcmap"
    ).encode("ascii")


def _piece(dice: random.Random) -> bytes:
    """Return some text, shown somewhere."""
    font, size = dice.randint(1, 5), dice.choice((12, 12, 9, 0.5, 0, -8, 300))
    place = dice.choice(((72, 700), (72, 686), (dice.randint(-50, 640), dice.randint(-50, 890)), (0, 0), (594, 841)))
    turn = dice.choice(("1 0 0 1", "1 0 0 1", "0 1 -1 0", "0.7 0.7 -0.7 0.7", "-1 0 0 1", "1 0 0 0", "0.01 0 0 50"))
    shown = []
    for _ in range(dice.choice((1, 1, 2, 5))):
        text = dice.randbytes(dice.choice((0, 1, 8, 30))) if dice.random() < 0.5 else b"plain \\ words\n"
        operator = dice.choice((b"<%b> Tj", b"[<%b> -900 <41>] TJ", b"<%b> Tj 0 -14 Td", b"<%b> Tj T*", b"T* <%b> '"))
        shown.append(operator % text.hex().encode())
    extra = dice.choice(
        (b"", b"", b"3 Tr", b"-200 Tc", b"50 Ts", b"/Span<</ActualText(other)>>BDC", b"10 0 0 10 re W n")
    )
    end = b" EMC" if b"BDC" in extra else b""
    head = f"q BT /F{font} {size} Tf 14 TL {turn} {place[0]} {place[1]} Tm ".encode("ascii")
    return head + extra + b" " + b" ".join(shown) + end + b" ET Q"


def _entries(dice: random.Random) -> bytes:
    """Return entries of a page, which are mostly none."""
    return dice.choice(
        (
            *(b"", b"", b"", b"", b"/Rotate 0", b"/Rotate 90", b"/Rotate -270", b"/Rotate 45", b"/Rotate/None"),
            *(b"/CropBox[50 50 400 720]", b"/MediaBox[-300 -300 300 720]", b"/MediaBox[0 0 0 0]", b"/UserUnit 3"),
            *(b"/MediaBox[0 0 100000 100000]", b"/CropBox[700 900 800 1000]", b"/MediaBox[595 842 0 0]"),
        )
    )


def main() -> None:
    """Compare, and print the differences and how often each way was taken."""
    seed, pages, *paths = sys.argv[1:]
    ways: Counter[str] = Counter()
    different: list[str] = []
    dice = random.Random(f"{seed}/pages")  # noqa: S311  # repeatable on purpose
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(int(pages) // PAGES_PER_FILE):
            different += compare(odd_file(dice, Path(folder) / "odd"), ways)
    for path in paths:
        different += compare(Path(path), ways)
    sys.stdout.write(json.dumps({"different": different, "ways": ways}))


if __name__ == "__main__":
    main()
