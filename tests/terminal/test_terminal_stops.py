"""Runs that are stopped: real signals to a real run, and going on afterwards."""

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from engine.models.outcome import RunState
from engine.models.run import CaseInfo
from engine.session.directories import Directories
from engine.session.opening import open_case
from engine.settings import FlowLimits, Settings
from engine.terminal.signals import CANCELLING, REPEAT_AFTER_S, STOPPING
from tests.support import pdfs
from tests.terminal.program import read_until, sluicegate, start, summary_of

if os.name == "nt":
    pytest.skip("signals are sent as POSIX systems do", allow_module_level=True)

WORKERS = ("--workers", "1")
SLOW = ("--rate", "4", "--burst", "1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.fault(16)
def test_a_signal_stops_the_run_safely_and_it_can_be_resumed(tmp_path: Path, number: signal.Signals) -> None:
    """Exit code 3, a reconciled remainder and the command to go on; the next run finishes exactly what was left."""
    folder, case = tmp_path / "batch", tmp_path / "case.sluice"
    pdfs.batch(folder, 20, 4)
    process = start("run", folder, "--case", case, "--json", *SLOW, *WORKERS)
    said = read_until(process.stderr, "pages/s")
    if number is signal.SIGINT:
        os.killpg(process.pid, number)  # a terminal sends it to every process that it started
    else:
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
    log = case.read_bytes()
    assert b'"event":"EXTRACTED"' in log
    assert b'"event":"RETRY"' not in log  # no worker was lost over it
    assert finished["audit_records"] > stopped["audit_records"]


def test_a_case_that_another_run_has_open_ends_with_4(tmp_path: Path) -> None:
    """Two runs never share a case: the second is told, and the first goes on undisturbed."""
    folder, case = tmp_path / "batch", tmp_path / "case.sluice"
    pdfs.batch(folder, 20, 4)
    process = start("run", folder, "--case", case, *SLOW, *WORKERS)
    read_until(process.stderr, "pages/s")
    ended = sluicegate("run", folder, "--case", case, *WORKERS)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert "Traceback" not in ended.stderr
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 3


@pytest.mark.fault(16)
def test_asking_twice_cancels_what_is_in_flight(tmp_path: Path) -> None:
    """A page that would take for ever does not hold the program; the case stays usable and the page pending."""
    folder, case = tmp_path / "batch", tmp_path / "case.sluice"
    folder.mkdir()
    pdfs.never_ending_pdf(folder / "endless.pdf")
    process = start("run", folder, "--case", case, "--page-clock", "1h", "--document-clock", "1h", *WORKERS)
    read_until(process.stderr, "pages/s")
    process.send_signal(signal.SIGINT)
    said = read_until(process.stderr, STOPPING)
    time.sleep(REPEAT_AFTER_S)  # no wait for a condition: only a request that comes this much later is a second one
    process.send_signal(signal.SIGINT)
    told, rest = process.communicate()
    said += rest
    assert process.returncode == 3, said
    assert CANCELLING in said
    assert f"sluicegate run {folder} --case {case}" in told

    ended = sluicegate("run", folder, "--case", case, "--json", "--page-clock", "500ms", *WORKERS)
    assert ended.returncode == 1, ended.stderr
    assert summary_of(ended)["reasons"] == {"time_limit": 1}


def test_quiet_still_says_how_to_go_on(tmp_path: Path) -> None:
    """Whoever asked for quiet is told how it stands, even where the stop came before the run did."""
    folder, case = tmp_path / "batch", tmp_path / "case.sluice"
    pdfs.batch(folder, 20, 4)
    process = start("run", folder, "--case", case, "--quiet", *SLOW, *WORKERS)
    while not case.exists():  # nothing is printed that could be waited for
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, said = process.communicate()
    assert (process.returncode, out) == (3, "")
    assert STOPPING in said
    assert f"Go on with: sluicegate run {folder} --case {case}" in said


async def paused_case(case: Path, folder: Path) -> CaseInfo:
    """Begin a case and leave it paused."""
    session = await open_case(
        case,
        request_id="REQ-1",
        settings=Settings(flow=FlowLimits.build(workers=1)),
        directories=Directories.default(),
    )
    session.pause()
    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(session.run([folder]), name="run")
        while session.state is not RunState.PAUSED and not run.done():
            await asyncio.sleep(0.02)
        session.stop()
    await session.close()
    return session.info


@pytest.mark.one_loop("asyncio")
async def test_a_paused_case_goes_on_when_a_run_is_asked_for(tmp_path: Path) -> None:
    """The lasting pause is told and lifted: the run finishes, and the case is not paused afterwards."""
    folder, case = tmp_path / "batch", tmp_path / "case.sluice"
    pdfs.batch(folder, 2, 2)
    assert (await paused_case(case, folder)).paused
    ended = await asyncio.to_thread(sluicegate, "run", "--case", case, "--json", *WORKERS)
    assert ended.returncode == 0, ended.stderr
    assert "The case was paused. It goes on now" in ended.stderr
    assert summary_of(ended)["pages"]["extracted"] == 4
    session = await open_case(case, settings=Settings(), directories=Directories.default())
    await session.close()
    assert not session.info.paused
