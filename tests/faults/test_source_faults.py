"""Sources that vanish, change, cannot be read, fail or hang while they are read, and things that are no documents.

What a walk through folders leaves out is tested in full in `tests/source`; here it is the whole program that meets it.
"""

import contextlib
import os
import shutil
import socket
import stat
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from engine.case.reader import CaseReader
from engine.errors import SourceError
from engine.models.document import DocumentRef, Failure, Probe, Span, SpanReport
from engine.settings import FlowLimits, Settings
from engine.source.folder import FolderSource
from engine.work.pool import WorkerPool
from tests.faults import program
from tests.faults.injection import (
    begun,
    hanging_reads,
    needs_hanging_reads,
    needs_linux,
    needs_posix,
    needs_strace,
    no_descriptor_left,
    small_disk,
)
from tests.support import pdfs
from tests.support.runs import GoldenSet, golden_set, records_of, run_once

QUICK = ("--workers", "2")
SMALL = Settings(flow=FlowLimits.build(workers=1, max_queue=64, span_pages=8))


def folder_of_two(root: Path) -> Path:
    """Make a document, and another one in a folder below."""
    (root / "sub").mkdir(parents=True)
    (root / "a.pdf").write_bytes(b"x")
    (root / "sub" / "b.pdf").write_bytes(b"x")
    return root


@needs_posix
@pytest.mark.fault(35, by="RLIMIT_NOFILE with every descriptor in use")
def test_a_folder_is_not_left_out_for_want_of_descriptors(tmp_path: Path) -> None:
    """A folder that cannot be listed for that is not unreadable: the walk ends with a sentence, and hides nothing."""
    root = folder_of_two(tmp_path / "in")
    batches = FolderSource([root], batch_size=1, waits_s=(0.01,)).batches(threading.Event())
    assert [file.path for file in next(batches)] == [b"a.pdf"]
    with no_descriptor_left(), pytest.raises(SourceError, match="Too many open files"):
        next(batches)


@needs_posix
@pytest.mark.fault(35, by="RLIMIT_NOFILE with every descriptor in use")
def test_a_listing_waits_for_a_descriptor(tmp_path: Path) -> None:
    """When descriptors come back, the walk goes on where it was; a stop ends the wait, and is no error."""
    root = folder_of_two(tmp_path / "in")

    class FreedAfter(threading.Event):
        """Frees all descriptors at the third wait."""

        waits = 0

        def wait(self, timeout: float | None = None) -> bool:
            self.waits += 1
            if self.waits == 3:
                hogged.close()
            return super().wait(timeout)

    stop = FreedAfter()
    batches = FolderSource([root], batch_size=1, waits_s=[0.001] * 1000).batches(stop)
    assert [file.path for file in next(batches)] == [b"a.pdf"]
    with contextlib.ExitStack() as hogged:
        hogged.enter_context(no_descriptor_left())
        assert [file.path for file in next(batches)] == [os.fsencode(Path("sub", "b.pdf"))]
    assert stop.waits == 3

    stop = FreedAfter()
    batches = FolderSource([root], batch_size=1, waits_s=[0.001] * 1000).batches(stop)
    next(batches)
    with no_descriptor_left():
        timer = threading.Timer(0.05, stop.set)
        timer.start()
        assert list(batches) == []
        timer.join()


# Whole runs over sources that fail


class Meddler(WorkerPool):
    """A pool of real workers that does something to a file at the moment before it is worked on."""

    def __init__(self, name: str, *, probed: bool, meddle: Callable[[Path], object]) -> None:
        super().__init__(SMALL)
        self._name, self._probed, self._meddle = name, probed, meddle
        self._left = 1

    def _meet(self, location: bytes, *, probed: bool) -> None:
        path = Path(os.fsdecode(location))
        if path.name == self._name and probed is self._probed and self._left:
            self._left -= 1
            self._meddle(path)

    async def probe(self, documents: Sequence[DocumentRef]) -> Sequence[Probe | Failure | None]:
        """Meddle before a look into a document, where that is asked for."""
        for document in documents:
            self._meet(document.location, probed=False)
        return await super().probe(documents)

    async def extract(self, spans: Sequence[Span]) -> Sequence[SpanReport]:
        """Meddle before the reading of pages, where that is asked for."""
        for span in spans:
            self._meet(span.document.location, probed=True)
        return await super().extract(spans)


def letters(case: Path) -> list[tuple[str, int | None, str, int]]:
    """Return path, page, reason and attempts of all dead letters."""
    with CaseReader(case) as reader:
        return [(row.path, row.page, row.reason.value, row.attempts) for row in reader.dead_letter_rows(1, 1000)]


def good_documents(folder: Path, home: Path) -> GoldenSet:
    """Write three documents of four pages, long at rest; return what a run makes of them."""
    pdfs.batch(folder, 3, 4, seed=30)
    program.age(folder)
    program.finish(home / "good.sluice", folder, home, QUICK)
    return golden_set(home / "good.sluice")


@pytest.mark.fault(27)
@pytest.mark.parametrize("probed", [False, True])
@pytest.mark.one_loop("asyncio")
async def test_a_source_that_vanishes_is_the_only_one_lost(tmp_path: Path, *, probed: bool) -> None:
    """Gone before it is looked into, it is one dead letter; gone before it is read, one for each of its pages."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    expected = good_documents(folder, tmp_path)
    pdfs.text_pdf(folder / "z.pdf", 3)
    before = program.fingerprint(folder)
    await run_once(case, folder, Meddler("z.pdf", probed=probed, meddle=Path.unlink), SMALL)
    pages = (1, 2, 3) if probed else (None,)
    assert sorted(letters(case)) == [("z.pdf", page, "source_vanished", 1) for page in pages]
    assert {row for row in golden_set(case) if row[0] != "z.pdf"} == expected
    program.assert_sound(case)
    assert {name: found for name, found in before.items() if name != "z.pdf"} == program.fingerprint(folder)


@pytest.mark.fault(31, by="a pipe put in the place of a document")
@needs_posix
@pytest.mark.one_loop("asyncio")
async def test_a_pipe_in_the_place_of_a_document_holds_nobody(tmp_path: Path) -> None:
    """A named pipe would keep whoever opens it waiting for ever; it is a source that changed, and nothing waits."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    expected = good_documents(folder, tmp_path)
    pdfs.text_pdf(folder / "z.pdf", 3)

    def into_a_pipe(path: Path) -> None:
        path.unlink()
        os.mkfifo(path)

    await run_once(case, folder, Meddler("z.pdf", probed=True, meddle=into_a_pipe), SMALL)
    assert {(path, reason) for path, _, reason, _ in letters(case)} == {("z.pdf", "source_changed")}
    assert {row for row in golden_set(case) if row[0] != "z.pdf"} == expected
    program.assert_sound(case)


@pytest.mark.fault(29)
@needs_linux
def test_a_source_that_may_not_be_read_is_the_only_one_lost(tmp_path: Path) -> None:
    """A closed file is source_unreadable, and a closed folder is left out by name; both are tried once."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    expected = good_documents(folder, tmp_path)
    pdfs.text_pdf(folder / "z.pdf", 3).chmod(0)
    (folder / "zz").mkdir()
    pdfs.text_pdf(folder / "zz" / "inner.pdf", 1)
    (folder / "zz").chmod(0)
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is not there to take away the rights of root")
        prefix = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all", "--")
    with begun(case, folder, tmp_path, QUICK, prefix=prefix) as process:
        code, said = program.ending(process)
    assert code == 1, said
    assert letters(case) == [("z.pdf", None, "source_unreadable", 1)]
    skipped = [record for record in records_of(case) if record["event"] == "SKIPPED"]
    assert [(record["path"], record["reason"]) for record in skipped] == [("zz", "unreadable_directory")]
    assert {row for row in golden_set(case) if row[0] != "z.pdf"} == expected
    program.assert_sound(case)
    (folder / "zz").chmod(0o700)


@pytest.mark.fault(30)
@needs_strace
def test_a_source_whose_reading_fails_is_the_only_one_lost(tmp_path: Path) -> None:
    """After an I/O error at each of its tries it is a dead letter; all others come out as ever."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    expected = good_documents(folder, tmp_path)
    bad = pdfs.text_pdf(folder / "z.pdf", 3)
    program.age(folder)
    tracer = (
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-P",
        str(bad),
        "-e",
        "trace=read",
        "-e",
        "inject=read:error=EIO",
    )
    retries = ("--retry-attempts", "3", "--retry-delay", "10ms")
    with begun(case, folder, tmp_path, (*QUICK, *retries), prefix=tracer) as process:
        code, said = program.ending(process)
    assert code == 1, said
    assert letters(case) == [("z.pdf", None, "read_failed", 3)]
    assert [record["reason"] for record in records_of(case) if record["event"] == "RETRY"] == ["read_failed"] * 2
    assert {row for row in golden_set(case) if row[0] != "z.pdf"} == expected
    program.assert_sound(case)
    program.assert_no_process_left(tmp_path)


@pytest.mark.whole
@pytest.mark.fault(30, by="fanotify: a read that waits for ever")
@needs_hanging_reads
def test_a_source_whose_reading_never_ends_is_the_only_one_lost(tmp_path: Path) -> None:
    """A read that hangs, as on a dead share, is ended by its clock; the others go on meanwhile and come out as ever."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    expected = good_documents(folder, tmp_path)
    bad = pdfs.text_pdf(folder / "0.pdf", 3)
    program.age(folder)
    with hanging_reads(bad), begun(case, folder, tmp_path, (*QUICK, "--open-clock", "4s")) as process:
        assert program.wait_until(lambda: program.pages_done(case) == 12, process)
        code, said = program.ending(process)
    assert code == 1, said
    assert letters(case) == [("0.pdf", None, "time_limit", 2)]
    assert {row for row in golden_set(case) if row[0] != "0.pdf"} == expected
    program.assert_sound(case)
    program.assert_no_process_left(tmp_path)


@pytest.mark.fault(31)
@needs_linux
def test_what_is_no_document_is_left_out_with_its_reason(tmp_path: Path) -> None:
    """Pipes, sockets, devices, links of every kind and folders named like documents: nothing blocks or escapes."""
    folder, case, outside = tmp_path / "in", tmp_path / "case.sluice", tmp_path / "outside"
    expected = good_documents(folder, tmp_path)
    outside.mkdir()
    pdfs.text_pdf(outside / "secret.pdf", 1)
    os.mkfifo(folder / "pipe.pdf")
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(folder):
        listener.bind("socket.pdf")
    (folder / "to itself.pdf").symlink_to("to itself.pdf")
    (folder / "to the folder.pdf").symlink_to(folder)
    (folder / "up").symlink_to("..")
    (folder / "out.pdf").symlink_to(outside / "secret.pdf")
    (folder / "nowhere.pdf").symlink_to("nothing")
    (folder / "folder.pdf").mkdir()
    left_out = {
        "pipe.pdf": "fifo",
        "socket.pdf": "socket",
        "folder.pdf": "directory",
        **dict.fromkeys(("to itself.pdf", "to the folder.pdf", "up", "out.pdf", "nowhere.pdf"), "symbolic_link"),
    }
    with contextlib.suppress(PermissionError):  # only root may make a device
        os.mknod(folder / "device.pdf", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        left_out["device.pdf"] = "device"
    program.finish(case, folder, tmp_path, QUICK)
    skipped = {record["path"]: record["reason"] for record in records_of(case) if record["event"] == "SKIPPED"}
    assert skipped == left_out
    assert golden_set(case) == expected
    program.assert_sound(case)


@pytest.mark.whole
@pytest.mark.fault(39)
@needs_posix
def test_documents_that_are_none_are_told_and_tried_once(tmp_path: Path) -> None:
    """Each has its reason, and no second try; one that inflates is tried twice, since its worker was lost with it."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    expected = good_documents(folder, tmp_path)
    pdfs.encrypted_pdf(folder / "locked.pdf")
    pdfs.not_a_pdf(folder / "page.pdf")
    pdfs.empty_file(folder / "empty.pdf")
    pdfs.wreck_pdf(folder / "wreck.pdf")
    pdfs.no_pages_pdf(folder / "hollow.pdf")
    pdfs.image_only_pdf(folder / "scan.pdf")
    program.age(folder)
    pdfs.memory_bomb_pdf(folder / "zz.pdf")
    before = program.fingerprint(folder)
    limits = ("--worker-address-space", "300M", "--page-clock", "1h")
    program.finish(case, folder, tmp_path, (*QUICK, *limits))
    assert sorted(letters(case), key=str) == [
        ("empty.pdf", None, "empty_file", 1),
        ("hollow.pdf", None, "corrupt_document", 1),
        ("locked.pdf", None, "encrypted", 1),
        ("page.pdf", None, "not_a_pdf", 1),
        ("scan.pdf", 1, "no_text", 1),
        ("wreck.pdf", None, "corrupt_document", 1),
        ("zz.pdf", 1, "memory_limit", 2),
    ]
    assert expected <= golden_set(case)
    assert [record["path"] for record in records_of(case) if record["event"] == "RETRY" and "path" in record] == []
    program.assert_sound(case)
    assert program.fingerprint(folder) == before


@pytest.mark.whole
@pytest.mark.fault(36)
@pytest.mark.parametrize("full", [True, False])
@needs_linux
def test_a_temporary_folder_that_is_full_or_missing_is_not_needed(tmp_path: Path, *, full: bool) -> None:
    """A run and both exports work without a temporary folder: whatever they write, they write beside its place."""
    folder, case, temporary = tmp_path / "in", tmp_path / "case.sluice", tmp_path / "full"
    expected = good_documents(folder, tmp_path)
    with contextlib.ExitStack() as stack:
        if full:
            if os.geteuid() != 0:
                pytest.skip("needs the rights of root")
            stack.enter_context(small_disk(temporary, "64k"))
            with contextlib.suppress(OSError), (temporary / "fill").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        extra = {"TMPDIR": str(temporary)}
        process = stack.enter_context(begun(case, folder, tmp_path, QUICK, extra=extra))
        code, said = program.ending(process)
        assert code == 0, said
        for arguments in (("export", str(case), "--audit", str(tmp_path / "audit.jsonl")), ("text", str(case), "out")):
            code, said = program.ending(program.launch(arguments, tmp_path, extra=extra))
            assert code == 0, said
    assert golden_set(case) == expected
    assert len(list((tmp_path / "out").rglob("*.txt"))) == 3
