"""The program with its window, measured: one run over a folder, charts shown, drawn into memory.

Run as `python -m tests.bench.window --home FOLDER --workers N SOURCE`; prints its report as JSON.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication

from engine import Directories, Settings
from engine.heap import set_up_heap
from tests.bench.headless import arguments
from tests.bench.measured import MeasuredSession, new_session, settings_for
from tests.bench.offscreen import run_on_qt, shown_window
from tests.bench.paints import PaintCount
from tests.bench.profiles import LoopProfile


async def measured(
    application: QApplication, source: Path, home: Path, *, workers: int, profile: Path | None = None
) -> dict[str, Any]:
    """Let the window run over a folder in a new case, and return what was seen; arguments as without a window."""
    opened: list[MeasuredSession] = []
    ended = asyncio.Event()

    def around(running: bool) -> None:  # noqa: FBT001  # the observer's way to tell
        if not running:
            ended.set()

    async def open_case(
        path: Path, *, request_id: str | None, settings: Settings | None, directories: Directories
    ) -> MeasuredSession:
        del request_id, settings
        session = new_session(path, directories=directories, settings=settings_for(workers))
        session.observer.around.append(around)
        if profile is not None:
            session.observer.around.append(LoopProfile(profile).switch)
        opened.append(session)
        return session

    async with shown_window(application, Directories.below(home), open_case) as window:
        paints = PaintCount(*(chart.plot.viewport() for chart in window.run_page.charts.charts))
        window.take([source])
        await ended.wait()
    [session] = opened
    return session.observer.report() | {"charts_painted": paints.painted // 4}


def main() -> None:
    """Run and print the report."""
    set_up_heap()  # as the program does when it starts
    given = arguments("One run with the window, drawn into memory")
    report = run_on_qt(
        lambda application: measured(
            application, given.source, given.home, workers=given.workers, profile=given.profile
        )
    )
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
