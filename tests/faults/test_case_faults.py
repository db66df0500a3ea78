"""The case file in trouble, as the user of the program meets it: in use twice, damaged, an older copy, its log deleted.

Each is refused with what to do, nothing is written to it, and after a repair or with the right file back, a run ends as
an undisturbed one.
"""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.program import (
    ACCOUNTED,
    MODULE,
    assert_no_process_left,
    assert_same_as,
    assert_sound,
    ending,
    environment,
    fingerprint,
    finish,
    pages_done,
    start,
    wait_until,
)
from tests.support import pdfs
from tests.support.runs import GoldenSet, golden_set

UNUSABLE = 4
"""Exit code for a case that cannot be used."""

SLOWLY = ("--rate", "60", "--burst", "4", "--workers", "1")
"""Limits under which a run is still going on when something has happened to it."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch, and what an undisturbed run makes of it."""

    folder: Path
    expected: GoldenSet


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """Give the batch; tests only read it."""
    place = tmp_path_factory.mktemp("batch")
    folder = place / "in"
    pdfs.batch(folder, documents=12, pages_each=20, seed=9, words=200)
    pdfs.blank_pdf(folder / "blank.pdf", pages=2)
    pdfs.image_only_pdf(folder / "scan.pdf", pages=1)
    finish(place / "whole.sluice", folder, place, options=())
    return Batch(folder=folder, expected=golden_set(place / "whole.sluice"))


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """Give a place for a case, in a folder of its own."""
    (tmp_path / "cases").mkdir()
    return tmp_path / "cases" / "matter.sluice"


def _kill_at(case: Path, folder: Path, home: Path, pages: int) -> None:
    """Run until so many pages are done, and kill the program."""
    process = start(case, folder, home, SLOWLY)
    assert wait_until(lambda: pages_done(case) >= pages, process)
    process.send_signal(signal.SIGKILL)
    ending(process)
    assert_no_process_left(home)


def _stop_at(case: Path, folder: Path, home: Path, pages: int) -> None:
    """Run until so many pages are done, and stop the program safely."""
    process = start(case, folder, home, SLOWLY)
    assert wait_until(lambda: pages_done(case) >= pages, process)
    process.send_signal(signal.SIGTERM)
    ending(process)


def _refused(case: Path, home: Path) -> str:
    """Try to go on with a case; check that it is refused and not touched; return the sentence."""
    before = {name: facts for name, facts in fingerprint(case.parent).items() if name == case.name}
    code, said = ending(start(case, None, home))
    assert code == UNUSABLE, said
    assert {name: facts for name, facts in fingerprint(case.parent).items() if name == case.name} == before
    return " ".join(said.split())


def _repair(case: Path, new: Path, home: Path) -> str:
    """Repair a case with the program itself; return what it said."""
    before = case.read_bytes()
    command = [sys.executable, *MODULE, "repair", str(case), str(new)]
    ended = subprocess.run(command, env=environment(home), cwd=home, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert case.read_bytes() == before
    return " ".join(ended.stdout.split())


@pytest.mark.fault(23)
def test_a_second_program_is_told_which_process_has_the_case(case: Path, batch: Batch, tmp_path: Path) -> None:
    """The second is refused with the number of the first, which goes on to its end as if nothing had been."""
    first = start(case, batch.folder, tmp_path, ("--rate", "150", "--burst", "4", "--workers", "1"))
    assert wait_until(lambda: pages_done(case) >= 20, first)
    first.send_signal(signal.SIGSTOP)  # so that it has the case for as long as the second one takes to start
    try:
        code, said = ending(start(case, None, tmp_path))
    finally:
        first.send_signal(signal.SIGCONT)
    assert code == UNUSABLE, said
    assert f"is already open in process {first.pid} on this computer" in " ".join(said.split())
    code, said = ending(first)
    assert code in ACCOUNTED, said
    assert_same_as(case, batch.expected)


@pytest.mark.fault(24)
def test_a_case_with_turned_bits_is_refused_and_repaired_into_a_new_one(
    case: Path, batch: Batch, tmp_path: Path
) -> None:
    """After a crash every page of the file is looked at; what is damaged is not written to, and can be repaired."""
    _stop_at(case, batch.folder, tmp_path, 30)
    _kill_at(case, batch.folder, tmp_path, 60)
    content = bytearray(case.read_bytes())
    for page in range(4, len(content) // 16384):
        content[page * 16384 + 3] ^= 0x40  # how many rows the page has
    case.write_bytes(content)
    said = _refused(case, tmp_path)
    assert "is damaged. Nothing is written to it any more." in said
    assert "repair it into a new file (sluicegate repair CASE NEW_CASE)" in said
    new = case.with_name("repaired.sluice")
    assert "The damaged one was not changed" in _repair(case, new, tmp_path)
    assert_sound(new)
    finish(new, None, tmp_path, options=())
    assert_same_as(new, batch.expected)


@pytest.mark.fault(25)
def test_an_older_copy_in_place_of_the_case_is_found_out(case: Path, batch: Batch, tmp_path: Path) -> None:
    """The checkpoints kept outside the case tell; the newer file goes on, and so does the older one once repaired."""
    _stop_at(case, batch.folder, tmp_path, 20)
    older = Path(shutil.copy(case, tmp_path / "older"))
    _stop_at(case, batch.folder, tmp_path, 50)
    newer = case.rename(tmp_path / "newer")
    shutil.copy(older, case)
    said = _refused(case, tmp_path)
    assert "is shorter than the last known checkpoint" in said
    assert "bring back the newer file" in said
    repaired = case.with_name("repaired.sluice")
    shutil.copytree(tmp_path / "state", tmp_path / "state before")
    assert "Left behind: " in _repair(case, repaired, tmp_path)
    finish(repaired, None, tmp_path, options=())
    assert_same_as(repaired, batch.expected)
    # With the newer file back, and the checkpoints that belong to it:
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "state before").rename(tmp_path / "state")
    newer.replace(case)
    finish(case, None, tmp_path, options=())
    assert_same_as(case, batch.expected)


@pytest.mark.fault(26)
@pytest.mark.parametrize("first_run", [True, pytest.param(False, marks=pytest.mark.whole)])
def test_a_case_whose_log_was_deleted_after_a_kill_is_found_out(
    case: Path, batch: Batch, tmp_path: Path, *, first_run: bool
) -> None:
    """Even in a case that was never closed before: it is not taken for a whole one, nor for none at all."""
    if not first_run:
        _stop_at(case, batch.folder, tmp_path, 20)
    _kill_at(case, batch.folder, tmp_path, 40)
    case.with_name(case.name + "-wal").unlink()
    case.with_name(case.name + "-shm").unlink(missing_ok=True)
    said = _refused(case, tmp_path)
    assert "which held what was recorded last, is missing" in said or "shorter than the last known checkpoint" in said
    assert "repair it into a new file" in said
    new = case.with_name("repaired.sluice")
    _repair(case, new, tmp_path)
    assert_sound(new)
    finish(new, batch.folder if first_run else None, tmp_path, options=())
    assert_same_as(new, batch.expected)
