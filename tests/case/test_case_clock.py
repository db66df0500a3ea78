"""A wall clock that was set back between two runs: the log says so before anything is dated by it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.writer import CaseClock
from engine.models.facts import Noted
from tests.case.factory import commit_all, found, probed, records


@pytest.mark.fault(33)
@pytest.mark.parametrize(("back", "jumps"), [(timedelta(days=3), [-3 * 86_400_000]), (timedelta(seconds=1), [])])
def test_a_clock_that_was_set_back_between_two_runs_is_recorded_once(
    path: Path, back: timedelta, jumps: list[int]
) -> None:
    """The first commit after the case was opened notes by how much; a clock that only wavers is not worth a record."""
    clock = CaseClock()
    with CaseFile.create(path, request_id="R", clock=clock) as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf"), probed(1, pages=3))
    with CaseFile.open(path, clock=replace(clock, utc=lambda: clock.utc() - back)) as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("b.pdf"))
        commit_all(case, found("c.pdf"), probed(2, pages=1))
        found_ms = [record["jump_ms"] for record in records(case) if record["event"] == "CLOCK_JUMPED"]
    assert [round(jump_ms, -5) for jump_ms in found_ms] == jumps
