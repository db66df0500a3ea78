"""Taking out of a case that can only be read: reading needs neither a lock nor a place to write."""

import os
import sys
from pathlib import Path

import pytest

from tests.faults.injection import read_only
from tests.terminal.conftest import Finished
from tests.terminal.program import sluicegate


def assert_taken_out(case: Path, folder: Path) -> None:
    """Make sure that the log and the texts can be had, that it is said what cannot, and that nothing is changed."""
    before = case.read_bytes()
    exported = sluicegate("export", case, "--audit", folder / "log.jsonl")
    assert exported.returncode == 0, exported.stderr
    assert "Verified." in exported.stdout
    assert "It is only read now, and this is not recorded in it." in exported.stderr
    texts = sluicegate("text", case, folder / "texts")
    assert texts.returncode == 0, texts.stderr
    assert "4 pages of 2 documents" in texts.stdout
    assert case.read_bytes() == before


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="mounts a folder read-only, which takes root and Linux"
)
def test_a_case_on_a_medium_that_takes_no_changes_can_be_taken_out(finished: Finished, tmp_path: Path) -> None:
    """Such as an archived case on a disc."""
    place, out = tmp_path / "disc", tmp_path / "out"
    place.mkdir()
    out.mkdir()
    case = finished.case.rename(place / "case.sluice")
    with read_only(place):
        assert_taken_out(case, out)


def test_a_case_that_cannot_be_locked_can_be_taken_out(finished: Finished, tmp_path: Path) -> None:
    """Whatever stands where the lock file would be made."""
    place, out = tmp_path / "place", tmp_path / "out"
    out.mkdir()
    (place / "case.sluice.lock").mkdir(parents=True)
    assert_taken_out(finished.case.rename(place / "case.sluice"), out)


def test_what_is_no_case_is_told_by_its_own_sentence(tmp_path: Path) -> None:
    """Nothing is said of reading where nothing can be read."""
    (tmp_path / "odd.sluice").write_bytes(b"nothing that we know")
    ended = sluicegate("export", tmp_path / "odd.sluice", "--audit", tmp_path / "log.jsonl")
    assert ended.returncode == 4
    assert "is not a Sluicegate case" in ended.stderr
    assert "only read now" not in ended.stderr
