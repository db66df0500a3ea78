"""Makes the screenshots of the README from the real window, with the real engine on a real batch.

Usage: `.venv/bin/python tests/screenshots.py OUT_FOLDER`. The batch is the sample batch and some hundred plain
documents beside it, so that the charts have something to show. It draws into memory and needs no display.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# The two lines above must come first: they say where the program is and that nothing is drawn on a screen.
from PySide6.QtGui import QColor, QPainter  # as above
from PySide6.QtWidgets import QApplication, QDialog  # as above

from engine import Directories, HoldCause, RunState, open_case, write_sample_batch  # as above
from gui.app.faults import Faults  # as above
from gui.app.loop import EventLoop, run  # as above
from gui.app.start import new_application  # as above
from gui.app.tasks import TaskOwner  # as above
from gui.views.icons import Icons  # as above
from gui.views.start_dialog import StartDialog  # as above
from gui.views.theme import Appearance, Themes  # as above
from gui.window.main_window import MainWindow  # as above
from gui.window.seams import Engine  # as above
from tests.support.pdfs import batch  # as above
from tests.support.scripted_session import until as until_within  # as above

WIDTH_PX, HEIGHT_PX = 1280, 900
DOCUMENTS, PAGES_EACH = 500, 40
DONE_AT_PAUSE = 0.55
"""Share of all pages that is done when the run is paused for its picture."""


LONGEST_WAIT_S = 1200.0
"""For one condition: the whole batch takes a while on a slow computer."""


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    await until_within(condition, limit_s=LONGEST_WAIT_S)


class Camera:
    """Takes each picture twice, light and dark.

    Args:
        folder: Where they go.
        window: What is seen.
        themes: Switches the colours.
    """

    def __init__(self, folder: Path, window: MainWindow, themes: Themes) -> None:
        self._folder = folder
        self._window = window
        self._themes = themes

    async def take(self, name: str, dialog: QDialog | None = None) -> None:
        """Take the window, with a dialog in front of it if there is one."""
        for appearance in (Appearance.LIGHT, Appearance.DARK):
            self._themes.set_appearance(appearance)
            for _ in range(4):  # a style sheet settles, charts are drawn, tables get their rows
                self._window.refresh.now()
                await asyncio.sleep(0.1)
            picture = self._window.grab()
            if dialog is not None:
                shown = dialog.grab()
                painter = QPainter(picture)
                painter.fillRect(picture.rect(), QColor(0, 0, 0, 70))
                painter.drawPixmap(
                    (picture.width() - shown.width()) // 2, (picture.height() - shown.height()) // 3, shown
                )
                painter.end()
            picture.save(str(self._folder / f"{name}-{appearance.value}.png"))
            print(name, appearance.value)  # a script for people


async def _pictures(application: QApplication, out: Path, place: Path) -> None:
    directories = Directories.below(place / "home")
    faults = Faults()
    themes = Themes(application)
    async with TaskOwner(faults.report) as tasks:
        engine = Engine(directories=directories, open_case=open_case, write_sample_batch=write_sample_batch)
        window = MainWindow(engine=engine, tasks=tasks, themes=themes, icons=Icons(themes))
        faults.show = window.show_fault
        window.resize(WIDTH_PX, HEIGHT_PX)
        window.show()
        camera = Camera(out, window, themes)
        source = place / "records request 2026-031"
        await write_sample_batch(source / "sample")
        await asyncio.to_thread(batch, source / "letters", DOCUMENTS, PAGES_EACH)
        for name in ("claims-2026-118", "FOI-2026-029", "board-minutes"):
            await window.control.open(place / "home" / "cases" / f"{name}.sluice", request_id=name)
            await window.control.close()
        await until(lambda: not tasks.running)
        await camera.take("empty")
        await _start(window, camera, source)
        await _run(window, camera)
        window.stop_and_go()
        await window.until_closed()
    window.deleteLater()


async def _start(window: MainWindow, camera: Camera, source: Path) -> None:
    window.opening.take([source])
    await until(lambda: window.findChildren(StartDialog))
    [dialog] = window.findChildren(StartDialog)
    dialog.request_id.setText("FOI-2026-031")
    await until(dialog.start_button.isEnabled)
    await camera.take("start", dialog)
    dialog.start_button.click()


async def _run(window: MainWindow, camera: Camera) -> None:
    control = window.control

    def done() -> float:
        snapshot = control.snapshot()
        pages = snapshot.counts.pages if snapshot is not None else None
        return pages.terminal / (DOCUMENTS * PAGES_EACH) if pages is not None else 0.0

    def held() -> bool:
        snapshot = control.snapshot()
        return snapshot is not None and any(hold.cause is HoldCause.WATERMARK for hold in snapshot.stage.holds)

    def state() -> RunState | None:
        snapshot = control.snapshot()
        return snapshot.state if snapshot is not None else None

    await until(lambda: done() > DONE_AT_PAUSE / 2 and held())
    await camera.take("running")
    window.actions_.limits.trigger()
    window.limits_panel.boxes["permits"].setValue(150)
    await camera.take("limits")
    window.actions_.limits.trigger()
    await until(lambda: done() > DONE_AT_PAUSE)
    control.pause()
    await until(lambda: state() is RunState.PAUSED)
    await asyncio.sleep(6)  # so that the pause is seen in the charts
    await camera.take("paused")
    control.resume()
    await until(lambda: not control.running)
    window.run_page.charts.choose_window(None)
    window.run_page.tabs.setCurrentIndex(1)
    await until(lambda: window.run_page.dead_letters.record(2))
    window.run_page.dead_letters_view.selectRow(2)
    await camera.take("finished")
    session = control.session
    assert session is not None
    await control.export_audit(session.info.path.with_suffix(".jsonl"), shown_as="FOI-2026-031-audit.jsonl")
    await camera.take("exported")


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description="Make the screenshots of the README.")
    parser.add_argument("out", type=Path, metavar="OUT_FOLDER")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    application = new_application()
    with tempfile.TemporaryDirectory(prefix="demo-") as place:
        run(EventLoop(application), _pictures(application, out, Path(place)))


if __name__ == "__main__":
    main()
