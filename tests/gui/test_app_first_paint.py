"""What the window loads before it is painted for the first time, in a process of its own, and what it loads then."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

STARTED = """
import asyncio, json, sys
from pathlib import Path
import gui.command
from tests.bench.offscreen import run_on_qt, shown_window
from PySide6.QtCore import QEvent, QObject
from engine import Directories

class FirstPaint(QObject):
    loaded = None

    def eventFilter(self, _watched, event):
        if event.type() == QEvent.Type.Paint and self.loaded is None:
            self.loaded = sorted(sys.modules)
        return False

async def main(application):
    paint = FirstPaint()
    application.installEventFilter(paint)
    async with shown_window(application, Directories.below(Path(sys.argv[1]))) as window:
        while paint.loaded is None or window.pages.count() < 2:
            await asyncio.sleep(0.01)
        application.removeEventFilter(paint)
        json.dump({"painted": paint.loaded, "ready": sorted(sys.modules)}, sys.stdout)

run_on_qt(main)
"""

CHARTS = {"numpy", "pyqtgraph"}
CASES = {"apsw", "engine.case", "engine.pipeline", "engine.work", "engine.flow", "engine.sample"}
MUPDF = {"pymupdf", "fitz"}


def test_what_only_a_case_needs_is_loaded_after_the_first_paint(tmp_path: Path) -> None:
    """Nothing of charts and cases is there when the window is painted; then the charts are, before any case is."""
    done = subprocess.run(
        [sys.executable, "-c", STARTED, str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    loaded = {when: set(names) for when, names in json.loads(done.stdout).items()}
    assert "gui.views.empty_page" in loaded["painted"]
    assert loaded["painted"] & (CHARTS | CASES | MUPDF) == set()
    assert loaded["ready"] >= CHARTS
    assert loaded["ready"] & (CASES | MUPDF) == set()
