"""Opening a document without reading what is said of it: no different from PyMuPDF, even where reading mends it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.pdfs import PdfFile, put

COMPARING = """
import json, sys
from engine.work.child import parser
answers = []
for path in sys.argv[1:]:
    for document in (parser.pymupdf.open(path), parser.open_pdf(path)):
        texts = [page.get_text() for page in document]
        answers.append([bool(document.is_repaired), texts, bool(document.metadata)])
print(json.dumps(answers))
"""
PLAIN = b"<</Title(Report)/Author(Nobody)>>"


def text_file() -> PdfFile:
    """Return a file of two pages."""
    file = PdfFile()
    for number in (1, 2):
        file.page(b"BT /F1 12 Tf 72 700 Td (page %d) Tj ET" % number)
    return file


def with_info(file: PdfFile, info: bytes, *, lost: int = 0) -> bytes:
    """Return a file's bytes with an entry for its metadata, and the place of one object wrong in its table."""
    data = file.to_bytes().replace(b"/Root 1 0 R", b"/Root 1 0 R/Info " + info)
    if lost:
        table = data.rindex(b"\nxref\n") + 1
        line = table + len(b"xref\n0 9\n") + 20 * lost + (len(b"%d" % (lost + 1)) > 1)
        data = data[:line] + b"%010d" % data.index(b"3 0 obj") + data[line + 10 :]
    return data


def nothing() -> bytes:
    """A file that says nothing of itself."""
    return text_file().to_bytes()


def plain() -> bytes:
    """Title and author in a dictionary."""
    file = text_file()
    return with_info(file, b"%d 0 R" % file.add(PLAIN))


def within() -> bytes:
    """The same within the trailer."""
    return with_info(text_file(), PLAIN)


def missing() -> bytes:
    """A reference to an object that is not there."""
    return with_info(text_file(), b"77 0 R")


def misplaced() -> bytes:
    """A dictionary that does not stand where the table says."""
    file = text_file()
    number = file.add(PLAIN)
    return with_info(file, b"%d 0 R" % number, lost=number)


def misplaced_title() -> bytes:
    """A title that does not stand where the table says, in a dictionary that does."""
    file = text_file()
    title = file.add(b"(Report)")
    return with_info(file, b"%d 0 R" % file.add(b"<</Author(Nobody)/Title %d 0 R>>" % title), lost=title)


@pytest.mark.parametrize("make", [nothing, plain, within, missing, misplaced, misplaced_title])
def test_leaving_the_metadata_out_changes_nothing(make: Callable[[], bytes], tmp_path: Path) -> None:
    """Whether MuPDF repairs a document as it is opened, and the text of its pages, are those of PyMuPDF."""
    path = put(tmp_path / "document.pdf", make())
    done = subprocess.run([sys.executable, "-c", COMPARING, path], check=True, capture_output=True, timeout=120)
    theirs, ours = json.loads(done.stdout)
    assert ours[:2] == theirs[:2]
    assert theirs[0] is make.__name__.startswith("misplaced"), "reading it mends the document"
    assert theirs[1] == ["page 1\n", "page 2\n"]
    assert ours[2] is (make in {missing, misplaced_title}), "it was read only where that may matter"
