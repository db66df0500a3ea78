"""A source that is rewritten while it is read: its text is that of one version, and never of two."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.case.reader import CaseReader
from tests.faults.program import (
    ACCOUNTED,
    assert_no_process_left,
    assert_sound,
    ending,
    fingerprint,
    finish,
    pages_done,
    start,
    wait_until,
)
from tests.support import pdfs
from tests.support.runs import GoldenSet, golden_set, records_of

ONE_WORKER = ("--workers", "1")
PAGES = 120

pytestmark = pytest.mark.fault(28)


def replace_in_place(path: Path, new: bytes) -> None:
    """Write another document into the same file, as an editor does that does not rename."""
    with path.open("r+b") as file:
        file.write(new)
        file.truncate()


def rename_over(path: Path, new: bytes) -> None:
    """Put another file in its place under the same name."""
    other = path.with_suffix(".new")
    other.write_bytes(new)
    other.replace(path)


def cut_short(path: Path, new: bytes) -> None:
    """Take the second half away, and with it the table of pages."""
    os.truncate(path, len(new) // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch, and what an undisturbed run makes of it."""

    folder: Path
    expected: GoldenSet


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """Give the batch; tests work on copies of it."""
    home = tmp_path_factory.mktemp("undisturbed")
    folder = home / "in"
    pdfs.batch(folder, documents=2, pages_each=5, seed=9)
    pdfs.text_pdf(folder / "moving.pdf", pages=PAGES, seed=1)
    finish(home / "first.sluice", folder, home, ONE_WORKER)
    return Batch(folder=folder, expected=golden_set(home / "first.sluice"))


@pytest.mark.parametrize("change", [replace_in_place, rename_over, cut_short])
def test_a_source_rewritten_while_it_is_read_is_never_mixed(
    batch: Batch, tmp_path: Path, change: Callable[[Path, bytes], None]
) -> None:
    """Pages read before are those of the first version; all others are the dead letter that says why."""
    folder = Path(shutil.copytree(batch.folder, tmp_path / "in"))
    moving = folder / "moving.pdf"
    second = pdfs.text_pdf(tmp_path / "second.pdf", pages=PAGES, seed=2).read_bytes()
    others = {path: mark for path, mark in fingerprint(folder).items() if path != "moving.pdf"}

    case = tmp_path / "case.sluice"
    process = start(case, folder, tmp_path, (*ONE_WORKER, "--rate", "120", "--burst", "8"))
    assert wait_until(lambda: pages_done(case) >= 24, process)
    change(moving, second)
    code, said = ending(process)
    assert code in ACCOUNTED, said

    golden = golden_set(case)
    read = {entry for entry in golden if entry[2] == "EXTRACTED"}
    assert read <= batch.expected
    assert {path for path, page, _, _ in golden if page is not None} >= {"00001.pdf", "00002.pdf", "moving.pdf"}
    dead = [record for record in records_of(case) if record["event"] == "DEAD_LETTER"]
    assert dead
    assert {record["reason"] for record in dead} == {"source_changed"}
    with CaseReader(case) as reader:
        assert reader.counts().reconciled
    assert_sound(case)
    assert_no_process_left(tmp_path)
    assert {path: mark for path, mark in fingerprint(folder).items() if path != "moving.pdf"} == others
