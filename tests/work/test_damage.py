"""Warnings: what the parser's words say about a page."""

import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from engine.work.child.damage import lost_content, may_be_blank, system_could_not_read
from tests.support.pdfs import PdfFile

FLAGS = """
import sys
from engine.work.child.documents import Document
from engine.work.child.pages import find_page
from engine.work.child.source import SourceFile
for order in ((1, 2, 3), (3, 2, 1)):
    document = Document(SourceFile(sys.argv[1].encode()))
    damaged = {page: find_page(document, page, max_text_bytes=10_000).damaged for page in order}
    print(*(int(damaged[page]) for page in (1, 2, 3)))
    document.close()
"""

BROKEN = "library error: zlib error: invalid distance too far back\nread error; treating as end of file"


def test_words_that_tell_of_lost_content(subtests: pytest.Subtests) -> None:
    """Each of these says that a part of the page was left out, so that it is neither whole nor blank."""
    for warning in (
        BROKEN,
        "content stream is not a stream (58 0 R)",
        "cannot load content stream part 2/3",
        "encountered syntax errors; page may not be correct",
        "too many syntax errors; ignoring rest of page",
        "premature end of data in flate filter",
    ):
        with subtests.test(warning=warning):
            assert lost_content(f"bogus font ascent\n{warning}")
            assert not may_be_blank(warning)


def test_harmless_words_leave_a_page_blank(subtests: pytest.Subtests) -> None:
    """Nothing is missing for these, so that an empty page may be called blank."""
    for warnings in (
        "",
        "ignoring zlib error: incorrect data check\n... repeated 3 times...",
        "Document claims to have 3 pages, but only has 1.",
        "PDF stream Length incorrect",
    ):
        with subtests.test(warnings=warnings):
            assert may_be_blank(warnings)
            assert not lost_content(warnings)


def test_an_unknown_warning_speaks_against_blank_and_not_against_text() -> None:
    """To call a page blank is a claim; a page with text is not doubted for a word that nobody knows."""
    assert not may_be_blank("non-page object in page tree")
    assert not may_be_blank("something new in the next version")
    assert not lost_content("something new in the next version")


def test_a_failing_disk_is_told_from_a_broken_stream() -> None:
    """MuPDF names the system's error after a colon; a broken stream goes on with a semicolon."""
    assert system_could_not_read("read error: Input/output error\nread error; treating as end of file")
    assert not system_could_not_read(BROKEN)


def test_what_is_said_of_a_page_does_not_hang_on_the_pages_read_before(tmp_path: Path) -> None:
    """MuPDF complains of a broken font when it loads it: every page that uses it is damaged, whichever comes first."""
    file = PdfFile()
    packed = bytearray(zlib.compress(b" ".join(b"%d" % number for number in range(2000))))
    packed[200:240] = b"\xff" * 40
    program = file.stream(bytes(packed), b"/Filter/FlateDecode/Length1 9000")
    descriptor = file.add(
        b"<</Type/FontDescriptor/FontName/AAAAAA+Broken/Flags 32/FontBBox[0 0 999 999]/ItalicAngle 0/Ascent 800"
        b"/Descent -200/CapHeight 700/StemV 80/FontFile2 %d 0 R>>" % program
    )
    font = file.add(
        b"<</Type/Font/Subtype/TrueType/BaseFont/AAAAAA+Broken/Encoding/WinAnsiEncoding/FirstChar 32/LastChar 126"
        b"/Widths[%b]/FontDescriptor %d 0 R>>" % (b"500 " * 95, descriptor)
    )
    for name in (b"F2", b"F1", b"F2"):
        content = b"BT /%b 12 Tf 72 700 Td (some words) Tj ET" % name
        file.page(content, resources=b"/Font<</F1 3 0 R/F2 %d 0 R>>" % font)
    path = file.write(tmp_path / "broken-font.pdf")
    command = [sys.executable, "-c", FLAGS, str(path)]
    assert subprocess.run(command, check=True, capture_output=True).stdout.split() == [b"1", b"0", b"1"] * 2
