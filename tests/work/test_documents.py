"""Documents, good and bad, through real workers: the text is PyMuPDF's, and each fault has its one reason."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from engine.models.document import Failure, PageResult, Span
from engine.models.outcome import Method, Outcome, Reason
from engine.work.messages import FLUSH_BYTES
from tests.support import pdfs
from tests.support.pdfs import PdfFile, page_words
from tests.work.kit import extracted, look_into, opened, read, ref, refused, running_pool, settings, until, whole

pytestmark = pytest.mark.one_loop("asyncio")  # what is in a document has nothing to do with the event loop

READER = Path(__file__).parent / "reader.py"
TEXT_CONTENT = b"BT /F1 12 Tf 72 700 Td (hello) Tj ET"


def read_by_pymupdf(path: Path) -> list[str]:
    """Return the text of each page as PyMuPDF gives it."""
    done = subprocess.run([sys.executable, "-I", READER, path], capture_output=True, check=True)
    pages = json.loads(done.stdout)
    assert isinstance(pages, list)
    return pages


def reasons(results: tuple[PageResult, ...]) -> list[Reason | Method]:
    """Return the reason of each dead letter and the method of every other page."""
    return [result.method if result.failure is None else result.failure.reason for result in results]


async def test_the_text_is_what_pymupdf_gives(tmp_path: Path) -> None:
    """Rotated pages, ligatures, tabs, columns and empty lines: page for page what `get_text()` gives, and its hash."""
    paths = [
        pdfs.text_pdf(tmp_path / "plain.pdf", 20, words=300),
        pdfs.text_pdf(tmp_path / "turned.pdf", 3, rotate=90),
    ]
    file = PdfFile()
    file.page(b"BT /F1 12 Tf 72 700 Td (tab\\there  twice ) Tj 0 -40 Td (\\344\\366\\374 \\200 \\223q\\224) Tj ET")
    file.page(b"BT /F1 12 Tf 300 700 Td (right) Tj -228 0 Td (left) Tj 0 -900 Td (outside the page) Tj ET")
    paths.append(file.write(tmp_path / "odd.pdf"))
    async with running_pool() as pool:
        for path in paths:
            results = await extracted(pool, path)
            texts = read_by_pymupdf(path)
            assert [result.text for result in results] == texts
            assert [result.page for result in results] == list(range(1, len(texts) + 1))
            for result in results:
                assert (result.outcome, result.method, result.replaced) == (Outcome.EXTRACTED, Method.TEXT, 0)


async def test_a_probe_tells_what_the_file_is(tmp_path: Path) -> None:
    """Hash, size, time, pages and whether it had to be repaired."""
    good = pdfs.text_pdf(tmp_path / "good.pdf", 7)
    cut = pdfs.truncated_pdf(tmp_path / "cut.pdf", 6)
    async with running_pool() as pool:
        document = await opened(pool, good)
        assert document.sha256 == hashlib.sha256(good.read_bytes()).hexdigest()
        assert (document.page_count, document.size_bytes) == (7, good.stat().st_size)
        assert document.mtime_ns == good.stat().st_mtime_ns
        probes = [await look_into(pool, ref(path)) for path in (good, cut)]
    assert [not isinstance(probe, Failure) and probe.repaired for probe in probes] == [False, True]


@pytest.mark.fault(39)
async def test_documents_that_do_not_open_say_why(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Each kind of unusable document has its reason, and none raises."""
    lying = PdfFile()
    lying.page(TEXT_CONTENT)
    liar = tmp_path / "liar.pdf"
    liar.write_bytes(lying.to_bytes().replace(b"/Count 1/", b"/Count 1999999999/", 1))
    certificate = tmp_path / "certificate.pdf"
    certificate.write_bytes(
        pdfs.encrypted_pdf(certificate).read_bytes().replace(b"/Filter/Standard", b"/Filter/Adobe.PubSec")
    )
    (tmp_path / "gone.pdf").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.pdf")
    expected = {
        pdfs.empty_file(tmp_path / "empty.pdf"): Reason.EMPTY_FILE,
        pdfs.not_a_pdf(tmp_path / "html.pdf"): Reason.NOT_A_PDF,
        pdfs.encrypted_pdf(tmp_path / "locked.pdf"): Reason.ENCRYPTED,
        certificate: Reason.ENCRYPTED,
        pdfs.wreck_pdf(tmp_path / "wreck.pdf"): Reason.CORRUPT_DOCUMENT,
        pdfs.no_pages_pdf(tmp_path / "none.pdf"): Reason.CORRUPT_DOCUMENT,
        pdfs.truncated_pdf(tmp_path / "half.pdf", lost=True): Reason.CORRUPT_DOCUMENT,
        liar: Reason.CORRUPT_DOCUMENT,
        tmp_path / "no.pdf": Reason.SOURCE_VANISHED,
        tmp_path / "gone.pdf": Reason.SOURCE_CHANGED,
        tmp_path / "pipe.pdf": Reason.SOURCE_CHANGED,
        tmp_path: Reason.SOURCE_CHANGED,
    }
    async with running_pool() as pool:
        for path, reason in expected.items():
            with subtests.test(path=path.name):
                assert (await refused(pool, path)).reason is reason
        await extracted(pool, pdfs.text_pdf(tmp_path / "after.pdf"))


async def test_a_document_that_only_restricts_what_may_be_done_is_read(tmp_path: Path) -> None:
    """Encryption with an empty password keeps nobody from reading."""
    async with running_pool() as pool:
        results = await extracted(pool, pdfs.encrypted_pdf(tmp_path / "a.pdf", password=""))
    assert [result.text.split() for result in results] == [page_words(1), page_words(2)]


async def test_more_pages_than_objects_are_refused(tmp_path: Path) -> None:
    """A few hundred bytes whose page tree shows the same page a million times are no document."""
    file = PdfFile()
    page = file.page(TEXT_CONTENT)
    nodes, count = page, 1
    for _ in range(20):
        nodes, count = file.add(b"<</Type/Pages/Count %d/Kids[%d 0 R %d 0 R]>>" % (2 * count, nodes, nodes)), 2 * count
    file.kids[:] = [nodes]
    path = tmp_path / "tree.pdf"
    path.write_bytes(file.to_bytes().replace(b"/Count 1/", b"/Count %d/" % count, 1))
    async with running_pool() as pool:
        assert (await refused(pool, path)).reason is Reason.CORRUPT_DOCUMENT


async def test_pages_without_text_are_told_apart(tmp_path: Path) -> None:
    """Nothing drawn, only blanks and white areas are blank; a picture, lines or invisible letters are not."""
    file = PdfFile()
    file.page()
    file.page(b"BT /F1 12 Tf 72 700 Td (   ) Tj ET")
    file.page(b"1 1 1 rg 0 0 595 842 re f")
    file.page(b"0 0 1 RG 72 72 m 200 200 l S")
    file.page(b"0.9 1 1 rg 0 0 595 842 re f")
    vectors = file.write(tmp_path / "vectors.pdf")
    async with running_pool() as pool:
        assert reasons(await extracted(pool, pdfs.blank_pdf(tmp_path / "blank.pdf", 2))) == [Method.BLANK] * 2
        assert reasons(await extracted(pool, pdfs.image_only_pdf(tmp_path / "scan.pdf"))) == [Reason.NO_TEXT]
        results = await extracted(pool, vectors)
    assert reasons(results) == [Method.BLANK, Method.BLANK, Method.BLANK, Reason.NO_TEXT, Reason.NO_TEXT]
    for blank in results[:3]:
        assert (blank.outcome, blank.text) == (Outcome.EXTRACTED, "")


async def test_a_damaged_page_is_never_blank_and_its_neighbours_are_fine(tmp_path: Path) -> None:
    """Broken streams, a missing page and a page that raises: that page is corrupt, and the others have their text."""
    text = [page_words(page) for page in (1, 2, 3)]
    async with running_pool() as pool:
        for path in (
            pdfs.damaged_stream_pdf(tmp_path / "stream.pdf"),
            pdfs.page_error_pdf(tmp_path / "error.pdf"),
            pdfs.missing_page_pdf(tmp_path / "missing.pdf"),
        ):
            results = await extracted(pool, path)
            assert reasons(results) == [Method.TEXT, Reason.CORRUPT_PAGE, Method.TEXT]
            assert [results[0].text.split(), results[2].text.split()] == [text[0], text[2]]
            assert not any(result.damaged for result in results)
        results = await extracted(pool, pdfs.damaged_stream_pdf(tmp_path / "half.pdf", keep=True))
    assert reasons(results) == [Method.TEXT] * 3
    assert [result.damaged for result in results] == [False, True, False]


async def test_control_characters_are_replaced_and_counted(tmp_path: Path) -> None:
    """Codes that no font explains give NUL, escape and carriage return; what is left is safe everywhere."""
    file = PdfFile()
    file.page(rb"BT /F1 12 Tf 72 700 Td (x\000y\001z\033w\015v) Tj ET")
    file.page(rb"BT /F1 12 Tf 72 700 Td (\000\001\002\003) Tj ET")
    path = file.write(tmp_path / "controls.pdf")
    async with running_pool() as pool:
        garbled, unreadable = await extracted(pool, path)
    assert read_by_pymupdf(path)[0] == "x\0y\x01z\x1bw\rv\n"
    assert (garbled.text, garbled.replaced) == ("x\ufffdy\ufffdz\ufffdw\ufffdv\n", 4)
    assert unreadable.failure == Failure(reason=Reason.NO_TEXT)


async def test_a_page_with_too_much_text_is_over_the_size_limit(tmp_path: Path) -> None:
    """A page above the limit is a dead letter, one below is not, and no megabytes travel for the first one."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 1, words=2000)
    async with running_pool(settings(max_text_bytes=1000)) as pool:
        assert reasons(await extracted(pool, path)) == [Reason.SIZE_LIMIT]
        pool.apply(settings(max_text_bytes=100_000))
        assert reasons(await extracted(pool, path)) == [Method.TEXT]


async def test_much_text_comes_in_several_answers(tmp_path: Path) -> None:
    """A span whose text is far more than is kept back in a worker arrives whole and in order."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 130, words=1200)
    async with running_pool() as pool:
        results = await extracted(pool, path)
    assert sum(len(result.text) for result in results) > FLUSH_BYTES
    assert [result.text.split() for result in results] == [page_words(page, words=1200) for page in range(1, 131)]


@pytest.mark.fault(38)
async def test_names_that_are_no_utf8_or_odd_are_opened(tmp_path: Path) -> None:
    """Any name that the file system knows will do: bytes, newlines, quotes, a dash in front."""
    data = pdfs.text_pdf(tmp_path / "a.pdf", 1).read_bytes()
    async with running_pool() as pool:
        for name in (b"caf\xe9\xff.pdf", b"new\nline.pdf", b"-rf '\"$(x).pdf", "\u202egnp.pdf".encode(), b"x" * 200):
            path = tmp_path / os.fsdecode(name)
            path.write_bytes(data)
            results = await extracted(pool, path)
            assert results[0].text.split() == page_words(1)


@pytest.mark.fault(28)
async def test_a_file_that_changed_after_its_probe_is_refused(tmp_path: Path) -> None:
    """Other content, another time, another file under its name, no file: each page says so; the same file is read."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 3)
    async with running_pool() as pool:
        document = await opened(pool, path)
        await read(pool, whole(document))
        other = pdfs.text_pdf(tmp_path / "b.pdf", 3, seed=5).read_bytes()
        path.write_bytes(other)
        report = await read(pool, whole(document))
        assert reasons(report.results) == [Reason.SOURCE_CHANGED] * 3

        document = await opened(pool, path)
        os.utime(path, ns=(1, 1))
        assert reasons((await read(pool, whole(document))).results) == [Reason.SOURCE_CHANGED] * 3

        document = await opened(pool, path)
        (tmp_path / "c.pdf").write_bytes(other.replace(b"seed5", b"seed7"))
        (tmp_path / "c.pdf").rename(path)
        os.utime(path, ns=(1, 1))
        results = (await read(pool, whole(document))).results
        assert results[0].text.startswith("seed7")  # another file of the same size and time: it is the one that is read

        path.unlink()
        assert reasons((await read(pool, whole(document))).results) == [Reason.SOURCE_VANISHED] * 3


@pytest.mark.fault(28)
async def test_a_file_that_changes_while_it_is_read_spoils_the_span(tmp_path: Path) -> None:
    """Pages that were read before the change was seen do not count either."""
    slow = zlib.compress(b"q 1 0 0 1 0 0 cm Q " * 200_000, 9)
    file = PdfFile()
    for _ in range(4):
        file.page(slow, filtered=b"/Filter/FlateDecode")
    path = file.write(tmp_path / "slow.pdf")
    async with running_pool() as pool:
        document = await opened(pool, path)
        async with asyncio.TaskGroup() as group:
            extracting = group.create_task(read(pool, whole(document)), name="extracting")
            await until(lambda: pool.views()[0].page == 2)
            os.utime(path, ns=(1, 1))
        assert reasons(extracting.result().results) == [Reason.SOURCE_CHANGED] * 4


async def test_the_order_of_documents_does_not_change_a_hash(tmp_path: Path) -> None:
    """The same documents in another order, span by span in turns, through the same worker: the same texts."""
    paths = pdfs.batch(tmp_path / "batch", 4, 6)
    async with running_pool() as pool:
        forward = {path: await extracted(pool, path) for path in paths}
        backward = {path: await extracted(pool, path) for path in reversed(paths)}
        documents = [await opened(pool, path, number) for number, path in enumerate(paths)]
        turns: dict[Path, list[PageResult]] = {path: [] for path in paths}
        for first in (1, 3, 5):
            for document, path in zip(documents, paths, strict=True):
                turns[path] += (await read(pool, Span(document=document, first_page=first, page_count=2))).results
    for path in paths:
        texts = [result.text for result in forward[path]]
        assert texts == [result.text for result in backward[path]]
        assert texts == [result.text for result in turns[path]]
    assert len({result.text for results in forward.values() for result in results}) == 24
