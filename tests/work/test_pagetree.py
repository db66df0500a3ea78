"""Documents of very many pages: the pages that PyMuPDF finds in them, in its order, and little memory to find them.

What counts as many is set low here, so that small documents show it. Broken page trees are left to MuPDF.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.pdfs import PdfFile, encrypted_pdf, put, text_pdf, truncated_pdf

MIB = 1024 * 1024
LONG_PAGES = 3000
COMPARING = """
import json, sys
from engine.work.child import parser
from engine.work.child.documents import Document
from engine.work.child.source import DocumentError, SourceFile

def told(pages, count):
    for number in range(1, count + 1):
        parser.take_warnings()
        try:
            text = pages(number)
        except Exception:
            text = None
        # Where a page cannot be read, ours is tried twice.
        yield text, sorted({line for line in parser.take_warnings().split("\\n") if not line.startswith("...")})

def plain(path):
    document = parser.pymupdf.open(path)
    count = document.page_count
    yield count if count else None
    yield document.is_repaired
    if count:
        yield list(told(lambda number: document[number - 1].get_text(), count))
    yield document.page_count if count else None

def ours(path):
    try:
        document = Document(SourceFile(path.encode()), many_pages=1)
    except DocumentError:
        return [None, parser.pymupdf.open(path).is_repaired, None]
    listed = parser.mupdf.pdf_document_from_fz_document(document._pdf.this).m_internal.fwd_page_map is not None
    pages = list(told(lambda number: document.text(number, most_chars=10_000).text, document.page_count))
    return [document.page_count, document.repaired, pages, document._pdf.page_count, listed]

def saved(path, variants):
    document = parser.pymupdf.open(path)
    if "outlined" in variants:
        document.set_toc([[1, "first", 1], [2, "last", document.page_count]])
    document.save(path + ".new", use_objstms="packed" in variants)
    return path + ".new"

answers = []
for path in sys.argv[2:]:
    for variants in json.loads(sys.argv[1]):
        file = saved(path, variants) if variants else path
        expected, found = list(plain(file)), ours(file)
        answers.append({"expected": expected, "found": found[:len(expected)], "listed": found[-1]})
print(json.dumps(answers))
"""
PEAK = """
import sys
from engine.work.child import parser
from engine.work.child.documents import Document
from engine.work.child.source import SourceFile

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024

path, many, *variants = sys.argv[1:]
if variants:
    document = parser.pymupdf.open(path)
    if "outlined" in variants:
        document.set_toc([[1, "first", 1], [2, "last", document.page_count]])
    document.save(path + ".new", use_objstms="packed" in variants)
    print(path + ".new")
else:
    before = peak()
    assert Document(SourceFile(path.encode()), many_pages=int(many)).text(1, most_chars=1000).text
    print(peak() - before)
"""


def compared(*paths: Path, variants: Sequence[Sequence[str]] = ((),)) -> list[dict[str, Any]]:
    """Return what PyMuPDF and a document of ours make of each variant of each file.

    That is how many pages there are, whether it was repaired, text and warnings of each page, and their number then.
    """
    command = [sys.executable, "-c", COMPARING, json.dumps(variants), *map(str, paths)]
    answers = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout)
    assert isinstance(answers, list)
    return answers


def pages(file: PdfFile, count: int) -> list[bytes]:
    """Add pages that say which one they are, and return references to them; they hang nowhere yet."""
    numbers = [file.page(b"BT /F1 9 Tf 99 700 Td (page %d) Tj ET" % number) for number in range(1, count + 1)]
    file.kids.clear()
    return [b"%d 0 R" % number for number in numbers]


def node(file: PdfFile, *kids: bytes, count: int | None = None, kind: bytes = b"/Type/Pages") -> bytes:
    """Add a node of the page tree and return a reference to it."""
    entries = b"" if count is None else b"/Count %d" % count
    return b"%d 0 R" % file.add(b"<<%b%b/Parent 2 0 R/Kids[%b]>>" % (kind, entries, b" ".join(kids)))


def root(*kids: bytes, count: int, kind: bytes = b"/Type/Pages") -> bytes:
    """Return the root of a page tree."""
    return b"<<%b/Count %d/Kids[%b]>>" % (kind, count, b" ".join(kids))


def updated(file: PdfFile, objects: dict[int, bytes]) -> bytes:
    """Return the bytes of a file to which these objects were added afterwards, the root of its tree (2) among them."""
    data = file.to_bytes()
    before = data.rindex(b"\nxref\n") + 1
    table = b""
    for number, body in objects.items():
        table += b"%d 1\n%010d 00000 n \n" % (number, len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    size = int(data[data.rindex(b"/Size ") + 6 :].split(b"/")[0])
    trailer = b"<</Size %d/Root 1 0 R/Prev %d>>" % (size, before)
    return data + b"xref\n%btrailer\n%b\nstartxref\n%d\n%%%%EOF\n" % (table, trailer, len(data))


def flat(file: PdfFile) -> dict[int, bytes]:
    """All pages at the root."""
    return {2: root(*pages(file, 5), count=5)}


def balanced(file: PdfFile) -> dict[int, bytes]:
    """Some pages at each knot, and one at the root among the knots."""
    a, b, c, d, e = pages(file, 5)
    return {2: root(node(file, a, b, count=2), c, node(file, d, e, count=2), count=5)}


def nested(file: PdfFile) -> dict[int, bytes]:
    """A knot below another, each time, the pages before and after it."""
    one, two, three, four, five = pages(file, 5)
    inner = node(file, two, node(file, three, count=1), node(file, count=0), count=2)
    return {2: root(one, node(file, inner, four, count=3), five, count=5)}


def by_reference(file: PdfFile) -> dict[int, bytes]:
    """What kind it is, and what hangs on it, as objects of their own."""
    first, second = pages(file, 2)
    kids = file.add(b"[%b %b]" % (first, second))
    kind = file.add(b"/Pages")
    return {2: b"<</Type %d 0 R/Count 2/Kids %d 0 R>>" % (kind, kids)}


def unsound_inside(file: PdfFile) -> dict[int, bytes]:
    """Counts of the knots that are wrong or missing: MuPDF's list does not need them."""
    one, two, three, four = pages(file, 4)
    return {2: root(node(file, one, count=7), node(file, two, three, count=0), node(file, four), count=4)}


def twice(file: PdfFile) -> dict[int, bytes]:
    """The same page at two places."""
    one, two = pages(file, 2)
    return {2: root(one, node(file, two, one, count=2), two, count=4)}


def page_with_kids(file: PdfFile) -> dict[int, bytes]:
    """A page that says that others hang on it."""
    one, two, three = pages(file, 3)
    return {2: root(one, node(file, two, count=1, kind=b"/Type/Page/MediaBox[0 0 9 9]"), three, count=3)}


def claims_more(file: PdfFile) -> dict[int, bytes]:
    """More pages than there are."""
    return {2: root(*pages(file, 3), count=5)}


def claims_fewer(file: PdfFile) -> dict[int, bytes]:
    """Fewer pages than there are."""
    return {2: root(*pages(file, 5), count=3)}


def claims_fewer_deep(file: PdfFile) -> dict[int, bytes]:
    """Fewer pages than there are, and counts that lead to other ones if they are believed."""
    one, two, three, four = pages(file, 4)
    return {2: root(node(file, one, two, count=1), node(file, three, four, count=2), count=3)}


def claims_none(file: PdfFile) -> dict[int, bytes]:
    """No count at all."""
    return {2: b"<</Type/Pages/Kids[%b]>>" % b" ".join(pages(file, 3))}


def page_of_no_kind(file: PdfFile) -> dict[int, bytes]:
    """A page that does not say that it is one."""
    one, two = pages(file, 2)
    odd = file.add(b"<</MediaBox[0 0 595 842]/Parent 2 0 R>>")
    return {2: root(one, b"%d 0 R" % odd, two, count=3)}


def knot_of_no_kind(file: PdfFile) -> dict[int, bytes]:
    """A knot that does not say that it is one."""
    one, two, three = pages(file, 3)
    return {2: root(one, node(file, two, three, count=2, kind=b""), count=3)}


def root_of_no_kind(file: PdfFile) -> dict[int, bytes]:
    """A root that does not say what it is."""
    return {2: root(*pages(file, 3), count=3, kind=b"")}


def template(file: PdfFile) -> dict[int, bytes]:
    """Something else among the pages."""
    one, two = pages(file, 2)
    return {2: root(one, b"%d 0 R" % file.add(b"<</Type/Template/MediaBox[0 0 9 9]>>"), two, count=3)}


def nothing_among_pages(file: PdfFile) -> dict[int, bytes]:
    """Nothing, where a page should be."""
    one, two = pages(file, 2)
    return {2: root(one, b"null", two, count=3)}


def page_that_is_missing(file: PdfFile) -> dict[int, bytes]:
    """A page whose object is not in the file."""
    one, two = pages(file, 2)
    return {2: root(one, b"999 0 R", two, count=3)}


def page_in_place(file: PdfFile) -> dict[int, bytes]:
    """A page that is no object of its own."""
    one, two = pages(file, 2)
    return {2: root(one, b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>", two, count=3)}


def same_knot_twice(file: PdfFile) -> dict[int, bytes]:
    """A knot at two places."""
    one, two, three = pages(file, 3)
    knot = node(file, one, two, count=2)
    return {2: root(knot, three, knot, count=5)}


def circle(file: PdfFile) -> dict[int, bytes]:
    """A knot that leads back to the root, twice over."""
    one, two, three = pages(file, 3)
    return {2: root(one, node(file, b"2 0 R", b"2 0 R", two, count=2), three, count=4)}


def tree_in_the_catalog(file: PdfFile) -> dict[int, bytes]:
    """A root that is part of the catalog, which is one of its pages."""
    one, two = pages(file, 2)
    return {1: b"<</Type/Page/MediaBox[0 0 9 9]/Pages %b>>" % root(one, b"1 0 R", two, count=3)}


def very_deep(file: PdfFile) -> dict[int, bytes]:
    """Knots below knots, a hundred and more."""
    first, *others = pages(file, 130)
    below = node(file, first, count=1)
    for place, page in enumerate(others, 2):
        below = node(file, below, page, count=place)
    return {2: root(below, count=130)}


LISTED = (flat, balanced, nested, by_reference, unsound_inside, twice, page_with_kids)
LEFT_ALONE = (
    *(claims_more, claims_fewer, claims_fewer_deep, claims_none, page_of_no_kind, knot_of_no_kind, root_of_no_kind),
    *(template, nothing_among_pages, page_that_is_missing, page_in_place, same_knot_twice, circle),
    *(tree_in_the_catalog, very_deep),
)


def written(folder: Path, shape: Callable[[PdfFile], dict[int, bytes]]) -> Path:
    """Write a document of this shape."""
    file = PdfFile()
    return put(folder / f"{shape.__name__}.pdf", updated(file, shape(file)))


def test_the_pages_of_a_sound_tree_are_those_of_pymupdf(tmp_path: Path) -> None:
    """As many, in the same order, with the same text and warnings; and they were listed when it was opened."""
    variants: tuple[list[str], ...] = ([], ["packed"], ["outlined"], ["packed", "outlined"])
    answers = compared(*(written(tmp_path, shape) for shape in LISTED), variants=variants)
    assert len(answers) == len(LISTED) * len(variants)
    for answer in answers:
        assert answer["found"] == answer["expected"]
        assert answer["listed"]
        assert any(text for text, _ in answer["found"][2])


def test_a_broken_tree_is_left_to_mupdf(tmp_path: Path) -> None:
    """Its pages, their text and what is complained of are what they are for PyMuPDF; nothing was listed beforehand."""
    answers = compared(*(written(tmp_path, shape) for shape in LEFT_ALONE))
    for shape, answer in zip(LEFT_ALONE, answers, strict=True):
        assert answer["found"] == answer["expected"], shape
        assert not answer["listed"], shape


def test_a_document_that_only_restricts_is_listed_and_a_repaired_one_is_not(tmp_path: Path) -> None:
    """What a repair made up must not be forgotten, be it at the start or only when the pages are looked at."""
    file = PdfFile()
    data = updated(file, flat(file))
    offset = data.index(b"\n9 0 obj") + 1  # the third page
    moved = put(tmp_path / "moved.pdf", data.replace(b"%010d 00000 n" % offset, b"%010d 00000 n" % (offset + 4), 1))
    restricted = encrypted_pdf(tmp_path / "restricted.pdf", password="")
    answers = compared(restricted, truncated_pdf(tmp_path / "repaired.pdf"), moved)
    for answer in answers:
        assert answer["found"] == answer["expected"]
    assert [answer["listed"] for answer in answers] == [True, False, False]


def test_a_wrong_number_of_pages_is_put_right_when_pymupdf_puts_it_right(tmp_path: Path) -> None:
    """An outline makes PyMuPDF look up pages, and see how many there are, when it opens the document."""
    file = PdfFile()
    tree = claims_more(file)
    entry = file.add(b"<</Title(first)/Dest[5 0 R/Fit]>>")  # the first page
    tree[1] = b"<</Type/Catalog/Pages 2 0 R/Outlines<</First %d 0 R/Last %d 0 R/Count 1>>>>" % (entry, entry)
    (answer,) = compared(put(tmp_path / "outline.pdf", updated(file, tree)))
    assert answer["found"] == answer["expected"]
    assert answer["found"][0] == len(answer["found"][2])


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from a file that only Linux has")
@pytest.mark.parametrize("variants", [(), ("packed", "outlined")], ids="-".join)
def test_not_all_pages_are_in_memory_at_once(variants: tuple[str, ...], tmp_path: Path) -> None:
    """The largest that a process ever was, on a document whose pages take 25 MB: half of that and less."""
    file = PdfFile()
    things = b"/XObject<<%b>>" % b"".join(b"/X%d 3 0 R" % number for number in range(1, 151))
    for _ in range(LONG_PAGES):
        file.page(b"BT /F1 9 Tf 99 700 Td (short) Tj ET", resources=things)
    path = str(file.write(tmp_path / "long.pdf"))
    if variants:
        made = subprocess.run([sys.executable, "-c", PEAK, path, "0", *variants], check=True, capture_output=True)
        path = made.stdout.decode().split()[-1]

    def peak_bytes(many_pages: int) -> int:
        command = [sys.executable, "-c", PEAK, path, str(many_pages)]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    assert peak_bytes(LONG_PAGES) < 12 * MIB
    assert peak_bytes(LONG_PAGES + 1) > 24 * MIB  # so that there was something to be saved


def test_a_document_of_few_pages_is_not_listed(tmp_path: Path) -> None:
    """It would cost time, and save nothing."""
    path = str(text_pdf(tmp_path / "few.pdf", 5))
    command = [sys.executable, "-c", COMPARING.replace(", many_pages=1", ""), "[[]]", path]
    (answer,) = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert answer["found"] == answer["expected"]
    assert not answer["listed"]
