"""A session: opening, running real workers over real PDFs, exports, resumption, and what it refuses."""

import asyncio
import hashlib
import json
import os
from pathlib import Path

import psutil
import pytest

from engine import (
    CaseError,
    CaseInfo,
    CaseInUseError,
    Directories,
    FlowLimits,
    HoldCause,
    Outcome,
    RunState,
    Settings,
    SettingsError,
    SourceError,
    Tally,
    open_case,
)
from engine.case.casefile import CaseFile
from engine.models.facts import Noted
from tests.support import pdfs
from tests.support.runs import golden_set, records_of


def directories(tmp_path: Path) -> Directories:
    """Return places below the test's folder."""
    return Directories.below(tmp_path / "places")


def quick() -> Settings:
    """Return settings for small batches."""
    return Settings(flow=FlowLimits.build(workers=2, max_queue=64))


def few_at_once() -> Settings:
    """Return settings with which a batch takes a while, so that something can be done in the middle."""
    return Settings(flow=FlowLimits.build(workers=1, max_queue=8, permits=8))


def small_batch(folder: Path) -> Path:
    """Write a folder of a few good and bad PDFs: 4 documents that open, 1 empty, 1 not a PDF, 1 copy."""
    folder.mkdir()
    pdfs.text_pdf(folder / "a.pdf", pages=3, seed=1)
    pdfs.text_pdf(folder / "b.pdf", pages=20, seed=2)
    pdfs.blank_pdf(folder / "blank.pdf")
    pdfs.image_only_pdf(folder / "scan.pdf")
    pdfs.empty_file(folder / "empty.pdf")
    pdfs.not_a_pdf(folder / "web page.pdf")
    pdfs.put(folder / "copy of a.pdf", (folder / "a.pdf").read_bytes())
    return folder


async def test_a_folder_becomes_text_and_evidence(tmp_path: Path) -> None:
    """The whole way with real workers: outcomes, texts, exports and the chain."""
    folder = small_batch(tmp_path / "in")
    case = tmp_path / "case.sluice"
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    session = await open_case(case, request_id="2026-17", settings=quick(), directories=directories(tmp_path))
    try:
        summary = await session.run([folder])
        assert summary.state is RunState.FINISHED
        assert session.state is RunState.FINISHED
        assert summary.counts.documents == Tally(enumerated=7, extracted=3, dead_letter=3, duplicate=1)
        assert summary.counts.pages.enumerated == summary.counts.pages.terminal
        assert {reason.value: n for reason, n in summary.counts.reasons.items()} == {
            "no_text": 1,
            "empty_file": 1,
            "not_a_pdf": 1,
        }
        rows = await session.document_rows(1, 100)
        assert [row.doc_id for row in rows] == list(range(1, 8))
        assert {row.path: row.outcome for row in rows}["copy of a.pdf"] in {Outcome.DUPLICATE, Outcome.EXTRACTED}
        dead = await session.dead_letter_rows(1, 100)
        assert sorted(row.reason.value for row in dead) == ["empty_file", "no_text", "not_a_pdf"]

        report = await session.export_audit(tmp_path / "audit.jsonl")
        assert report.verified.ok
        lines = (tmp_path / "audit.jsonl").read_bytes().splitlines()
        assert hashlib.sha256(lines[-1]).hexdigest() == report.head
        assert len(lines) == report.records + 1

        texts = await session.export_text(tmp_path / "texts")
        assert texts.documents == 4
        words = pdfs.page_words(7, seed=2)
        pages = next((tmp_path / "texts").rglob("b.D*.txt")).read_text(encoding="utf-8").split("\f")
        assert set(words) <= set(pages[6].split())
    finally:
        await session.close()
    assert not psutil.Process().children(recursive=True)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before
    assert [r["event"] for r in records_of(case)][-2:] == ["EXPORTED", "EXPORTED"]


async def test_a_source_that_cannot_be_looked_at_is_left_for_another_run(tmp_path: Path) -> None:
    """A source of an earlier run that the system refuses does not keep the rest of the case from being done."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    pdfs.batch(folder, documents=2, pages_each=2)
    refused = tmp_path / ("x" * 300)  # for its length, which stands for a share that has died
    with CaseFile.create(case, request_id="r") as begun:
        begun.commit([Noted(event="SOURCES", sources=(os.fsencode(refused), os.fsencode(folder)))])
    session = await open_case(case, settings=quick(), directories=directories(tmp_path))
    try:
        summary = await session.run()
        assert summary.state is RunState.INCOMPLETE
        assert summary.counts.documents.terminal == 2
        assert session.info.unfinished_sources == (os.fsencode(refused),)
    finally:
        await session.close()


async def test_a_recent_case_that_is_gone_is_told(tmp_path: Path) -> None:
    """Opening a case that was moved or deleted makes no new one, and says so."""
    case = tmp_path / "case.sluice"
    with pytest.raises(SettingsError, match="moved or deleted"):
        await open_case(case, settings=quick(), directories=directories(tmp_path))
    assert not case.exists()


async def test_a_second_run_goes_on_where_the_first_was_stopped(tmp_path: Path) -> None:
    """Sources that were not looked through to the end are remembered by the case."""
    folder = tmp_path / "in"
    pdfs.batch(folder, documents=30, pages_each=4)
    whole = await open_case(
        tmp_path / "whole.sluice", request_id="r", settings=quick(), directories=directories(tmp_path)
    )
    await whole.run([folder])
    await whole.close()

    session = await open_case(
        tmp_path / "case.sluice", request_id="r", settings=few_at_once(), directories=directories(tmp_path)
    )
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(session.run([folder]))
            while not session.snapshot().counts.pages.extracted:
                await asyncio.sleep(0.01)
            session.stop()
        resumed = await session.run()
    finally:
        await session.close()
    assert resumed.state is RunState.FINISHED
    assert golden_set(tmp_path / "case.sluice") == golden_set(tmp_path / "whole.sluice")


async def test_a_pause_that_was_let_go_before_a_run_stays_let_go(tmp_path: Path) -> None:
    """Resuming a paused case before its run is recorded, and the next opening finds it not paused."""
    folder = small_batch(tmp_path / "in")
    case, places = tmp_path / "case.sluice", directories(tmp_path)
    session = await open_case(case, request_id="r", settings=quick(), directories=places)
    session.pause()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(session.run([folder]))
        while session.state is not RunState.PAUSED or not session.snapshot().counts.audit_records:
            await asyncio.sleep(0.01)
        session.stop()
    assert running.result().state is RunState.INCOMPLETE
    await session.close()

    session = await open_case(case, settings=quick(), directories=places)
    assert session.info.paused
    session.resume()
    assert (await session.run()).state is RunState.FINISHED
    assert not session.info.paused
    await session.close()
    assert [r["event"] for r in records_of(case) if r.get("cause") == "user"] == ["HELD", "RELEASED"]


async def test_a_stop_while_a_run_is_being_prepared_is_not_lost(tmp_path: Path) -> None:
    """Whoever stops before the first worker is there gets a stopped run."""
    folder = small_batch(tmp_path / "in")
    session = await open_case(
        tmp_path / "case.sluice", request_id="r", settings=quick(), directories=directories(tmp_path)
    )
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(session.run([folder]))
        await asyncio.sleep(0)
        session.stop()
    assert running.result().state is RunState.INCOMPLETE
    assert (await session.run()).state is RunState.FINISHED
    await session.close()


async def test_what_cannot_be_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """No request id, another request, a missing source, a second opening: each is refused, and nothing is started."""
    places = directories(tmp_path)
    with pytest.raises(SettingsError, match="request id"):
        await open_case(tmp_path / "case.sluice", directories=places, settings=quick())
    session = await open_case(tmp_path / "case.sluice", request_id="one", directories=places, settings=quick())
    with pytest.raises(CaseInUseError, match="already open in this very program"):
        await open_case(tmp_path / "case.sluice", directories=places, settings=quick())
    with pytest.raises(SourceError, match="nowhere"):
        await session.run([tmp_path / "nowhere"])
    assert session.state is RunState.IDLE
    await session.close()
    with pytest.raises(CaseError, match="closed"):
        await session.run([tmp_path])
    with pytest.raises(CaseError, match="'one'"):
        await open_case(tmp_path / "case.sluice", request_id="two", directories=places, settings=quick())


async def test_the_default_place_is_made_private(tmp_path: Path) -> None:
    """A case in the usual folder can be created on a machine where that folder is not there yet."""
    places = directories(tmp_path)
    session = await open_case(places.cases / "new.sluice", request_id="r", directories=places, settings=quick())
    await session.close()
    assert (places.cases / "new.sluice").exists()
    if os.name == "posix":
        assert places.cases.stat().st_mode & 0o077 == 0


async def test_an_idle_session_answers_what_there_is(tmp_path: Path) -> None:
    """Before any run there is a snapshot, an empty table and an export of the header alone."""
    session = await open_case(
        tmp_path / "case.sluice", request_id="r", directories=directories(tmp_path), settings=quick()
    )
    snapshot = session.snapshot()
    assert snapshot.state is RunState.IDLE
    assert snapshot.counts.documents == Tally()
    assert snapshot.stage.max_queue == 64
    assert await session.document_rows(1, 10) == []
    assert session.metrics.read() == ()
    report = await session.export_audit(tmp_path / "audit.jsonl")
    assert report.records == 0
    header = json.loads((tmp_path / "audit.jsonl").read_bytes().splitlines()[0])
    assert header["request_id"] == "r"
    await session.close()


async def test_a_source_that_went_away_does_not_block_the_case(tmp_path: Path) -> None:
    """Another folder can be run, and the end says that something asked for earlier is missing."""
    first, second = small_batch(tmp_path / "first"), small_batch(tmp_path / "second")
    (second / "a.pdf").unlink()
    session = await open_case(
        tmp_path / "case.sluice", request_id="r", settings=quick(), directories=directories(tmp_path)
    )
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(session.run([first]))
            await asyncio.sleep(0)
            session.stop()
        assert session.info.unfinished_sources == (os.fsencode(first),)
        first.rename(tmp_path / "unplugged")
        summary = await session.run([second])
        assert summary.state is RunState.INCOMPLETE
        assert "1 of the folders and files that were asked for earlier" in summary.error
        assert summary.counts.documents.terminal == 6
        (tmp_path / "unplugged").rename(first)
        assert (await session.run()).state is RunState.FINISHED
    finally:
        await session.close()


async def test_an_export_that_is_under_way_is_recorded_before_the_case_closes(tmp_path: Path) -> None:
    """Closing waits for the export and its record; a later export is refused with a sentence."""
    case = tmp_path / "case.sluice"
    session = await open_case(case, request_id="r", settings=quick(), directories=directories(tmp_path))
    async with asyncio.TaskGroup() as tasks:
        exporting = tasks.create_task(session.export_audit(tmp_path / "audit.jsonl"))
        await asyncio.sleep(0)
        await session.close()
    assert exporting.result().verified.ok
    assert [r["event"] for r in records_of(case)] == ["EXPORTED"]
    with pytest.raises(CaseError, match="closed"):
        await session.export_audit(tmp_path / "again.jsonl")
    with pytest.raises(CaseError, match="closed"):
        await session.document_rows(1, 10)


async def test_an_export_during_a_run_keeps_the_counts(tmp_path: Path) -> None:
    """The record of an export goes through the run's own lane, so that no older count can overwrite a newer one."""
    folder = tmp_path / "in"
    pdfs.batch(folder, documents=20, pages_each=4)
    session = await open_case(
        tmp_path / "case.sluice", request_id="r", settings=few_at_once(), directories=directories(tmp_path)
    )
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(session.run([folder]))
        while not session.snapshot().counts.pages.extracted:
            await asyncio.sleep(0.01)
        session.pause()  # or the run might be over before the export is
        report = await session.export_audit(tmp_path / "audit.jsonl")
        assert report.verified.ok
        assert not running.done()
        session.resume()
    assert running.result().counts.pages == Tally(enumerated=80, extracted=80)
    assert session.snapshot().counts == running.result().counts
    await session.close()


async def test_a_case_whose_file_cannot_be_read_at_the_end_can_still_be_closed(tmp_path: Path) -> None:
    """Whatever is wrong with the file when a run ends, the session is not stuck."""
    folder = small_batch(tmp_path / "in")
    session = await open_case(
        tmp_path / "case.sluice", request_id="r", settings=quick(), directories=directories(tmp_path)
    )

    def fail() -> CaseInfo:
        raise CaseError("The case file cannot be read.")

    session._case.info = fail  # type: ignore[method-assign]  # a disk that fails at this moment
    assert (await session.run([folder])).state is RunState.FINISHED
    await session.close()


async def test_a_case_that_knows_no_source_does_not_finish_as_if_all_was_done(tmp_path: Path) -> None:
    """Going on with a case that ended before anything was begun is refused, and not a success over nothing."""
    session = await open_case(
        tmp_path / "case.sluice", request_id="r", settings=quick(), directories=directories(tmp_path)
    )
    with pytest.raises(SourceError, match="Name the folder again"):
        await session.run()
    await session.close()


async def test_pages_pending_below_a_folder_that_is_away_wait_for_it(tmp_path: Path) -> None:
    """A resume while the drive is unplugged holds, and goes on when it is back; nothing becomes a dead letter."""
    folder = tmp_path / "in"
    pdfs.batch(folder, documents=30, pages_each=4)
    places = directories(tmp_path)
    session = await open_case(tmp_path / "case.sluice", request_id="r", settings=few_at_once(), directories=places)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(session.run([folder]))
        while not session.snapshot().counts.pages.extracted:
            await asyncio.sleep(0.005)
        session.stop()
    await session.close()

    folder.rename(tmp_path / "unplugged")
    session = await open_case(tmp_path / "case.sluice", settings=quick(), directories=places)
    async with asyncio.TaskGroup() as tasks:
        resumed = tasks.create_task(session.run())
        while not (resumed.done() or any(hold.cause is HoldCause.UPSTREAM for hold in session.snapshot().stage.holds)):
            await asyncio.sleep(0.01)
        (tmp_path / "unplugged").rename(folder)
    assert not resumed.result().counts.reasons
    if resumed.result().counts.unfinished_sources:
        resumed_again = await session.run()
        assert resumed_again.state is RunState.FINISHED
    assert (await session.run()).counts.pages == Tally(enumerated=120, extracted=120)
    await session.close()
