"""A hundred thousand files, and one of very many pages: the memory of the main process follows the bounds, not these.

How many files and pages: `SLUICEGATE_FILES` (default 100,000) and `SLUICEGATE_PAGES` (default 50,000).
"""

import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from engine.case.reader import CaseReader
from engine.settings import MIB
from tests.faults.program import ACCOUNTED, age, assert_no_process_left, assert_sound, ending, start
from tests.support import pdfs

FILES = int(os.environ.get("SLUICEGATE_FILES", "100000"))
PAGES = int(os.environ.get("SLUICEGATE_PAGES", "50000"))
A_FOLDER = 1000
"""Files in one folder."""

ALLOWED_GROWTH_BYTES = 50 * MIB


def write_files(folder: Path, files: int, pages: int) -> Path:
    """Write so many files of one page, each with a content of its own, and one of many pages."""
    folder.mkdir()
    pattern = pdfs.text_pdf(folder / "pattern.pdf", pages=1, words=8)
    content = pattern.read_bytes()
    pattern.unlink()
    for number in range(files):
        place = folder / f"{number // A_FOLDER:04d}"
        place.mkdir(exist_ok=True)
        # A comment at the end makes each file's bytes its own, without a change of the document.
        (place / f"{number:06d}.pdf").write_bytes(content + f"% {number}\n".encode())
    pdfs.text_pdf(folder / "long.pdf", pages=pages, words=8)
    age(folder)
    return folder


def peak_rss_bytes(process: "subprocess.Popen[bytes]") -> int:
    """Watch a program until it ends; return the highest resident memory of its main process."""
    watched, peak = psutil.Process(process.pid), 0
    while process.poll() is None:
        try:
            peak = max(peak, watched.memory_info().rss)
        except psutil.Error:
            break
        time.sleep(0.05)  # between two looks
    return peak


def run_over(folder: Path, home: Path, pages: int) -> int:
    """Run over a folder to the end; return the highest memory of the main process."""
    case = home / f"{folder.name}.sluice"
    process = start(case, folder, home, ())
    peak = peak_rss_bytes(process)
    code, said = ending(process)
    assert code in ACCOUNTED, said
    with CaseReader(case) as reader:
        counts = reader.counts()
    assert counts.reconciled
    assert counts.pages.extracted == pages
    assert_sound(case)
    assert_no_process_left(home)
    return peak


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.fault(32)
def test_memory_does_not_follow_the_size_of_a_batch(tmp_path: Path) -> None:
    """Against a batch of a fiftieth of the size, the main process needs at most 50 MB more."""
    small = run_over(write_files(tmp_path / "few", FILES // 50, PAGES // 50), tmp_path, FILES // 50 + PAGES // 50)
    large = run_over(write_files(tmp_path / "many", FILES, PAGES), tmp_path, FILES + PAGES)
    print(f"{FILES} files and {PAGES} pages: main process {large // MIB} MB; a fiftieth of that: {small // MIB} MB")
    assert large - small <= ALLOWED_GROWTH_BYTES
