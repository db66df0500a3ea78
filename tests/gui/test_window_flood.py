"""The window over a real case that changes a thousand times a second: nothing missing, nothing out of order."""

import functools
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QTimer

from engine import Directories, FlowLimits, RunState, open_case, write_sample_batch
from engine.models.document import PageResult, Span
from engine.models.outcome import Reason
from engine.session.opening import usual_parts
from gui.views.start_dialog import StartDialog
from gui.window.seams import Engine
from tests.support.runs import assert_one_terminal_record_each, write_documents
from tests.support.scripted_extractor import ScriptedExtractor, dead_page
from tests.support.scripted_session import until
from tests.support.window_stage import drop, mime_of, staged

pytestmark = [pytest.mark.one_loop("qasync"), pytest.mark.fault(40)]

LIMITS = FlowLimits.build(workers=4, max_queue=256)
PAGES = 6
GROWTH_BYTES = 80 << 20


def every_tenth_dead(span: Span, page: int) -> PageResult | None:
    """Let the first page of every tenth document be a dead letter."""
    return dead_page(page, Reason.NO_TEXT) if page == 1 and span.document.doc_id % 10 == 0 else None


@pytest.mark.parametrize("documents", [500, pytest.param(10_000, marks=[pytest.mark.whole, pytest.mark.slow])])
async def test_a_flood_of_events_leaves_the_window_whole(tmp_path: Path, documents: int) -> None:
    """Documents are opened, read and recorded as fast as the case takes them; in the end each row is there."""
    folder, case = write_documents(tmp_path / "in", [PAGES] * documents), tmp_path / "case.sluice"
    parts = replace(usual_parts(), extractor=lambda _settings: ScriptedExtractor(page=every_tenth_dead))
    opener = functools.partial(open_case, parts=parts)
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1

    timer = QTimer()
    timer.timeout.connect(tick)
    engine = Engine(
        directories=Directories.below(tmp_path / "places"), open_case=opener, write_sample_batch=write_sample_batch
    )
    async with staged(engine) as stage:
        window = stage.window
        assert drop(window, mime_of(folder))
        dialog = await stage.dialog(StartDialog)
        dialog.request_id.setText("FOI-1")
        dialog.case_path.setText(str(case))
        await until(dialog.start_button.isEnabled)
        before = psutil.Process().memory_info().rss
        timer.start(20)
        dialog.start_button.click()
        await until(lambda: (shot := window.control.snapshot()) and shot.state is RunState.FINISHED, limit_s=250)
        timer.stop()
        session = window.control.session
        assert session is not None
        counts = session.snapshot().counts
        assert (counts.documents.enumerated, counts.pages.terminal) == (documents, documents * PAGES)
        await until(lambda: not window.control.running)
        lags = [sample.loop_lag_ms for sample in session.metrics.read(None, 10_000)]
        grown = psutil.Process().memory_info().rss - before
        print(
            f"{counts.audit_records} records in {session.snapshot().active_s:.1f} s, {ticks} ticks of a 20 ms timer; "
            f"loop lag median {sorted(lags)[len(lags) // 2]:.0f} ms, most {max(lags):.0f} ms; {grown >> 20} MB more"
        )
        page = window.run_page
        await until(lambda: page.documents.rowCount() == documents)
        page.tabs.setCurrentIndex(1)
        await until(lambda: page.dead_letters.rowCount() == documents // 10)
        rows = [row for first in range(1, documents, 1000) for row in await session.document_rows(first, 1000)]
        assert [row.doc_id for row in rows] == [*range(1, documents + 1)]
        assert "Finished: every page is accounted for" in stage.header()
        assert grown < GROWTH_BYTES
        assert ticks > 0
    assert_one_terminal_record_each(case)
