"""Holds for memory, disk and a source that is away: two levels, and nothing lost while they stand."""

import asyncio
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from engine.models.document import DocumentRef, Failure
from engine.models.outcome import HoldCause, Reason, RunState
from engine.models.run import Tally
from engine.pipeline.resources import MemoryReading, ProcessTree, TwoLevelHold, free_bytes
from engine.pipeline.upstream import Blame, SourceWatch
from engine.settings import MIB, DiskReserve, MemoryBudget, RetryLimits
from tests.support.runs import open_run, records_of, run_once, small_flow, write_documents
from tests.support.scripted_extractor import ScriptedExtractor


def vanished(document: DocumentRef) -> Failure | None:
    """Fail as a worker does where a document's file is not there."""
    there = Path(os.fsdecode(document.location)).exists()
    return None if there else Failure(reason=Reason.SOURCE_VANISHED, code=2)


def test_the_memory_hold_begins_and_ends_at_its_two_levels() -> None:
    """Between the levels nothing changes, so that a reading around one of them does not flap."""
    changes: list[bool] = []
    hold = TwoLevelHold(changes.append)
    levels = MemoryBudget(budget_bytes=100 * MIB, hold_percent=90, release_percent=75)
    for percent in (50, 89, 90, 95, 80, 76, 88, 75, 80, 89, 91):
        hold.judge_memory(percent * MIB, 100 * MIB, levels)
    assert changes == [True, False, True]


def test_the_disk_hold_ignores_what_cannot_be_told() -> None:
    """A disk whose free space cannot be read neither begins nor ends a hold."""
    changes: list[bool] = []
    hold = TwoLevelHold(changes.append)
    reserve = DiskReserve(hold_below_bytes=100, release_at_bytes=200)
    for free in (500, None, 99, None, 150, 199, 200):
        hold.judge_disk(free, reserve)
    assert changes == [True, False]


def test_memory_is_read_of_named_processes_only() -> None:
    """A process that does not exist counts as nothing; our own is always there."""
    reading = ProcessTree().read([2**22 + 1])
    assert reading.workers == 0
    assert reading.main > 0
    assert MemoryReading(main=3, workers=4).tree == 7


def test_the_budget_is_a_share_unless_it_is_set() -> None:
    """70 % of what may be used, or exactly what was asked for."""
    assert MemoryBudget().in_force(1000) == 700
    assert MemoryBudget(budget_bytes=64 * MIB).in_force(1000) == 64 * MIB


def test_free_space_of_a_missing_folder_cannot_be_told(tmp_path: Path) -> None:
    """It is no error: there is just nothing to judge."""
    assert free_bytes(tmp_path / "gone") is None
    assert (free_bytes(tmp_path) or 0) > 0


async def test_a_nearly_full_disk_holds_admission_and_fails_no_page(tmp_path: Path) -> None:
    """With a reserve that no disk has, the run is held for `disk`; lowered, it goes on to the end."""
    folder = write_documents(tmp_path / "in", [40] * 6)
    greedy = DiskReserve(hold_below_bytes=2**62, release_at_bytes=2**62 + 1)
    settings = replace(small_flow(), disk=greedy)

    held = asyncio.Event()

    async def work(_span: object) -> None:
        await held.wait()  # so that there is something left to hold

    extractor = ScriptedExtractor(work=work)
    async with open_run(tmp_path / "c.sluice", folder, extractor, settings) as run, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run.execute())
        while not any(hold.cause is HoldCause.DISK for hold in run.snapshot().stage.holds):
            await asyncio.sleep(0.01)
        held.set()
        run.apply(replace(settings, disk=DiskReserve(hold_below_bytes=0, release_at_bytes=1)))
        summary = await running
    assert summary.state is RunState.FINISHED
    assert summary.counts.pages.extracted == 240
    assert summary.holds[HoldCause.DISK] == 1
    disk = [record["event"] for record in records_of(tmp_path / "c.sluice") if record.get("cause") == "disk"]
    assert disk == ["HELD", "RELEASED"]


async def test_memory_over_the_budget_holds_admission_until_it_is_back(tmp_path: Path) -> None:
    """A budget that the test process itself exceeds holds; a larger one lets go."""
    folder = write_documents(tmp_path / "in", [40] * 6)
    tight = replace(small_flow(), memory=MemoryBudget(budget_bytes=64 * MIB, hold_percent=2, release_percent=1))

    held = asyncio.Event()

    async def work(_span: object) -> None:
        await held.wait()  # so that there is something left to hold

    extractor = ScriptedExtractor(work=work)
    async with open_run(tmp_path / "c.sluice", folder, extractor, tight) as run, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run.execute())
        while not any(hold.cause is HoldCause.MEMORY for hold in run.snapshot().stage.holds):
            await asyncio.sleep(0.01)
        assert "memory" in run.snapshot().bottleneck
        held.set()
        run.apply(small_flow())
        summary = await running
    assert summary.counts.pages.extracted == 240
    assert summary.holds[HoldCause.MEMORY] == 1


@pytest.mark.one_loop("qasync")
async def test_a_source_that_is_away_holds_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    """A probe that cannot reach the source begins the hold; the same document is read when the source answers."""
    folder = write_documents(tmp_path / "in", [3, 4])
    extractor = ScriptedExtractor()

    def probe(document: DocumentRef) -> Failure | None:
        first = document.doc_id == 1 and extractor.probes[1] == 1
        return Failure(reason=Reason.SOURCE_UNREACHABLE, code=116) if first else None

    extractor._probe = probe
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, small_flow())
    assert summary.counts.documents.extracted == 2
    assert summary.holds[HoldCause.UPSTREAM] == 1
    upstream = [record["event"] for record in records_of(tmp_path / "c.sluice") if record.get("cause") == "upstream"]
    assert upstream == ["HELD", "RELEASED"]


@pytest.mark.skipif(os.name != "posix", reason="a path below a file is refused differently elsewhere")
async def test_a_drive_that_was_unplugged_is_told_from_a_file_that_is_gone(tmp_path: Path) -> None:
    """A folder that is missing, from the start or since, is waited for; one file that went away is not."""
    drive, gone = tmp_path / "drive", tmp_path / "gone"
    drive.mkdir()
    (drive / "other.pdf").touch()
    changes: list[bool] = []
    with ThreadPoolExecutor(1) as thread:
        watch = SourceWatch([os.fsencode(gone), os.fsencode(drive)], changes.append, thread)
        await watch.begin()
        assert await watch.blame(Reason.SOURCE_VANISHED, os.fsencode(drive / "a.pdf")) is Blame.DOCUMENT
        drive.rename(tmp_path / "unplugged")
        assert await watch.blame(Reason.SOURCE_VANISHED, os.fsencode(drive / "a.pdf")) is Blame.SOURCE
        assert await watch.blame(Reason.SOURCE_VANISHED, os.fsencode(drive / "b.pdf")) is Blame.SOURCE
        assert await watch.blame(Reason.SOURCE_UNREADABLE, os.fsencode(drive / "c.pdf")) is Blame.DOCUMENT
        drive.mkdir()  # an empty mount point is not the drive
        assert await watch.blame(Reason.SOURCE_VANISHED, os.fsencode(drive / "d.pdf")) is Blame.SOURCE
        assert changes == [True]
        assert await watch.blame(Reason.SOURCE_VANISHED, os.fsencode(gone / "a.pdf")) is Blame.SOURCE


@pytest.mark.skipif(os.name != "posix", reason="a folder in use cannot be renamed elsewhere")
async def test_what_failed_while_a_drive_was_away_is_not_blamed_when_it_comes_back_at_once(tmp_path: Path) -> None:
    """Of documents that fail together, the first one begins the hold; the others are judged after the drive is back."""
    drive, unplugged = tmp_path / "drive", tmp_path / "unplugged"
    drive.mkdir()
    (drive / "c.pdf").touch()
    with ThreadPoolExecutor(1) as thread:
        watch = SourceWatch([os.fsencode(drive)], lambda _away: os.rename(unplugged, drive), thread)  # noqa: PTH104  # returns nothing
        await watch.begin()
        drive.rename(unplugged)
        together = [watch.blame(Reason.SOURCE_VANISHED, os.fsencode(drive / name)) for name in ("a.pdf", "b.pdf")]
        assert await asyncio.gather(*together) == [Blame.SOURCE, Blame.SOURCE]


async def test_a_file_that_is_there_again_is_tried_again(tmp_path: Path) -> None:
    """A document that vanished with its drive and is judged when both are back and the hold is over is not lost."""
    changes: list[bool] = []
    (tmp_path / "a.pdf").touch()
    with ThreadPoolExecutor(1) as thread:
        watch = SourceWatch([os.fsencode(tmp_path)], changes.append, thread)
        await watch.begin()
        assert await watch.blame(Reason.SOURCE_VANISHED, os.fsencode(tmp_path / "a.pdf")) is Blame.MOMENT
        assert await watch.blame(Reason.SOURCE_VANISHED, os.fsencode(tmp_path / "b.pdf")) is Blame.DOCUMENT


@pytest.mark.one_loop("asyncio")
async def test_a_file_that_never_answers_ends_as_a_dead_letter(tmp_path: Path) -> None:
    """One file that cannot be reached although its folder can costs itself alone, after as many tries as are set."""
    folder = write_documents(tmp_path / "in", [3, 4])
    extractor = ScriptedExtractor(
        probe=lambda document: Failure(reason=Reason.SOURCE_UNREACHABLE, code=116) if document.doc_id == 1 else None
    )
    settings = replace(small_flow(), retry=RetryLimits(attempts=2, first_delay_s=0.01))
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, settings)
    assert summary.state is RunState.FINISHED
    assert summary.counts.documents.extracted == 1
    assert summary.counts.reasons == {Reason.SOURCE_UNREACHABLE: 1}
    assert extractor.probes == {1: 2, 2: 1}


@pytest.mark.skipif(os.name != "posix", reason="a folder in use cannot be renamed elsewhere")
@pytest.mark.parametrize("back", ["the same", "another"])
@pytest.mark.one_loop("asyncio")
async def test_an_unplugged_drive_costs_no_document(tmp_path: Path, back: str) -> None:
    """Documents that vanish with their folder wait until it is back, be it as another device; none is a dead letter."""
    folder = write_documents(tmp_path / "in", [4] * 40)
    extractor = ScriptedExtractor()

    def probe(document: DocumentRef) -> Failure | None:
        if document.doc_id == 11 and extractor.probes[11] == 1:
            folder.rename(tmp_path / "unplugged")
        return vanished(document)

    extractor._probe = probe
    async with (
        open_run(tmp_path / "c.sluice", folder, extractor, small_flow()) as run,
        asyncio.TaskGroup() as tasks,
    ):
        running = tasks.create_task(run.execute())
        while not any(hold.cause is HoldCause.UPSTREAM for hold in run.snapshot().stage.holds):
            await asyncio.sleep(0.01)
        if back == "another":
            folder.mkdir()  # an empty mount point, which is not the drive
            shutil.copytree(tmp_path / "unplugged", folder, dirs_exist_ok=True)
        else:
            (tmp_path / "unplugged").rename(folder)
        summary = await running
    assert summary.state is RunState.FINISHED
    assert summary.counts.documents.extracted == 40
    assert summary.counts.reasons == {}


@pytest.mark.skipif(os.name != "posix", reason="a folder in use cannot be renamed elsewhere")
@pytest.mark.parametrize("back", ["the drive", "something else"])
@pytest.mark.one_loop("asyncio")
async def test_a_case_resumed_on_an_empty_mount_point_waits_for_its_drive(tmp_path: Path, back: str) -> None:
    """Known documents below a folder with nothing in it wait; once anything lies there, it is taken as it is."""
    folder = write_documents(tmp_path / "in", [4] * 40)
    extractor = ScriptedExtractor(probe=vanished)
    async with open_run(tmp_path / "c.sluice", folder, extractor, small_flow()) as run, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run.execute())
        while run.counts.documents.extracted < 3:
            await asyncio.sleep(0)
        run.stop()
        assert (await running).state is RunState.INCOMPLETE
        done = run.counts.documents.extracted
    assert done < 40
    folder.rename(tmp_path / "unplugged")
    folder.mkdir()
    async with open_run(tmp_path / "c.sluice", folder, extractor, small_flow()) as run, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run.execute())
        while not any(hold.cause is HoldCause.UPSTREAM for hold in run.snapshot().stage.holds):
            await asyncio.sleep(0.01)
        if back == "the drive":
            folder.rmdir()
            (tmp_path / "unplugged").rename(folder)
        else:
            (folder / "the drive is given up.txt").touch()
        summary = await running
    assert summary.state is RunState.FINISHED
    lost = 0 if back == "the drive" else 40 - done
    assert summary.counts.documents == Tally(enumerated=40, extracted=40 - lost, dead_letter=lost)


async def test_a_document_lost_to_its_source_is_tried_again_when_it_is_met_again(tmp_path: Path) -> None:
    """What could not be read in one run is a new version in the next, although its size and time are the same."""
    folder = write_documents(tmp_path / "in", [4])
    blind = ScriptedExtractor(probe=lambda _document: Failure(reason=Reason.SOURCE_UNREADABLE, code=13))
    first = await run_once(tmp_path / "c.sluice", folder, blind, small_flow())
    assert first.counts.documents.dead_letter == 1
    second = await run_once(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow())
    assert second.counts.documents.extracted == 1
    assert second.counts.reconciled


async def test_a_budget_that_cannot_be_kept_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    """Held for memory with nothing in flight and nothing to give back, a run does not wait for ever."""
    folder = write_documents(tmp_path / "in", [40] * 6)
    tight = replace(small_flow(), memory=MemoryBudget(budget_bytes=64 * MIB, hold_percent=2, release_percent=1))
    extractor = ScriptedExtractor()
    extractor.relieve = lambda: False  # type: ignore[method-assign]  # this one has nothing left to give
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, tight)
    assert summary.state is RunState.INCOMPLETE
    assert "larger budget" in summary.error
