"""What a worker holds on to: let go of when it has grown, and not at every page."""

import subprocess
import sys
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
READING = """
import sys
from engine.work.child.documents import Document, Shelf
from engine.work.child.source import SourceFile
shelf = Shelf()
document = Document(SourceFile(sys.argv[1].encode()))
shelf.put(document)
for read in range(1000):
    assert not shelf.close_read(), read
    document.text(1, most_chars=9)
assert shelf.close_read()
assert not shelf.close_read()
"""


class Process:
    """A process whose memory the test sets: what was read, what open documents hold, and the rest."""

    def __init__(self) -> None:
        self.read, self.documents = 0, 0
        self.closed = self.forgotten = 0
        self.room = Room(lambda: (50 + self.read + self.documents) * MIB, self.forget, lambda: None)

    def forget(self) -> None:
        """Let go of what was read."""
        self.read = 0
        self.forgotten += 1

    def close(self) -> bool:
        """Close the documents."""
        self.documents = 0
        self.closed += 1
        return True


def test_what_was_read_is_kept_until_it_is_much() -> None:
    """Fonts are needed again for the next page."""
    process = Process()
    for process.read in range(25):
        process.room.between_pages()
        process.room.between_spans(process.close)
    assert not process.forgotten
    process.read = 25
    process.room.between_pages()
    assert (process.forgotten, process.closed, process.read) == (1, 0, 0)


def test_open_documents_are_closed_between_spans_only() -> None:
    """A document is being read until then; what it holds does not make every page of the span forget the fonts."""
    process = Process()
    for process.documents in range(26, 40):
        process.room.between_pages()
    assert (process.forgotten, process.closed) == (1, 0)
    process.room.between_spans(process.close)
    assert (process.closed, process.documents) == (1, 0)


def test_what_cannot_be_helped_is_borne_with() -> None:
    """A process that stays large is not tidied at every page from then on."""
    process = Process()
    for _ in range(10):
        process.documents = 100  # as large again as soon as it is opened
        process.room.between_pages()
        process.room.between_spans(lambda: False)
    assert process.forgotten == 2


def test_after_documents_were_closed_the_process_may_not_grow_as_it_did_with_them() -> None:
    """What was borne with for their sake is no measure any more."""
    process = Process()
    process.documents = 100
    process.room.between_spans(lambda: False)  # not worth it yet: borne with
    process.documents = 130
    process.room.between_spans(process.close)
    process.read = 30
    process.room.between_pages()
    assert (process.closed, process.forgotten) == (1, 3)


def test_a_document_is_closed_only_when_it_was_read_for_long(tmp_path: Path) -> None:
    """To open a large one anew for every span would cost more than its pages."""
    path = text_pdf(tmp_path / "one.pdf", 1)
    subprocess.run([sys.executable, "-c", READING, str(path)], check=True)


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
    child = Child()
    child.frame()
    process = psutil.Process(child.process.pid)
    before_bytes = process.memory_info().rss
    child.send(ProbeRequest(number=1, location=location, open_s=60).to_frame())
    probe = probe_of(child.frame())
    largest_bytes = 0
    for first in range(1, PAGES + 1, 10):
        request = ExtractRequest(
            number=2,
            location=location,
            size_bytes=probe.size_bytes,
            mtime_ns=probe.mtime_ns,
            page_count=PAGES,
            first_page=first,
            last_page=first + 9,
            max_text_bytes=MIB,
            open_s=60,
            page_s=60,
        )
        child.send(request.to_frame())
        while not child.frame().header["done"]:
            pass
        largest_bytes = max(largest_bytes, process.memory_info().rss)
    child.end()
    assert largest_bytes - before_bytes < 60 * MIB
