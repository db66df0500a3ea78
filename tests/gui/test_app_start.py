"""The whole program in a process of its own: it starts on a folder, stops safely on a signal, and leaves nothing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from engine import EngineError
from tests.support import pdfs
from tests.support.runs import assert_one_terminal_record_each, records_of

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 120
"""A bound for what another process does, so that a hang is a failure."""

WINDOW = """
import signal, sys
from pathlib import Path
from engine import Directories, FlowLimits, Settings, save_settings
from gui.app.start import run_window
directories = Directories.below(Path(sys.argv[1]))
flow = FlowLimits.build(workers=1, span_pages=4, max_queue=32, rate_per_s=40, burst=8)
save_settings(directories, Settings(flow=flow))
sys.exit(run_window([Path(path) for path in sys.argv[2:]], directories=directories))
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind are Unix's")


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return kept | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT), "HOME": str(home)}


def _wait(condition: Callable[[], object], process: psutil.Popen) -> None:
    end_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end_s, "what is waited for does not come"
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@contextmanager
def _window(home: Path, *paths: Path, start: tuple[str, ...] = ()) -> Iterator[psutil.Popen]:
    process = psutil.Popen(
        [sys.executable, *(start or ("-c", WINDOW, str(home), *map(str, paths)))],
        cwd=ROOT,
        env=_environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def _pages(cases: Path) -> int:
    """Return how many pages are committed in the one case of a folder."""
    found = list(cases.glob("*.sluice"))
    try:
        return sum(record["event"] == "EXTRACTED" for record in records_of(found[0])) if found else 0
    except EngineError:  # it is just being made
        return 0


def _log_says(logs: Path, words: str) -> bool:
    log = logs / "sluicegate.log"
    return log.exists() and words in log.read_text(encoding="ascii")


@pytest.mark.fault(16, by="kill -TERM of the window")
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.whole)])
def test_a_signal_during_a_run_stops_safely(tmp_path: Path, number: signal.Signals) -> None:
    """The program drains, commits and ends by itself with exit code 0; no worker is left, and no page is torn."""
    home, folder = tmp_path / "home", tmp_path / "in"
    pdfs.batch(folder, documents=20, pages_each=20)
    with _window(home, folder) as process:
        _wait(lambda: _pages(home / "cases") >= 8, process)
        workers = process.children(recursive=True)
        assert workers
        process.send_signal(number)
        _out, errors = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, errors
        _gone, alive = psutil.wait_procs(workers, timeout=10)
        assert alive == []
        assert "Traceback" not in errors
    [case] = (home / "cases").glob("*.sluice")
    assert 8 <= _pages(home / "cases") < 400
    (home / "logs" / "sluicegate.log").unlink()
    with _window(home, case) as process:
        # Opened again it shows the case, and a signal at rest ends it at once.
        _wait(lambda: _log_says(home / "logs", "case opened"), process)
        process.send_signal(number)
        _out, errors = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, errors
    assert_one_terminal_record_each(case)


def test_the_command_opens_the_window_on_a_folder_and_runs_at_once(tmp_path: Path) -> None:
    """`sluicegate open FOLDER` with a display shows the window, runs to the end, and stays until it is ended."""
    folder = tmp_path / "in"
    pdfs.batch(folder, documents=2, pages_each=3)
    with _window(tmp_path, start=("-m", "gui", "open", str(folder))) as process:
        logs = tmp_path / ".local" / "state" / "sluicegate" / "log"
        _wait(lambda: _log_says(logs, "run ended: finished"), process)
        assert process.children(recursive=True) == []
        process.send_signal(signal.SIGTERM)
        _out, errors = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, errors
    assert _pages(tmp_path / ".local" / "share" / "sluicegate" / "cases") == 6


SET_ASIDE = """
import gc, os, signal, sys, threading, time
from pathlib import Path
from engine import Directories
from gui.app.start import run_window

def stop_when_set_aside():
    while "gui.window.run_page" not in sys.modules or not gc.get_freeze_count():
        time.sleep(0.02)
    print(gc.get_freeze_count() > len(gc.get_objects()))
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=stop_when_set_aside, daemon=True).start()
run_window(directories=Directories.below(Path(sys.argv[1])))
print(gc.get_freeze_count())
"""


def test_what_the_window_loaded_is_spared_from_looks_for_garbage(tmp_path: Path) -> None:
    """Once the window is ready, most objects are set aside; and at its end none."""
    with _window(tmp_path, start=("-c", SET_ASIDE, str(tmp_path))) as process:
        out, complaints = process.communicate(timeout=LIMIT_S)
        assert (out.split(), complaints) == (["True", "0"], "")
