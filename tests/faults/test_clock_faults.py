"""Clocks that jump and machines that sleep: no time-out that nobody earned, and a log that still verifies.

A wall clock that is set while a run goes on is tested in `tests/pipeline`; here it is set between runs, and whole
programs are put to sleep.
"""

import signal
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.writer import CaseClock
from engine.models.facts import Noted
from tests.case.factory import done, found, probed
from tests.faults import program
from tests.faults.injection import begun, needs_linux, workers_of
from tests.support import pdfs
from tests.support.runs import golden_set, records_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.fault(33, by="a wall clock that was set between two runs")
@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(days=-3), timedelta(days=-20_000)])
def test_a_clock_that_is_set_between_two_runs(tmp_path: Path, jump: timedelta) -> None:
    """The log tells the times as they were shown; its order is that of its numbers, and it verifies."""
    case = tmp_path / "case.sluice"
    with CaseFile.create(case, request_id="r", clock=CaseClock(utc=lambda: NOON)) as opened:
        opened.commit([found("a.pdf"), probed(1), done(1, 1)])
    with CaseFile.open(case, clock=CaseClock(utc=lambda: NOON + jump)) as opened:
        assert opened.counts().pages.extracted == 1
        opened.commit([found("b.pdf"), probed(2), done(2, 1)])
        opened.commit([Noted(event="RUN_ENDED", fields={"elapsed_ms": 0}, checkpoint=True)])
    records = records_of(case)
    assert [record["seq"] for record in records] == [*range(1, len(records) + 1)]
    assert {record["ts"][:10] for record in records} == {f"{NOON:%Y-%m-%d}", f"{NOON + jump:%Y-%m-%d}"}
    program.assert_sound(case)


def has_done(case: Path, pages: int) -> bool:
    """Whether so many pages of a case that is being written are done."""
    return program.pages_done(case) >= pages


@pytest.mark.fault(34)
@pytest.mark.slow
@pytest.mark.whole
@needs_linux
def test_a_machine_that_sleeps_costs_nothing(tmp_path: Path) -> None:
    """Everything stopped for longer than the clocks of pages and documents: afterwards no page has timed out."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    pdfs.batch(folder, 20, 20, seed=4, words=300)
    program.finish(tmp_path / "whole.sluice", folder, tmp_path, ())
    clocks = ("--page-clock", "6s", "--open-clock", "6s", "--document-clock", "12s", "--start-clock", "12s")
    with begun(case, folder, tmp_path, (*clocks, "--workers", "2", "--rate", "150", "--burst", "32")) as process:
        for pages in (40, 200):
            assert program.wait_until(partial(has_done, case, pages), process)
            workers = workers_of(process.pid)
            process.send_signal(signal.SIGSTOP)
            for worker in workers:
                worker.suspend()
            time.sleep(14)  # no wait for a condition: it is the sleep that is injected
            process.send_signal(signal.SIGCONT)
            time.sleep(0.5)  # the program wakes up first and finds workers that have done nothing for long
            for worker in workers:
                worker.resume()
        code, said = program.ending(process)
    assert code == 0, said
    assert not [record for record in records_of(case) if record["event"] in {"RETRY", "DEAD_LETTER"}]
    program.assert_same_as(case, golden_set(tmp_path / "whole.sluice"))
    program.assert_no_process_left(tmp_path)
