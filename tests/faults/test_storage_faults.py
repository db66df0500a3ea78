"""The disk of the case fails: the run stops with its sentence, nothing acknowledged is lost, a resume makes it whole.

Each fault is a real one: a small file system, a limit on the size of files, system calls that fail, a mount that takes
no changes. How a window waits for room is tested elsewhere; here the program runs in the terminal and ends.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.reader import CaseReader
from engine.errors import CaseError, ExitCode
from engine.models.run import Counts
from tests.faults.injection import needs_posix, needs_root, needs_strace, read_only, small_disk
from tests.faults.program import (
    STOPPED,
    age,
    assert_no_process_left,
    assert_same_as,
    assert_sound,
    ending,
    fingerprint,
    finish,
    start,
)
from tests.support import pdfs
from tests.support.runs import GoldenSet, golden_set

OPTIONS = ("--workers", "1", "--disk-hold", "0", "--disk-release", "1")
"""No reserve of free space: it would hold the run before the disk is full, which is another test's business."""

FULL = (
    "is full. Everything acknowledged so far is kept, and no page counts as failed for it. Free some space there, then "
    "resume."
)
FAILED = "Everything acknowledged so far is kept, and no page counts as failed for it. Check the disk, then resume."

LIMITED = (
    "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)
"""Starts a program that may make no file longer than so many bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch without any bad page, and what an undisturbed run makes of it."""

    folder: Path
    expected: GoldenSet
    files: dict[str, tuple[str, int, int, int]]


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """Give 160 pages whose texts fill about one and a half megabytes of a case."""
    home = tmp_path_factory.mktemp("undisturbed")
    folder = home / "in"
    pdfs.batch(folder, documents=8, pages_each=20, seed=3, words=800)
    age(folder)
    finish(home / "case.sluice", folder, home, OPTIONS)
    expected = golden_set(home / "case.sluice")
    assert {outcome for _, _, outcome, _ in expected} == {"EXTRACTED"}
    return Batch(folder=folder, expected=expected, files=fingerprint(folder))


def assert_stopped(case: Path, code: int, said: str, sentence: str, *, is_all_said: bool = True) -> Counts:
    """Check that a run ended early with its sentence, that no page paid for it, and that it told the truth.

    Args:
        case: The case.
        code: How the program ended.
        said: What it said.
        sentence: What it must have said.
        is_all_said: Whether the case holds nothing more than was acknowledged. A commit whose flush failed counts as
            failed, and may be in the file all the same.
    """
    assert code == STOPPED, said
    assert sentence in said, said
    with CaseReader(case) as reader:
        counts = reader.counts()
    assert not counts.reasons
    pending = re.search(r"Ended early: ([\d,]+) documents? and ([\d,]+) of the pages known so far are pending", said)
    assert pending is not None, said
    said_documents, said_pages = (int(number.replace(",", "")) for number in pending.groups())
    if is_all_said:
        assert (counts.documents.pending, counts.pages.pending) == (said_documents, said_pages)
    else:
        assert counts.documents.pending <= said_documents
    assert_sound(case)
    return counts


def assert_made_whole(case: Path, batch: Batch, home: Path) -> None:
    """Go on without the fault, and compare with an undisturbed run."""
    finish(case, batch.folder, home, OPTIONS)
    assert_same_as(case, batch.expected)
    assert_no_process_left(home)
    assert fingerprint(batch.folder) == batch.files
    assert not list(case.parent.glob("*.part"))


@needs_root
@needs_posix
@pytest.mark.fault(17)
@pytest.mark.parametrize("size", ["1500k", pytest.param("1m", marks=pytest.mark.whole)])
def test_a_full_disk_stops_the_run_and_fails_no_page(batch: Batch, tmp_path: Path, size: str) -> None:
    """On a small file system: twice the same sentence, and with more room the rest is done."""
    with small_disk(tmp_path / "disk", size) as disk:
        case = disk / "case.sluice"
        first = assert_stopped(case, *ending(start(case, batch.folder, tmp_path, OPTIONS)), FULL)
        assert_no_process_left(tmp_path)
        code, said = ending(start(case, batch.folder, tmp_path, OPTIONS))
        assert code in {STOPPED, ExitCode.CASE_UNUSABLE}, said  # there may be no room even for opening it
        assert "full" in said
        with CaseReader(case) as reader:
            assert reader.counts().pages.terminal >= first.pages.terminal
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)  # noqa: S607  # the system's own
        assert_made_whole(case, batch, tmp_path)


@needs_root
@needs_posix
@pytest.mark.fault(17, by="a disk that is full before there is a case")
def test_a_disk_without_room_for_a_case_says_so(batch: Batch, tmp_path: Path) -> None:
    """Not even the empty case fits: a sentence, and the same place can be used once there is room."""
    with small_disk(tmp_path / "disk", "100k") as disk:
        case = disk / "case.sluice"
        code, said = ending(start(case, batch.folder, tmp_path, OPTIONS))
        assert code in {STOPPED, ExitCode.CASE_UNUSABLE}, said
        assert "full" in said
        assert CaseFile.is_new(case)
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)  # noqa: S607  # the system's own
        assert_made_whole(case, batch, tmp_path)


@needs_posix
@pytest.mark.fault(18)
@pytest.mark.parametrize("limit_bytes", [1_000_000, pytest.param(600_000, marks=pytest.mark.whole)])
def test_a_limit_on_file_sizes_stops_the_run_and_fails_no_page(batch: Batch, tmp_path: Path, limit_bytes: int) -> None:
    """The case or its log reaches the limit: an error of the disk, as the system reports it."""
    case = tmp_path / "case.sluice"
    prefix = [sys.executable, "-c", LIMITED, str(limit_bytes)]
    assert_stopped(case, *ending(start(case, batch.folder, tmp_path, OPTIONS, prefix=prefix)), FAILED)
    assert_made_whole(case, batch, tmp_path)


@needs_strace
@pytest.mark.fault(19)
@pytest.mark.parametrize("at", [12, *(pytest.param(number, marks=pytest.mark.whole) for number in (15, 18, 21, 25))])
def test_a_failed_flush_stops_the_run_without_another_try(batch: Batch, tmp_path: Path, at: int) -> None:
    """The n-th flush of the writer fails once; had it been tried again, the run would have gone on."""
    case = tmp_path / "case.sluice"
    prefix = failing("fdatasync", "EIO", str(at))
    options = (*OPTIONS, "--rate", "60", "--burst", "8")  # so that there are more flushes than that, however they group
    code, said = ending(start(case, batch.folder, tmp_path, options, prefix=prefix))
    assert_stopped(case, code, said, FAILED, is_all_said=False)
    assert_made_whole(case, batch, tmp_path)


@needs_strace
@pytest.mark.fault(20)
@pytest.mark.parametrize("at", [90, *(pytest.param(number, marks=pytest.mark.whole) for number in (75, 120, 150))])
def test_a_disk_that_is_full_from_a_write_on_stops_the_run(batch: Batch, tmp_path: Path, at: int) -> None:
    """Every write of the case's thread fails from the n-th on, also those of the clean end."""
    case = tmp_path / "case.sluice"
    prefix = failing("pwrite64", "ENOSPC", f"{at}+")
    assert_stopped(case, *ending(start(case, batch.folder, tmp_path, OPTIONS, prefix=prefix)), FULL)
    assert_made_whole(case, batch, tmp_path)


@needs_strace
@pytest.mark.whole
@pytest.mark.fault(19, 20, by="the disk fails while the case is being made")
@pytest.mark.parametrize(
    ("call", "error", "when"),
    [("fdatasync", "EIO", str(at)) for at in (1, 3, 5, 7, 9)]
    + [("pwrite64", "ENOSPC", f"{at}+") for at in (1, 8, 20, 40, 60)],
)
def test_a_disk_that_fails_while_the_case_is_made_leaves_a_place_to_begin_again(
    batch: Batch, tmp_path: Path, call: str, error: str, when: str
) -> None:
    """A sentence, and the same command does everything once the disk works."""
    case = tmp_path / "case.sluice"
    code, said = ending(start(case, batch.folder, tmp_path, OPTIONS, prefix=failing(call, error, when)))
    assert code in {STOPPED, ExitCode.CASE_UNUSABLE}, said
    assert "disk" in said
    if not CaseFile.is_new(case):
        assert_sound(case)
    assert_made_whole(case, batch, tmp_path)


def failing(call: str, error: str, when: str) -> list[str]:
    """Return the command that runs a program whose system calls of a kind fail."""
    quiet = ["strace", "-f", "-qq", "-o", os.devnull]
    return [*quiet, "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"]


@needs_root
@needs_posix
@pytest.mark.fault(21)
def test_a_read_only_folder_is_told_before_anything_starts(batch: Batch, tmp_path: Path) -> None:
    """The sentence offers another place; nothing is made, and no worker is left."""
    place = tmp_path / "place"
    place.mkdir()
    with read_only(place):
        code, said = ending(start(place / "case.sluice", batch.folder, tmp_path, OPTIONS))
        assert list(place.iterdir()) == []
    assert code == ExitCode.CASE_UNUSABLE
    assert "choose another place" in said, said
    assert_no_process_left(tmp_path)


@needs_root
@needs_posix
@pytest.mark.fault(21, by="a case that is there already, under a read-only mount")
def test_a_case_in_a_folder_that_became_read_only_is_left_as_it_is(batch: Batch, tmp_path: Path) -> None:
    """It is refused for a run, byte for byte the same, and usable again afterwards."""
    place = tmp_path / "place"
    place.mkdir()
    case = place / "case.sluice"
    CaseFile.create(case, request_id="r").close()
    before = case.read_bytes()
    with read_only(place):
        code, said = ending(start(case, batch.folder, tmp_path, OPTIONS))
    assert code == ExitCode.CASE_UNUSABLE, said
    assert "another place" in said or "copy it to a place where you may write" in said, said
    assert case.read_bytes() == before
    assert_made_whole(case, batch, tmp_path)


@pytest.mark.fault(22)
@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p"])
def test_a_network_file_system_is_refused_and_nothing_is_made(tmp_path: Path, kind: str) -> None:
    """By the system's table of mounts, as it would look there."""
    mounts = f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:40 / {tmp_path} rw - {kind} server:/share rw\n".encode()
    with pytest.raises(CaseError, match=r"network file system.*Choose a folder on a disk of this computer"):
        CaseFile.create(tmp_path / "case.sluice", request_id="R", mounts=mounts)
    assert list(tmp_path.iterdir()) == []
