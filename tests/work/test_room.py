"""What a worker holds on to: let go of when it has grown, and not at every page."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

from engine.work.child.room import Room
from engine.work.messages import ExtractRequest, ProbeRequest
from engine.work.replies import probe_of
from tests.support.pdfs import PdfFile, text_pdf
from tests.work.test_child import Child

MIB = 1024 * 1024
PICTURE_BYTES = 3 * MIB
PAGES = 60
LONG_PAGES = 6000
READING = """
import sys
from engine.work.child.documents import Document
from engine.work.child.source import SourceFile
for path in sys.argv[1:]:
    kept, forgetful = (Document(SourceFile(path.encode())) for _ in range(2))
    for page in [*range(1, kept.page_count + 1)] * 2:
        texts = [document.text(page, most_chars=10_000).text for document in (kept, forgetful)]
        assert texts[0] == texts[1] and texts[0].strip(), (path, page)
        forgetful.forget()
    print(int(kept.repaired))
"""


class Process:
    """A process whose memory the test sets: what was read, and the rest."""

    def __init__(self) -> None:
        self.read = self.rest = 0
        self.forgotten = 0
        self.room = Room(lambda: (50 + self.read + self.rest) * MIB, self.forget, lambda: None)

    def forget(self) -> None:
        """Let go of what was read."""
        self.read = 0
        self.forgotten += 1


def growth_bytes(location: bytes, page_count: int, firsts: Iterable[int], *, span_pages: int) -> list[int]:
    """Have a worker read spans that begin at these pages; return by how much it had grown after each."""
    child = Child()
    child.frame()
    process = psutil.Process(child.process.pid)
    before_bytes = process.memory_info().rss
    child.send(ProbeRequest(number=1, location=location, open_s=60).to_frame())
    probe = probe_of(child.frame())
    grown_bytes = []
    for first in firsts:
        request = ExtractRequest(
            number=2,
            location=location,
            size_bytes=probe.size_bytes,
            mtime_ns=probe.mtime_ns,
            page_count=page_count,
            first_page=first,
            last_page=first + span_pages - 1,
            max_text_bytes=MIB,
            open_s=60,
            page_s=60,
        )
        child.send(request.to_frame())
        while not child.frame().header["done"]:
            pass
        grown_bytes.append(process.memory_info().rss - before_bytes)
    child.end()
    return grown_bytes


def test_what_was_read_is_kept_until_it_is_much() -> None:
    """Fonts are needed again for the next page."""
    process = Process()
    for process.read in range(25):
        process.room.between_pages()
    assert not process.forgotten
    process.read = 25
    process.room.between_pages()
    assert (process.forgotten, process.read) == (1, 0)


def test_what_cannot_be_helped_is_borne_with() -> None:
    """A process that stays large is not tidied at every page from then on, but when it has grown as much again."""
    process = Process()
    process.rest = 100
    for _ in range(10):
        process.room.between_pages()
    assert process.forgotten == 1
    process.read = 25
    process.room.between_pages()
    assert process.forgotten == 2


def test_a_process_that_became_smaller_may_not_grow_to_what_it_was() -> None:
    """What was borne with while a large document was open is no measure after it."""
    process = Process()
    process.rest = 100
    process.room.between_pages()
    process.rest = 0
    process.room.between_pages()
    process.read = 25
    process.room.between_pages()
    assert process.forgotten == 2


def test_a_document_reads_the_same_after_its_objects_were_let_go(tmp_path: Path) -> None:
    """Page for page, twice over; and of one that had to be repaired, where nothing is let go."""
    sound = text_pdf(tmp_path / "sound.pdf", 5)
    broken = tmp_path / "broken.pdf"
    data = sound.read_bytes()
    broken.write_bytes(data[: data.rindex(b"startxref")].replace(b"xref", b"xxxx"))
    command = [sys.executable, "-c", READING, str(sound), str(broken)]
    assert subprocess.run(command, check=True, capture_output=True).stdout.split() == [b"0", b"1"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the parent replaces a worker that has become large")
def test_a_worker_does_not_keep_the_pictures_that_it_came_across(tmp_path: Path) -> None:
    """Pages with pictures of 180 MB together leave it as small as it was, but for a part of them."""
    file = PdfFile()
    for number in range(1, PAGES + 1):
        picture = file.stream(
            bytes([number]) * PICTURE_BYTES,
            b"/Type/XObject/Subtype/Image/Width 1024/Height 1024/BitsPerComponent 8/ColorSpace/DeviceRGB",
        )
        content = b"q 99 0 0 99 9 9 cm /P Do Q BT /F1 9 Tf 99 700 Td (page %d) Tj ET" % number
        file.page(content, resources=b"/XObject<</P %d 0 R>>" % picture)
    location = bytes(file.write(tmp_path / "pictures.pdf"))
    grown_bytes = max(growth_bytes(location, PAGES, range(1, PAGES + 1, 10), span_pages=10))
    assert grown_bytes < 60 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the parent replaces a worker that has become large")
def test_a_worker_does_not_keep_the_pages_of_a_long_document(tmp_path: Path) -> None:
    """MuPDF looks at all pages to find the first one; what it made of them is given back after that one."""
    file = PdfFile()
    things = b"/XObject<<%b>>" % b"".join(b"/X%d 3 0 R" % number for number in range(1, 151))
    for _ in range(LONG_PAGES):
        file.page(b"BT /F1 9 Tf 99 700 Td (short) Tj ET", resources=things)
    location = bytes(file.write(tmp_path / "long.pdf"))
    *_, grown_bytes = growth_bytes(location, LONG_PAGES, (1, 2), span_pages=1)
    assert grown_bytes < 24 * MIB
