"""The `sluicegate` command: terminal and window behind one name, and Qt only where a window is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gui.app import display
from tests.support import pdfs
from tests.support.runs import records_of

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_QT = """
import sys
for name in ("PySide6", "shiboken6", "qasync", "pyqtgraph"):
    sys.modules[name] = None
from gui.command import main
main()
"""


def _environment(home: Path, **others: str) -> dict[str, str]:
    """Return an environment without a display, in which the program keeps its files below `home`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"} and not name.startswith("XDG_")
    }
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT)} | others


def _call(home: Path, *words: str, code: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else ["-m", "gui"]
    return subprocess.run(
        [sys.executable, *start, *words],
        cwd=home,
        env=_environment(home, **environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_line_loads_no_qt() -> None:
    """Importing the command loads neither Qt nor what draws with it, so that the terminal works without them."""
    code = (
        "import sys, gui.command\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in {'PySide6', 'qasync', 'pyqtgraph'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_help_lists_the_commands_of_terminal_and_window(tmp_path: Path) -> None:
    """One name reaches everything, and help works where Qt is missing."""
    done = _call(tmp_path, "--help", code=WITHOUT_QT)
    assert done.returncode == 0
    for name in ("run", "export", "text", "verify", "sample", "window", "open"):
        assert f"\n  {name} " in done.stdout


def test_the_version_is_told(tmp_path: Path) -> None:
    """`--version` names the program and its version."""
    done = _call(tmp_path, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("sluicegate, version ")


def test_without_a_display_the_window_says_so_in_one_sentence(tmp_path: Path) -> None:
    """No abort of Qt, no traceback: a sentence and the exit code of wrong usage, with and without the word `window`."""
    for words in ((), ("window",), ("window", "somewhere")):
        done = _call(tmp_path, *words)
        assert done.returncode == 2
        assert done.stderr.startswith("There is no display here")
        assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="X11 is asked only on Linux")
def test_a_display_that_does_not_answer_is_told_and_not_tried(tmp_path: Path) -> None:
    """Qt would abort the process over a dead display; here it is a sentence."""
    if display.missing_libraries({"DISPLAY": ":0"}):
        pytest.skip("the X11 libraries are not installed")
    done = _call(tmp_path, "window", DISPLAY=":9871")
    assert done.returncode == 2
    assert "The display :9871 does not answer." in done.stderr


def test_missing_qt_is_told_with_what_to_do(tmp_path: Path) -> None:
    """An import that fails ends with a sentence that names it, and points to the terminal."""
    done = _call(tmp_path, "window", code=WITHOUT_QT, QT_QPA_PLATFORM="offscreen")
    assert done.returncode == 2
    assert "PySide6" in done.stderr
    assert "sluicegate run" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["numpy", "pyqtgraph"])
def test_a_window_without_charts_is_not_opened(tmp_path: Path, name: str) -> None:
    """What is loaded after the window shows is missed before: a sentence that names it, and no window."""
    code = f"import sys; sys.modules[{name!r}] = None; from gui.command import main; main()"
    done = _call(tmp_path, "window", code=code, QT_QPA_PLATFORM="offscreen")
    assert done.returncode == 2
    assert f"No module named '{name}'" in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_system_libraries_are_named_with_their_packages() -> None:
    """The sentence names each library and the package that brings it, once."""
    sentence = display.sentence_for(["libgthread-2.0.so.0", "libglib-2.0.so.0", "libxcb-cursor.so.0"])
    assert "libxcb-cursor.so.0" in sentence
    assert sentence.endswith("sudo apt-get install libglib2.0-0 libxcb-cursor0.")
    assert display.sentence_for([]) == ""


def test_a_library_that_qt_lacks_is_found_in_the_words_of_the_import_error() -> None:
    """The loader's message becomes the sentence with the package; any other message is passed on."""
    error = ImportError("libEGL.so.1: cannot open shared object file: No such file or directory")
    assert "sudo apt-get install libegl1." in display.import_problem(error)
    assert "No module named 'PySide6'" in display.import_problem(ImportError("No module named 'PySide6'"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this plugin")
def test_a_plugin_that_does_not_load_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where Qt's X11 plugin cannot be loaded, there is a sentence; where it is not wanted, it is not looked at."""
    plugin = tmp_path / "PySide6" / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    plugin.parent.mkdir(parents=True)
    plugin.write_bytes(b"no library")
    (tmp_path / "PySide6" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "PySide6", raising=False)
    assert "libqxcb.so" in display.missing_libraries({"DISPLAY": ":0"})
    assert display.missing_libraries({"WAYLAND_DISPLAY": "wayland-0"}) == ""
    assert display.missing_libraries({"DISPLAY": ":0", "QT_QPA_PLATFORM": "offscreen"}) == ""


@pytest.mark.parametrize(
    ("environ", "platform", "shown"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_where_a_window_can_be_shown(environ: dict[str, str], platform: str, shown: bool) -> None:  # noqa: FBT001  # a parameter
    """A display is needed on Linux alone, unless Qt is told to draw elsewhere."""
    assert (not display.no_display(environ, platform)) == shown


def test_open_without_a_display_does_the_work_in_the_terminal(tmp_path: Path) -> None:
    """One sentence says why, and the folder is run like with `sluicegate run`."""
    pdfs.batch(tmp_path / "in", documents=2, pages_each=3)
    done = _call(tmp_path, "open", str(tmp_path / "in"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("There is no display here")
    [case] = tmp_path.rglob("*.sluice")
    assert sum(record["event"] == "EXTRACTED" for record in records_of(case)) == 6


@pytest.mark.slow
def test_open_without_a_display_and_without_a_folder_runs_the_sample_batch(tmp_path: Path) -> None:
    """What `make run` does on a server: the sample batch is written and run, its bad documents included."""
    done = _call(tmp_path, "open")
    assert done.returncode == 1, done.stderr
    [case] = tmp_path.rglob("*.sluice")
    assert {record["event"] for record in records_of(case)} >= {"EXTRACTED", "DEAD_LETTER", "DUPLICATE", "RECONCILED"}


INTERRUPTED = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("engine.terminal.console") or name == "engine.session.directories":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from gui.command import main
main()
"""


def test_ctrl_c_while_modules_load_is_not_taken_for_dead_letters(tmp_path: Path) -> None:
    """Interrupted before the work has begun, and again as that is told: the exit code is that of stopped early."""
    done = _call(tmp_path, "run", str(tmp_path), code=INTERRUPTED)
    assert done.returncode == 3, done.stderr
    assert done.stderr.strip() == "Interrupted."


def test_wrong_usage_is_told_with_its_own_exit_code(tmp_path: Path) -> None:
    """A command or option that does not exist ends with 2 and a sentence, without a traceback."""
    for words in (("nonsense",), ("run", "--nonsense")):
        done = _call(tmp_path, *words)
        assert done.returncode == 2
        assert "Usage:" in done.stderr
        assert "Traceback" not in done.stderr
