"""A run from end to end over a real case file, with scripted outcomes: accounting, flow, retries, stops, resumption."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.errors import StorageError, WorkerStartError
from engine.models.document import DocumentRef, Failure, PageResult, Posture, Span
from engine.models.facts import Fact, PagesDone, Receipt
from engine.models.outcome import HoldCause, Outcome, Reason, RunState
from engine.models.run import Tally
from tests.support.runs import (
    assert_one_terminal_record_each,
    golden_set,
    open_run,
    records_of,
    run_once,
    small_flow,
    write_documents,
)
from tests.support.scripted_extractor import ScriptedExtractor, dead_page


async def test_every_page_and_document_is_accounted_for(tmp_path: Path) -> None:
    """A mixed batch reconciles, and each thing has exactly one terminal record."""
    folder = write_documents(tmp_path / "in", [1, 3, 0, 40, 7, 16, 17])
    (folder / "copy of 4.pdf").write_bytes((folder / "000004.pdf").read_bytes())
    (folder / "notes.txt").write_text("left out")

    def page(span: Span, number: int) -> PageResult | None:
        return dead_page(number, Reason.NO_TEXT) if span.page_count > 1 and number == 2 else None

    summary = await run_once(tmp_path / "c.sluice", folder, ScriptedExtractor(page=page), small_flow())
    assert summary.state is RunState.FINISHED
    assert summary.counts.reconciled
    assert summary.counts.documents == Tally(enumerated=8, extracted=6, dead_letter=1, duplicate=1)
    assert summary.counts.pages == Tally(enumerated=124, extracted=79, dead_letter=5, duplicate=40)
    assert summary.counts.reasons == {Reason.NO_TEXT: 5, Reason.EMPTY_FILE: 1}
    assert summary.counts.skipped == 1
    assert_one_terminal_record_each(tmp_path / "c.sluice")


async def test_a_slow_worker_lets_the_queue_plateau_and_the_gate_work_its_marks(tmp_path: Path) -> None:
    """Queue of 64, one slow worker: depth stays bounded, the gate opens at lo and closes at hi, all reconciles."""
    folder = write_documents(tmp_path / "in", [40] * 12)

    async def slowly(_span: Span) -> None:
        await asyncio.sleep(0.001)

    settings = small_flow()
    async with open_run(tmp_path / "c.sluice", folder, ScriptedExtractor(work=slowly), settings) as run:
        summary = await run.execute()
    flow = settings.flow
    assert summary.counts.reconciled
    assert summary.counts.pages.extracted == 480
    assert flow.hi <= summary.max_queue_depth <= flow.max_queue
    assert summary.max_permits_held <= flow.permits
    assert summary.holds[HoldCause.WATERMARK] >= 3
    changes = [record for record in records_of(tmp_path / "c.sluice") if record["event"] in {"HELD", "RELEASED"}]
    assert [record["event"] for record in changes] == ["HELD", "RELEASED"] * summary.holds[HoldCause.WATERMARK]
    for record in changes:
        if record["event"] == "HELD":
            assert flow.hi <= record["queue_depth"] < flow.hi + flow.span_pages
        else:
            assert record["queue_depth"] <= flow.lo


async def test_a_pause_holds_at_once_and_what_is_in_flight_finishes(tmp_path: Path) -> None:
    """Pausing stops admission with the very next page; the state goes over pausing to paused; resume goes on."""
    folder = write_documents(tmp_path / "in", [40] * 5)
    begun, go = asyncio.Event(), asyncio.Event()

    async def wait(_span: Span) -> None:
        begun.set()
        await go.wait()

    extractor = ScriptedExtractor(work=wait)
    async with open_run(tmp_path / "c.sluice", folder, extractor, small_flow()) as run, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run.execute())
        await begun.wait()
        run.pause()
        admitted = run.snapshot().stage.admitted
        assert run.snapshot().state is RunState.PAUSING
        go.set()
        while (snapshot := run.snapshot()).state is not RunState.PAUSED:
            await asyncio.sleep(0.005)
        assert snapshot.stage.admitted == admitted
        assert snapshot.in_flight == 0
        assert snapshot.counts.pages.extracted == admitted
        run.resume()
        summary = await running
    assert summary.counts.reconciled
    assert summary.counts.pages.extracted == 200
    user = [r["event"] for r in records_of(tmp_path / "c.sluice") if r.get("cause") == "user"]
    assert user == ["HELD", "RELEASED"]


async def test_a_pause_outlasts_the_program(tmp_path: Path) -> None:
    """A case stopped while paused begins its next run paused."""
    folder = write_documents(tmp_path / "in", [40] * 5)
    async with open_run(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow()) as run:
        run.pause()
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(run.execute())
            while run.state is not RunState.PAUSED or not run.counts.audit_records:
                await asyncio.sleep(0.005)
            run.stop()
        assert running.result().state is RunState.INCOMPLETE
    async with open_run(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow()) as run:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(run.execute())
            while run.state is not RunState.PAUSED:
                await asyncio.sleep(0.005)
            assert run.snapshot().stage.admitted == 0
            run.resume()
        assert running.result().counts.pages.extracted == 200


async def test_a_stop_drains_commits_and_leaves_a_case_that_resumes_to_the_same_set(tmp_path: Path) -> None:
    """Stopped in the middle and resumed, the outcomes equal those of an undisturbed run."""
    folder = write_documents(tmp_path / "in", [1, 40, 3, 25, 60, 2])
    await run_once(tmp_path / "whole.sluice", folder, ScriptedExtractor(), small_flow())

    spans = 0
    async with open_run(tmp_path / "c.sluice", folder, extractor := ScriptedExtractor(), small_flow()) as run:

        async def stop_soon(_span: Span) -> None:
            nonlocal spans
            spans += 1
            if spans == 4:
                run.stop()

        extractor._work = stop_soon
        first = await run.execute()
    assert first.state is RunState.INCOMPLETE
    assert first.counts.pages.terminal >= 4
    assert not first.error
    second = await run_once(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow())
    assert second.state is RunState.FINISHED
    assert golden_set(tmp_path / "c.sluice") == golden_set(tmp_path / "whole.sluice")
    assert_one_terminal_record_each(tmp_path / "c.sluice")


async def test_a_stop_does_not_wait_for_ever_for_a_page_that_hangs(tmp_path: Path) -> None:
    """After the grace, what workers have in hand is dropped and stays pending; results before it are kept."""
    folder = write_documents(tmp_path / "in", [40])
    begun = asyncio.Event()

    async def hang(span: Span) -> None:
        if span.first_page > 20:
            begun.set()
            await asyncio.Event().wait()

    async with open_run(
        tmp_path / "c.sluice", folder, ScriptedExtractor(work=hang), small_flow(), stop_grace_s=0.05
    ) as run:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(run.execute())
            await begun.wait()
            run.stop()
        summary = running.result()
    assert summary.state is RunState.INCOMPLETE
    assert summary.counts.pages == Tally(enumerated=40, extracted=20)
    assert run.snapshot().in_flight == 0


async def test_a_cancelled_run_keeps_every_result_and_resumes(tmp_path: Path) -> None:
    """Cancelling drops what workers have in hand and nothing else."""
    folder = write_documents(tmp_path / "in", [40] * 4)
    begun = asyncio.Event()

    async def hang(span: Span) -> None:
        if span.first_page > 20:
            begun.set()
            await asyncio.Event().wait()

    extractor = ScriptedExtractor(work=hang)
    async with open_run(tmp_path / "c.sluice", folder, extractor, small_flow()) as run, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run.execute())
        await begun.wait()
        run.cancel()
        summary = await running
    assert summary.state is RunState.INCOMPLETE
    assert extractor.closed
    assert summary.counts.pages.extracted == sum(span.page_count for span in extractor.spans)
    resumed = await run_once(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow())
    assert resumed.counts.pages == Tally(enumerated=160, extracted=160)


async def test_doing_it_again_is_a_no_op(tmp_path: Path) -> None:
    """A second run over the same folder extracts nothing, and its records say so."""
    folder = write_documents(tmp_path / "in", [5, 20])
    await run_once(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow())
    before = golden_set(tmp_path / "c.sluice")
    again = ScriptedExtractor()
    summary = await run_once(tmp_path / "c.sluice", folder, again, small_flow())
    assert not again.tries
    assert not again.probes
    assert summary.state is RunState.FINISHED
    assert golden_set(tmp_path / "c.sluice") == before
    assert [r["files_known"] for r in records_of(tmp_path / "c.sluice") if r["event"] == "RECONCILED"] == [0, 2]


async def test_a_page_that_ends_its_worker_costs_one_page(tmp_path: Path) -> None:
    """It is tried twice, the second time alone, and its neighbours are extracted once each."""
    folder = write_documents(tmp_path / "in", [12])

    def page(_span: Span, number: int) -> Failure | None:
        return Failure(reason=Reason.WORKER_CRASHED, signal=11) if number == 6 else None

    extractor = ScriptedExtractor(page=page)
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, small_flow())
    assert summary.counts.pages == Tally(enumerated=12, extracted=11, dead_letter=1)
    assert extractor.tries == Counter({(1, number): 2 if number == 6 else 1 for number in range(1, 13)})
    alone = [span for span in extractor.spans if span.alone]
    assert [(span.first_page, span.page_count, span.attempt) for span in alone] == [(6, 1, 2)]
    dead = [r for r in records_of(tmp_path / "c.sluice") if r["event"] == "DEAD_LETTER"]
    assert [(r["page"], r["reason"], r["signal"], r["attempt"]) for r in dead] == [(6, "worker_crashed", 11, 2)]
    assert [r["page"] for r in records_of(tmp_path / "c.sluice") if r["event"] == "RETRY"] == [6]


async def test_a_page_with_a_strike_is_tried_alone_after_a_restart(tmp_path: Path) -> None:
    """Strikes count across restarts: one before the stop, one after, and that is the end."""
    folder = write_documents(tmp_path / "in", [12])

    def page(_span: Span, number: int) -> Failure | None:
        return Failure(reason=Reason.TIME_LIMIT) if number == 6 else None

    async with open_run(tmp_path / "c.sluice", folder, first := ScriptedExtractor(page=page), small_flow()) as run:

        async def stop_before_the_second_try(span: Span) -> None:
            if span.alone:
                run.cancel()
                await asyncio.Event().wait()

        first._work = stop_before_the_second_try
        await run.execute()
    second = ScriptedExtractor(page=page)
    summary = await run_once(tmp_path / "c.sluice", folder, second, small_flow())
    assert second.tries[1, 6] == 1
    assert summary.counts.pages == Tally(enumerated=12, extracted=11, dead_letter=1)


async def test_a_transient_failure_is_tried_again_behind_fresh_work(tmp_path: Path) -> None:
    """A page that could not be read for a moment is extracted later, and holds no worker meanwhile."""
    folder = write_documents(tmp_path / "in", [4, 30])
    extractor = ScriptedExtractor()

    def page(span: Span, number: int) -> PageResult | None:
        if (span.document.doc_id, number) == (1, 2) and span.attempt == 1:
            return dead_page(number, Reason.READ_FAILED)
        return None

    extractor._page = page
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, small_flow())
    assert summary.counts.pages == Tally(enumerated=34, extracted=34)
    last = extractor.spans[-1]
    assert (last.document.doc_id, last.first_page, last.page_count, last.attempt) == (1, 2, 1, 2)


async def test_a_document_that_cannot_be_read_for_a_moment_is_probed_again(tmp_path: Path) -> None:
    """A transient failure of a probe is retried; a lasting one becomes the document's dead letter."""
    folder = write_documents(tmp_path / "in", [2, 2])
    extractor = ScriptedExtractor()

    def probe(document: DocumentRef) -> Failure | None:
        if document.doc_id == 1 and extractor.probes[1] < 2:
            return Failure(reason=Reason.READ_FAILED, code=5)
        return Failure(reason=Reason.ENCRYPTED) if document.doc_id == 2 else None

    extractor._probe = probe
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, small_flow())
    assert extractor.probes == Counter({1: 2, 2: 1})
    assert summary.counts.documents == Tally(enumerated=2, extracted=1, dead_letter=1)
    assert summary.counts.reasons == {Reason.ENCRYPTED: 1}


class FullDisk:
    """A case on a disk that is full after so many pages."""

    def __init__(self, case: CaseFile, room: int) -> None:
        self._case = case
        self._room = room
        self.pages = 0
        self.refused = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._case, name)

    def make_room(self) -> None:
        """Let everything fit from now on."""
        self._room = 2**62

    def reopen(self) -> Receipt | None:
        """Nothing is wrong with the file itself."""
        return None

    def commit(self, facts: Sequence[Fact]) -> Receipt:
        """Commit while there is room."""
        pages = sum(len(fact.results) for fact in facts if isinstance(fact, PagesDone))
        if self.pages >= self._room:
            self.refused += 1
            raise StorageError("The disk is full. Free some space, then resume.")
        self.pages += pages
        return self._case.commit(facts)


async def test_a_full_disk_ends_the_run_with_its_sentence_and_loses_nothing(tmp_path: Path) -> None:
    """What was acknowledged is kept, no page is marked failed, and a resume gives the golden set."""
    folder = write_documents(tmp_path / "in", [40] * 5)
    await run_once(tmp_path / "whole.sluice", folder, ScriptedExtractor(), small_flow())
    async with open_run(
        tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow(), store=lambda case: FullDisk(case, 50)
    ) as run:
        summary = await run.execute()
    assert summary.state is RunState.INCOMPLETE
    assert summary.error == "The disk is full. Free some space, then resume."
    assert summary.counts.pages.dead_letter == 0
    assert 50 <= summary.counts.pages.extracted < 200
    await run_once(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow())
    assert golden_set(tmp_path / "c.sluice") == golden_set(tmp_path / "whole.sluice")


async def test_an_attended_run_waits_for_room_on_the_disk_and_goes_on_when_resumed(tmp_path: Path) -> None:
    """A full disk pauses the run with a sentence; Resume goes on, and the outcomes are those of an undisturbed run."""
    folder = write_documents(tmp_path / "in", [40] * 5)
    await run_once(tmp_path / "whole.sluice", folder, ScriptedExtractor(), small_flow())
    disks: list[FullDisk] = []

    def store(case: CaseFile) -> FullDisk:
        disks.append(FullDisk(case, 50))
        return disks[0]

    async with (
        open_run(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow(), store=store, attended=True) as run,
        asyncio.TaskGroup() as tasks,
    ):
        running = tasks.create_task(run.execute())
        for _ in range(2):  # the first Resume finds the disk as full as it was
            while run.state is not RunState.PAUSED:
                await asyncio.sleep(0.005)
            snapshot = run.snapshot()
            assert snapshot.error == "The disk is full. Free some space, then resume."
            assert [hold.cause for hold in snapshot.stage.holds if hold.cause is not HoldCause.WATERMARK] == [
                HoldCause.STORAGE
            ]
            assert snapshot.counts.pages.dead_letter == 0
            tried = disks[0].refused
            run.resume()
            while disks[0].refused == tried:
                await asyncio.sleep(0.005)
        disks[0].make_room()
        run.resume()
        summary = await running
    assert summary.state is RunState.FINISHED
    assert summary.error == ""
    assert golden_set(tmp_path / "c.sluice") == golden_set(tmp_path / "whole.sluice")
    assert_one_terminal_record_each(tmp_path / "c.sluice")
    held = [record["event"] for record in records_of(tmp_path / "c.sluice") if record.get("cause") == "storage"]
    assert held == ["HELD", "RELEASED"]


async def test_stopping_a_run_that_cannot_write_ends_it_at_once(tmp_path: Path) -> None:
    """Nobody has to free space before a run can be stopped; what was acknowledged is there."""
    folder = write_documents(tmp_path / "in", [40] * 5)
    async with (
        open_run(
            tmp_path / "c.sluice",
            folder,
            ScriptedExtractor(),
            small_flow(),
            store=lambda case: FullDisk(case, 50),
            attended=True,
        ) as run,
        asyncio.TaskGroup() as tasks,
    ):
        running = tasks.create_task(run.execute())
        while run.state is not RunState.PAUSED:
            await asyncio.sleep(0.005)
        run.stop()
        summary = await running
    assert summary.state is RunState.INCOMPLETE
    assert summary.error == "The disk is full. Free some space, then resume."
    assert summary.counts.pages.dead_letter == 0


async def test_limits_change_while_running_and_each_change_is_recorded(tmp_path: Path) -> None:
    """Workers, queue and marks follow at once; the audit log has old and new value of each."""
    folder = write_documents(tmp_path / "in", [40] * 6)
    gate = asyncio.Semaphore(3)

    async def work(_span: Span) -> None:
        await gate.acquire()

    extractor = ScriptedExtractor(work=work)
    async with open_run(tmp_path / "c.sluice", folder, extractor, small_flow()) as run, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run.execute())
        while not run.snapshot().stage.holds:
            await asyncio.sleep(0.005)
        run.apply(run.settings.with_flow(workers=3, max_queue=32, hi=16, lo=4))
        while extractor.running < 3:
            await asyncio.sleep(0.005)
        for _ in range(1000):
            gate.release()
        summary = await running
    assert summary.counts.pages.extracted == 240
    assert extractor.most_running == 3
    assert [settings.flow.workers for settings in extractor.applied] == [3]
    changes = {
        record["setting"]: (record["old"], record["new"])
        for record in records_of(tmp_path / "c.sluice")
        if record["event"] == "SETTING_CHANGED"
    }
    assert changes == {
        "flow.workers": (1, 3),
        "flow.max_queue": (64, 32),
        "flow.hi": (48, 16),
        "flow.lo": (16, 4),
    }


@pytest.mark.parametrize("reason", [Reason.SOURCE_VANISHED, Reason.READ_FAILED])
async def test_a_copy_is_processed_where_the_original_went_away(tmp_path: Path, reason: Reason) -> None:
    """The same bytes under another name are not given up because the first file could not be read."""
    folder = write_documents(tmp_path / "in", [6])
    (folder / "copy.pdf").write_bytes((folder / "000001.pdf").read_bytes())

    def page(span: Span, number: int) -> PageResult | None:
        return dead_page(number, reason, attempt=9) if span.document.doc_id == 1 else None

    summary = await run_once(tmp_path / "c.sluice", folder, ScriptedExtractor(page=page), small_flow())
    assert summary.counts.reconciled
    assert summary.counts.documents == Tally(enumerated=2, extracted=1, dead_letter=1)
    assert summary.counts.pages == Tally(enumerated=12, extracted=6, dead_letter=6)


async def test_an_empty_folder_finishes_at_once(tmp_path: Path) -> None:
    """Nothing to do is reconciled, too."""
    (tmp_path / "in").mkdir()
    summary = await run_once(tmp_path / "c.sluice", tmp_path / "in", ScriptedExtractor(), small_flow())
    assert summary.state is RunState.FINISHED
    assert summary.counts.documents == Tally()
    assert [r["event"] for r in records_of(tmp_path / "c.sluice")] == [
        "SOURCES",
        "RUN_STARTED",
        "ENUMERATED",
        "RECONCILED",
        "RUN_ENDED",
        "CHECKPOINT",
    ]


async def test_text_of_every_page_is_stored(tmp_path: Path) -> None:
    """What was extracted can be read back, page by page."""
    folder = write_documents(tmp_path / "in", [3])
    extractor = ScriptedExtractor()
    await run_once(tmp_path / "c.sluice", folder, extractor, small_flow())
    with CaseFile.open(tmp_path / "c.sluice") as case, case.reader() as reader:
        for page in (1, 2, 3):
            text = reader.page_text(1, page)
            assert text is not None
            assert text.startswith(f"page {page} of ")
    assert {outcome for _, _, outcome, _ in golden_set(tmp_path / "c.sluice")} == {Outcome.EXTRACTED.value}


class NoWorkers(ScriptedExtractor):
    """Workers that cannot be started."""

    async def start(self) -> Posture:
        """Fail."""
        raise WorkerStartError("Worker processes cannot be started.")


async def test_a_failed_start_of_workers_leaves_a_case_that_knows_its_sources(tmp_path: Path) -> None:
    """The run is recorded with its sources, so that a resume looks through them instead of finding nothing to do."""
    folder = write_documents(tmp_path / "in", [3])
    summary = await run_once(tmp_path / "c.sluice", folder, NoWorkers(), small_flow())
    assert summary.state is RunState.INCOMPLETE
    assert summary.error == "Worker processes cannot be started."
    assert summary.counts.unfinished_sources == 1
    assert not summary.counts.reconciled
    assert [r["event"] for r in records_of(tmp_path / "c.sluice")][:2] == ["SOURCES", "RUN_STARTED"]
    assert (
        await run_once(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow())
    ).counts.pages.extracted == 3


async def test_a_stop_does_not_wait_for_workers_to_start(tmp_path: Path) -> None:
    """Whoever stops before the workers are there gets an ended run at once."""
    folder = write_documents(tmp_path / "in", [3])

    class Starting(ScriptedExtractor):
        async def start(self) -> Posture:
            await asyncio.Event().wait()
            raise AssertionError

    async with open_run(tmp_path / "c.sluice", folder, Starting(), small_flow()) as run, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run.execute())
        await asyncio.sleep(0.01)
        run.stop()
        assert (await running).state is RunState.INCOMPLETE


async def test_a_pause_while_workers_start_is_recorded_after_the_start_and_lasts(tmp_path: Path) -> None:
    """Nothing is recorded before the run's own start, and what was pressed last is what the case keeps."""
    folder = write_documents(tmp_path / "in", [40])
    go = asyncio.Event()

    class Slow(ScriptedExtractor):
        async def start(self) -> Posture:
            await go.wait()
            return await super().start()

    async with open_run(tmp_path / "c.sluice", folder, Slow(), small_flow()) as run, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run.execute())
        await asyncio.sleep(0.01)
        run.pause()
        run.resume()
        run.pause()
        go.set()
        while not run.counts.audit_records:
            await asyncio.sleep(0.01)
        run.stop()
        await running
    records = records_of(tmp_path / "c.sluice")
    assert [record["event"] for record in records][:3] == ["SOURCES", "RUN_STARTED", "HELD"]
    with CaseFile.open(tmp_path / "c.sluice") as case:
        assert case.info().paused


async def test_a_fault_of_the_program_ends_the_run_as_incomplete_and_is_raised(tmp_path: Path) -> None:
    """An error that nobody foresaw leaves an ended run with its records, not one that seems to go on."""
    folder = write_documents(tmp_path / "in", [40])

    async def fail(_span: Span) -> None:
        raise ZeroDivisionError

    async with open_run(tmp_path / "c.sluice", folder, ScriptedExtractor(work=fail), small_flow()) as run:
        with pytest.raises(ExceptionGroup):
            await run.execute()
        assert run.state is RunState.INCOMPLETE
        assert "fault in the program" in run.snapshot().error
    assert [r["event"] for r in records_of(tmp_path / "c.sluice")][-2:] == ["RUN_ENDED", "CHECKPOINT"]


async def test_the_record_of_the_enumeration_states_what_was_met(tmp_path: Path) -> None:
    """The case fills in its own count, whatever was still on its way when the last folder was listed."""
    folder = write_documents(tmp_path / "in", [1] * 700)
    await run_once(tmp_path / "c.sluice", folder, ScriptedExtractor(), small_flow())
    [enumerated] = [r for r in records_of(tmp_path / "c.sluice") if r["event"] == "ENUMERATED"]
    assert enumerated["documents"] == 700
