"""Runs that are stopped: real signals to a real run, and going on afterwards."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from engine.terminal.signals import CANCELLING, REPEAT_AFTER_S, STOPPING
from tests.support import pdfs
from tests.terminal.program import read_until, sluicegate, start, summary_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are sent as POSIX systems do")

WORKERS = ("--workers", "2")
SLOW = ("--rate", "4", "--burst", "1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_safely_and_it_can_be_resumed(tmp_path: Path, number: signal.Signals) -> None:
    """Exit code 3, a reconciled remainder and the command to go on; the next run finishes exactly what was left."""
    folder, case = tmp_path / "batch", tmp_path / "case.sluice"
    pdfs.batch(folder, 20, 4)
    process = start("run", folder, "--case", case, "--json", *SLOW, *WORKERS)
    said = read_until(process.stderr, "pages/s")
    process.send_signal(number)
    out, rest = process.communicate()
    said += rest
    assert process.returncode == 3, said
    assert STOPPING in said
    assert CANCELLING not in said
    assert f"sluicegate run {folder} --case {case}" in said
    stopped = summary_of(subprocess.CompletedProcess([], 3, out, said))
    assert stopped["reconciled"] is False

    ended = sluicegate("run", folder, "--case", case, "--json", *WORKERS)
    assert ended.returncode == 0, ended.stderr
    finished = summary_of(ended)
    assert finished["pages"]["extracted"] == 80
    assert finished["audit_records"] > stopped["audit_records"]


def test_asking_twice_cancels_what_is_in_flight(tmp_path: Path) -> None:
    """A page that would take for ever does not hold the program; the case stays usable and the page pending."""
    folder, case = tmp_path / "batch", tmp_path / "case.sluice"
    folder.mkdir()
    pdfs.never_ending_pdf(folder / "endless.pdf")
    process = start("run", folder, "--case", case, "--page-clock", "1h", "--document-clock", "1h", *WORKERS)
    read_until(process.stderr, "pages/s")
    process.send_signal(signal.SIGINT)
    said = read_until(process.stderr, STOPPING)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)  # the first of these that comes late enough is the second request
        try:
            process.wait(timeout=REPEAT_AFTER_S * 2)
        except subprocess.TimeoutExpired:
            continue
    _, rest = process.communicate()
    said += rest
    assert process.returncode == 3, said
    assert CANCELLING in said
    assert f"--case {case}" in said

    ended = sluicegate("run", folder, "--case", case, "--json", "--page-clock", "500ms", *WORKERS)
    assert ended.returncode == 1, ended.stderr
    assert summary_of(ended)["reasons"] == {"time_limit": 1}
