"""The main window over the real engine: real PDFs, real workers, a real case file."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit, QMessageBox

from engine import (
    Directories,
    FlowLimits,
    HoldCause,
    RunState,
    Settings,
    Snapshot,
    open_case,
    save_settings,
    write_sample_batch,
)
from gui.views.start_dialog import StartDialog
from gui.window.seams import Engine
from tests.support import pdfs
from tests.support.runs import assert_one_terminal_record_each, golden_set
from tests.support.scripted_session import until
from tests.support.window_stage import Stage, drop, mime_of, staged

pytestmark = pytest.mark.one_loop("qasync")

ROOT = Path(__file__).resolve().parents[2]
PAGES = 240
HOLDER = """
import asyncio, sys
from pathlib import Path
from engine import Directories, open_case

async def main():
    directories = Directories.below(Path(sys.argv[2]))
    session = await open_case(Path(sys.argv[1]), request_id="R-1", directories=directories)
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await session.close()

asyncio.run(main())
"""


@asynccontextmanager
async def _stage(tmp_path: Path, *, rate_per_s: float | None = None) -> AsyncIterator[Stage]:
    """Show a window with one worker; a limited rate makes a run last long enough to do something in it."""
    directories = Directories.below(tmp_path / "places")
    limits = FlowLimits.build(workers=1, span_pages=4, max_queue=32, rate_per_s=rate_per_s, burst=8)
    save_settings(directories, Settings(flow=limits))
    engine = Engine(directories=directories, open_case=open_case, write_sample_batch=write_sample_batch)
    async with staged(engine) as stage:
        yield stage


def _batch(folder: Path) -> Path:
    """Write a folder with 240 good pages, a file that is no PDF and an empty one."""
    pdfs.batch(folder, documents=12, pages_each=20)
    pdfs.not_a_pdf(folder / "page.pdf")
    pdfs.empty_file(folder / "empty.pdf")
    return folder


def _snapshot(stage: Stage) -> Snapshot:
    snapshot = stage.window.control.snapshot()
    assert snapshot is not None
    return snapshot


async def _some_pages(stage: Stage, pages: int) -> None:
    """Wait until so many pages are committed."""
    await until(lambda: stage.window.control.snapshot() and _snapshot(stage).counts.pages.terminal >= pages)


async def _finished(stage: Stage) -> None:
    """Wait until the run has returned, with nothing pending."""
    await until(lambda: stage.window.control.snapshot() and _snapshot(stage).state is RunState.FINISHED)
    await until(lambda: not stage.window.control.running)


def _children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


async def test_a_dropped_folder_is_run_shown_and_exported(tmp_path: Path) -> None:
    """The whole way: drop, question, run, numbers, tables, export; the window says what the session counts."""
    folder = _batch(tmp_path / "in")
    async with _stage(tmp_path) as stage:
        window = stage.window
        assert drop(window, mime_of(folder))
        assert window.control.session is None
        dialog = await stage.dialog(StartDialog)
        dialog.request_id.setText("FOI-1")
        await until(dialog.start_button.isEnabled)
        dialog.start_button.click()
        await _finished(stage)
        session = window.control.session
        assert session is not None
        counts = session.snapshot().counts
        assert (counts.pages.extracted, sum(counts.reasons.values())) == (PAGES, 2)
        assert f"{PAGES} pages enumerated = {PAGES} extracted + 0 dead letters" in stage.header()
        assert "Finished: every page is accounted for" in stage.header()
        assert any("14 documents with 240 pages, all accounted for; 2 dead letters." in text for text in stage.said())
        page = window.run_page
        assert page.documents.rowCount() == 14
        page.tabs.setCurrentIndex(1)
        await until(lambda: page.dead_letters.rowCount() == 2 and page.dead_letters.held_record(1))
        assert {page.dead_letters.held_record(row).path for row in (0, 1)} == {"page.pdf", "empty.pdf"}

        window.actions_.export_audit.trigger()
        files = await stage.dialog(QFileDialog)
        files.setDirectory(str(tmp_path))
        name = files.findChild(QLineEdit, "fileNameEdit")
        assert isinstance(name, QLineEdit)
        name.setText("out.jsonl")
        files.accept()
        await until(lambda: any("verified; head of the chain" in text for text in stage.said()))
        lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
        assert any(f"Exported {len(lines) - 1:,} records to" in text for text in stage.said())
        assert json.loads(lines[-1])["request_id"] == "FOI-1"

        for number in ("", " 2"):
            window.actions_.export_text.trigger()
            folders = await stage.dialog(QFileDialog)
            folders.setDirectory(str(tmp_path))
            folders.done(QFileDialog.DialogCode.Accepted)
            texts = tmp_path / f"{session.info.path.stem}-texts{number}"
            await until(lambda: any(str(texts) in text for text in stage.said()))  # noqa: B023  # used at once
            assert any(f"the text of {PAGES} pages from 12 documents to {texts}" in text for text in stage.said())
            assert len(list(texts.rglob("*.txt"))) == 12
        case = session.info.path
    assert_one_terminal_record_each(case)


async def test_pause_holds_the_gate_at_once_and_resume_goes_on(tmp_path: Path) -> None:
    """When Space has been pressed, the gate is held before anything else runs; afterwards nothing more is admitted."""
    folder = _batch(tmp_path / "in")
    async with _stage(tmp_path, rate_per_s=120) as stage:
        window = stage.window
        window.take([folder])
        await _some_pages(stage, 8)
        QTest.keyClick(window, Qt.Key.Key_Space)
        held = _snapshot(stage)
        assert HoldCause.USER in {hold.cause for hold in held.stage.holds}
        assert held.state in {RunState.PAUSING, RunState.PAUSED}
        assert "Paus" in stage.header()
        await until(lambda: _snapshot(stage).state is RunState.PAUSED)
        paused = _snapshot(stage)
        assert paused.in_flight == 0
        assert paused.stage.admitted == held.stage.admitted
        assert paused.counts.pages.pending > 0
        QTest.keyClick(window, Qt.Key.Key_Space)
        assert _snapshot(stage).state is RunState.RUNNING
        await _finished(stage)
        assert _snapshot(stage).counts.pages.extracted == PAGES


@pytest.mark.fault(16, by="a close event of the window")
async def test_closing_during_a_run_stops_safely_and_the_case_goes_on_later(tmp_path: Path) -> None:
    """No process is left, what was counted is kept, and the reopened case finishes like an undisturbed one."""
    folder = _batch(tmp_path / "in")
    async with _stage(tmp_path, rate_per_s=120) as stage:
        stage.window.take([folder])
        await _some_pages(stage, 8)
        session = stage.window.control.session
        assert session is not None
        case = session.info.path
        assert _children()
        stage.window.close()
        (await stage.dialog(QMessageBox)).defaultButton().click()
        await stage.window.until_closed()
        assert _children() == []
    async with _stage(tmp_path) as stage:
        window = stage.window
        await until(lambda: window.empty_page.recent.count() == 1)
        window.empty_page.recent.itemActivated.emit(window.empty_page.recent.item(0))
        await until(lambda: window.control.session is not None)
        stopped = _snapshot(stage)
        assert stopped.state is RunState.INCOMPLETE
        assert 8 <= stopped.counts.pages.terminal < PAGES
        assert window.actions_.pause.text() == "&Resume"
        window.actions_.pause.trigger()
        await _finished(stage)
        assert _snapshot(stage).counts.pages.extracted == PAGES
    undisturbed = tmp_path / "undisturbed.sluice"
    async with _stage(tmp_path) as stage:
        await stage.window.control.open(undisturbed, request_id="R-1")
        stage.window.control.run([folder])
        await _finished(stage)
    assert golden_set(case) == golden_set(undisturbed)


async def test_a_paused_case_is_still_paused_when_it_is_opened_again(tmp_path: Path) -> None:
    """The pause outlasts the window, and Resume goes on to the end."""
    folder = _batch(tmp_path / "in")
    case = tmp_path / "case.sluice"
    async with _stage(tmp_path, rate_per_s=120) as stage:
        await stage.window.control.open(case, request_id="R-1")
        stage.window.control.run([folder])
        await _some_pages(stage, 8)
        stage.window.control.pause()
        await until(lambda: _snapshot(stage).state is RunState.PAUSED)
    async with _stage(tmp_path) as stage:
        await stage.window.control.open(case)
        assert "Paused" in stage.header()
        stage.window.actions_.pause.trigger()
        await _finished(stage)
        assert _snapshot(stage).state is RunState.FINISHED
        assert _snapshot(stage).counts.pages.extracted == PAGES


async def test_limits_that_the_panel_applies_hold_in_the_run(tmp_path: Path) -> None:
    """A change while running reaches the stage, and is kept for the next start."""
    folder = _batch(tmp_path / "in")
    async with _stage(tmp_path, rate_per_s=120) as stage:
        window = stage.window
        window.take([folder])
        await _some_pages(stage, 4)
        panel = window.limits_panel
        panel.boxes["max_queue"].setValue(64)
        panel.boxes["permits"].setValue(90)
        panel.apply()
        stage_now = _snapshot(stage).stage
        assert (stage_now.max_queue, stage_now.permits) == (64, 90)
        panel.boxes["permits"].setValue(10)
        assert panel.candidate is None
        assert not panel.apply_button.isEnabled()
        window.control.stop()
        await until(lambda: not window.control.running)
        await stage.settle()
        assert any(text.startswith("Stopped safely.") for text in stage.said())


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start another process that has `case.sluice` open."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "case.sluice"), str(tmp_path / "other")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    yield process
    process.communicate("")


async def test_a_case_that_another_process_has_open_is_told(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    """The engine's sentence about the other process stands as a message; nothing is opened."""
    async with _stage(tmp_path) as stage:
        stage.window.opening.open_case(tmp_path / "case.sluice")
        await until(stage.said)
        assert str(holder.pid) in stage.said()[0]
        assert stage.window.control.session is None


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="file names are not plain bytes there")
async def test_names_that_are_hostile_or_no_utf8_are_run_and_shown_inert(tmp_path: Path) -> None:
    """Such files are extracted, and their names are text that can only be read."""
    folder = tmp_path / "in"
    folder.mkdir()
    names = [b"\xff\xfe.pdf", b"<b>bold<\x2fb>.pdf".replace(b"/", b""), "\u202efdp.exe.pdf".encode(), b"a\nb.pdf"]
    for seed, name in enumerate(names):
        pdfs.text_pdf(folder / os.fsdecode(name), pages=1, seed=seed)
    async with _stage(tmp_path) as stage:
        window = stage.window
        window.take([folder])
        await _finished(stage)
        assert _snapshot(stage).counts.pages.extracted == len(names)
        model = window.run_page.documents
        await until(lambda: model.rowCount() == len(names) and model.held_record(len(names) - 1))
        shown = {model.index(row, 1).data() for row in range(len(names))}
        assert shown == {"\\xff\\xfe.pdf", "<b>bold<b>.pdf", "\\u{202e}fdp.exe.pdf", "a\\u{a}b.pdf"}
