"""The sample batch: it is what it says it is, the same each time, and never written over anything else."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from engine.errors import SourceError
from engine.models.outcome import Method, Outcome, Reason
from engine.sample.batch import write_sample_batch, write_sample_batch_now
from engine.sample.documents import NOTE
from engine.sample.expected import ExpectedFile, ExpectedPage, expected_counts, expected_files
from engine.source.folder import FolderSource
from tests.support.findings import findings


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One batch that the tests read, and none of them changes."""
    folder = tmp_path_factory.mktemp("sample") / "batch"
    write_sample_batch_now(folder)
    return folder


@pytest.fixture(scope="module")
def seen(sample: Path) -> dict[bytes, dict[str, Any]]:
    """What MuPDF makes of every document of the batch, by path; it runs in a process of its own."""
    return findings(sample)


@pytest.fixture(scope="module")
def expected(sample: Path) -> tuple[ExpectedFile, ...]:
    """What is expected of every file of the batch."""
    return expected_files(sample)


@pytest.fixture(scope="module")
def documents(expected: tuple[ExpectedFile, ...]) -> list[ExpectedFile]:
    """What is expected of the documents of the batch."""
    return [file for file in expected if file.outcome is not None]


@pytest.fixture
def gappy(sample: Path, tmp_path: Path) -> Path:
    """A batch in which a few files are missing."""
    folder = tmp_path / "gappy"
    shutil.copytree(sample, folder, symlinks=True)
    missing = ("minutes/meeting-01.pdf", "minutes/latest.pdf", "scans/Thumbs.db", "odd names/=SUM(1).pdf")
    for name in (*missing, "correspondence/letter-003 (copy).pdf"):
        (folder / name).unlink()
    return folder


def contents(folder: Path) -> dict[bytes, bytes]:
    """Return the bytes of every file below a folder, by path; a link stands for where it leads."""
    root = os.fsencode(folder)
    found = {}
    for place, _, names in os.walk(root):
        for name in names:
            path = os.path.join(place, name)  # noqa: PTH118  # paths are bytes
            file = Path(os.fsdecode(path))
            found[path[len(root) :]] = os.readlink(path) if file.is_symlink() else file.read_bytes()  # noqa: PTH115
    return found


def reading(facts: dict[str, Any]) -> tuple[Outcome, Reason | None]:
    """Return the outcome of a document that follows from what MuPDF found, by the rules of the program."""
    if not facts["opens"]:
        return Outcome.DEAD_LETTER, Reason.CORRUPT_DOCUMENT
    if not facts["is_pdf"]:
        return Outcome.DEAD_LETTER, Reason.NOT_A_PDF
    if facts["locked"]:
        return Outcome.DEAD_LETTER, Reason.ENCRYPTED
    if not facts["pages"]:
        return Outcome.DEAD_LETTER, Reason.CORRUPT_DOCUMENT
    reasons = [page_reading(page)[1] for page in facts["pages"]]
    return (Outcome.DEAD_LETTER, reasons[0]) if all(reasons) else (Outcome.EXTRACTED, None)


def page_reading(facts: dict[str, Any]) -> tuple[Method, Reason | None]:
    """Return how a page is read, and why it cannot be, by the rules of the program."""
    if facts["text"].strip():
        return Method.TEXT, None
    if "read error" in facts["warnings"]:
        return Method.NONE, Reason.CORRUPT_PAGE
    return (Method.NONE, Reason.NO_TEXT) if facts["drawn"] else (Method.BLANK, None)


def squeezed(text: str) -> str:
    """Return a text without its spaces: how many there are between two words is a matter of taste."""
    return "".join(text.split())


def test_every_document_comes_out_as_expected(
    sample: Path, documents: list[ExpectedFile], seen: dict[bytes, dict[str, Any]]
) -> None:
    """The outcome and reason that the plan names are those that MuPDF's findings lead to."""
    for file in documents:
        size = (sample / os.fsdecode(file.path)).stat().st_size
        outcome, reason = reading(seen[file.path]) if size else (Outcome.DEAD_LETTER, Reason.EMPTY_FILE)
        assert (file.path, file.outcome, file.reason) == (file.path, outcome, reason)
        if file.pages:
            assert (file.path, file.repaired) == (file.path, seen[file.path]["repaired"])


def test_every_page_comes_out_as_expected(documents: list[ExpectedFile], seen: dict[bytes, dict[str, Any]]) -> None:
    """Every page has the method, the reason and the lines that the plan names, in every script, turned or not."""
    for file in documents:
        pages: tuple[ExpectedPage, ...] = file.pages
        assert len(pages) == len(seen[file.path].get("pages", []) if pages else [])
        for page, facts in zip(pages, seen[file.path]["pages"] if pages else [], strict=True):
            assert (file.path, page.method, page.reason) == (file.path, *page_reading(facts))
            assert page.damaged == ("read error" in facts["warnings"])
            text = squeezed(facts["text"])
            assert [line for line in page.lines if squeezed(line) not in text] == []


def test_the_batch_is_of_the_promised_size(sample: Path) -> None:
    """About sixty documents and six hundred pages, in a few megabytes, with every kind of dead letter it is for."""
    counts = expected_counts(sample)
    assert 55 <= counts.documents.enumerated <= 70
    assert 550 <= counts.pages.enumerated <= 650
    assert sum(map(len, contents(sample).values())) < 5_000_000
    assert counts.documents.duplicate == 2
    assert set(counts.reasons) == {
        *(Reason.NO_TEXT, Reason.ENCRYPTED, Reason.CORRUPT_DOCUMENT, Reason.CORRUPT_PAGE),
        *(Reason.NOT_A_PDF, Reason.EMPTY_FILE),
    }


def test_the_counts_add_up(sample: Path, documents: list[ExpectedFile]) -> None:
    """Every document and page has one outcome, and every dead letter one reason."""
    counts = expected_counts(sample)
    assert counts.reconciled
    without_pages = sum(file.outcome is Outcome.DEAD_LETTER and not file.pages for file in documents)
    assert sum(counts.reasons.values()) == counts.pages.dead_letter + without_pages


def test_a_walk_finds_what_is_expected(sample: Path, expected: tuple[ExpectedFile, ...]) -> None:
    """The source finds these documents and leaves out the rest, for the reasons named, and nothing else."""
    batches = FolderSource([sample]).batches(threading.Event())
    found = {(file.path, file.skip) for batch in batches for file in batch}
    assert found == {(file.path, file.skip) for file in expected}


def test_copies_have_equal_bytes_and_other_documents_do_not(sample: Path, documents: list[ExpectedFile]) -> None:
    """Only what the plan calls a copy will be found to be a duplicate."""
    bytes_of = {file.path: (sample / os.fsdecode(file.path)).read_bytes() for file in documents}
    copies = {file.path: file.copy_of for file in documents if file.copy_of is not None}
    assert all(bytes_of[copy] == bytes_of[original] for copy, original in copies.items())
    assert len(set(bytes_of.values())) == len(bytes_of) - len(copies)


def test_the_batch_is_the_same_each_time(sample: Path, tmp_path: Path) -> None:
    """A second batch in another folder has the same files with the same bytes: nothing random, no dates."""
    count = write_sample_batch_now(tmp_path)
    assert contents(tmp_path) == contents(sample)
    assert count == len(contents(sample))


def test_a_batch_that_is_there_is_left_as_it_is(sample: Path) -> None:
    """Writing it again writes nothing: no file is replaced."""
    before = {path: (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in sample.rglob("*")}
    assert write_sample_batch_now(sample) == len(contents(sample))
    assert {path: (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in sample.rglob("*")} == before


def test_an_interrupted_batch_is_completed(sample: Path, gappy: Path) -> None:
    """A folder with the note and some of the files becomes a whole batch, and what was there is kept."""
    kept = (gappy / "minutes" / "meeting-02.pdf").lstat().st_ino
    write_sample_batch_now(gappy)
    assert contents(gappy) == contents(sample)
    assert (gappy / "minutes" / "meeting-02.pdf").lstat().st_ino == kept


@pytest.mark.parametrize("name", ["anything.txt", NOTE, ".hidden", "folder"])
def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path, name: str) -> None:
    """Nothing is written to it, even where its file happens to have the name of our note."""
    if name == "folder":
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(SourceError, match="is not empty, and holds something other"):
        write_sample_batch_now(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    """A file in the place of the folder, or of one above it, is a sentence and not a crash."""
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for place in (tmp_path / "file", tmp_path / "file" / "batch"):
        with pytest.raises(SourceError, match="cannot be written to"):
            write_sample_batch_now(place)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_a_writer_that_fails_is_a_sentence(sample: Path, tmp_path: Path) -> None:
    """Where the drawing process cannot do its work, the error says what to do, and the batch is not taken for done."""
    (tmp_path / NOTE).write_bytes((sample / NOTE).read_bytes())
    (tmp_path / "correspondence").write_text("a file where a folder should be", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(SourceError, match="could not be drawn"):
            write_sample_batch_now(tmp_path)


async def test_the_batch_can_be_written_from_either_loop(gappy: Path) -> None:
    """The coroutine does what the plain function does, and the loop goes round while it waits."""
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(write_sample_batch(gappy), name="writing")
        for _ in range(20):
            await asyncio.sleep(0)
        assert not writing.done()
    assert writing.result() == len(contents(gappy))


def test_the_process_that_asks_never_loads_mupdf(sample: Path, gappy: Path) -> None:
    """After drawing documents, the parser is still unknown to the process that asked for them."""
    script = (
        "import sys; from pathlib import Path; from engine.sample.batch import write_sample_batch_now as write; "
        "print(write(Path(sys.argv[1])), [name for name in sys.modules if 'mupdf' in name or name == 'fitz'])"
    )
    done = subprocess.run([sys.executable, "-c", script, gappy], check=True, capture_output=True, text=True)
    assert done.stdout.split() == [str(len(contents(sample))), "[]"]
