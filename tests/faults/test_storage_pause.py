"""A disk that is full while somebody is there: the run pauses, and goes on when there is room and Resume is pressed."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from engine.models.outcome import HoldCause, RunState
from engine.session.directories import Directories
from engine.session.opening import open_case
from engine.settings import DiskReserve, FlowLimits, Settings
from tests.faults.injection import needs_root, small_disk
from tests.faults.program import assert_same_as, assert_sound
from tests.support import pdfs
from tests.support.runs import golden_set, records_of

FULL = (
    "is full. Everything acknowledged so far is kept, and no page counts as failed for it. Free some space there, then "
    "resume."
)


def make_room(disk: Path) -> None:
    """Let a small disk grow."""
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)  # noqa: S607


@needs_root
@pytest.mark.fault(17)
async def test_a_full_disk_pauses_an_attended_run_until_there_is_room_and_it_is_resumed(tmp_path: Path) -> None:
    """Paused with its sentence, nothing failed, all acknowledged is there; then the outcomes are as undisturbed."""
    folder = tmp_path / "in"
    pdfs.batch(folder, documents=12, pages_each=20, seed=8, words=500)
    settings = Settings(
        flow=FlowLimits.build(workers=1), disk=DiskReserve(hold_below_bytes=0, release_at_bytes=1)
    )  # the reserve would hold long before
    places = Directories.below(tmp_path / "home")
    whole = await open_case(tmp_path / "whole.sluice", request_id="r", settings=settings, directories=places)
    await whole.run([folder])
    await whole.close()
    with small_disk(tmp_path / "disk", "900k") as disk:
        case = disk / "case.sluice"
        session = await open_case(case, request_id="r", settings=settings, directories=places)
        try:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(session.run([folder], attended=True))
                while session.state is not RunState.PAUSED:
                    assert not running.done()
                    await asyncio.sleep(0.02)
                snapshot = session.snapshot()
                assert FULL in snapshot.error
                assert HoldCause.STORAGE in {hold.cause for hold in snapshot.stage.holds}
                acknowledged = golden_set(case)
                assert {outcome for _, _, outcome, _ in acknowledged} <= {"EXTRACTED"}
                make_room(disk)
                session.resume()
            assert running.result().state is RunState.FINISHED
            assert running.result().error == ""
        finally:
            await session.close()
        assert acknowledged <= golden_set(case)
        assert_sound(case)
        assert_same_as(case, golden_set(tmp_path / "whole.sluice"))
        held = [record["event"] for record in records_of(case) if record.get("cause") == "storage"]
        assert held == ["HELD", "RELEASED"]
