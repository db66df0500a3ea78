"""The wall clock is watched: a jump becomes an audit record, and no rule of the flow follows it."""

import asyncio
import time
from pathlib import Path

import pytest

from engine.models.outcome import RunState
from engine.pipeline.wallclock import WallClockWatch
from tests.support.runs import open_run, records_of, small_flow, write_documents
from tests.support.scripted_extractor import ScriptedExtractor


@pytest.mark.parametrize(("wall_s", "jump_ms"), [(1010.0, None), (1011.5, None), (4610.0, 3_600_000), (-9.5, -1019500)])
def test_only_a_jump_counts(wall_s: float, jump_ms: int | None) -> None:
    """Ten seconds later on both clocks, and slewing, are none; an hour ahead and a step back are."""
    walls, nows = iter([1000.0, wall_s, wall_s]), iter([5.0, 15.0, 15.0])
    watch = WallClockWatch(lambda: next(walls), lambda: next(nows))
    assert watch.jump_ms() == jump_ms
    assert watch.jump_ms() is None


@pytest.mark.fault(33)
@pytest.mark.parametrize("jump_s", [3600.0, -3 * 86400.0])
async def test_a_clock_that_is_set_during_a_run_is_recorded_and_changes_nothing(tmp_path: Path, jump_s: float) -> None:
    """An hour ahead or three days back: one record says so, no page fails, and durations are not negative."""
    folder = write_documents(tmp_path / "in", [4] * 4)
    case = tmp_path / "c.sluice"
    set_by_s = 0.0
    going_on = asyncio.Event()

    async def work(_span: object) -> None:
        await going_on.wait()

    async with (
        open_run(
            case, folder, ScriptedExtractor(work=work), small_flow(), wall_s=lambda: time.time() + set_by_s
        ) as run,
        asyncio.TaskGroup() as tasks,
    ):
        running = tasks.create_task(run.execute())
        while not run.metrics.read(None, 10):
            await asyncio.sleep(0.01)
        set_by_s = jump_s
        while not any(record["event"] == "CLOCK_JUMPED" for record in records_of(case)):
            await asyncio.sleep(0.02)
        going_on.set()
        summary = await running
    assert summary.state is RunState.FINISHED
    assert summary.counts.pages.extracted == 16
    (jumped,) = [record for record in records_of(case) if record["event"] == "CLOCK_JUMPED"]
    assert abs(jumped["jump_ms"] - jump_s * 1000) < 1000
    assert all(record.get("dur_ms", 0) >= 0 for record in records_of(case))
