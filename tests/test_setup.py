"""How a checkout sets itself up and starts: the Makefile and the two programs in `.ci`.

Runs the real ones, in copies of the checkout whose lock file names no package, so that nothing is downloaded and no
system package is installed. What the lock files hold is tested in `test_packaging.py`.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

CHECKOUT = Path(__file__).parent.parent
UNIX = pytest.mark.skipif(sys.platform == "win32", reason="the Makefile is for systems with make and sh")
MAKE = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")

SHOW_ARGUMENTS = """#!/bin/sh
for argument in "$@"; do printf '%s\\n' "$argument"; done
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout in a folder with a space in its name, whose lock files name no package."""
    folder = tmp_path / "a checkout"
    shutil.copytree(CHECKOUT / ".ci", folder / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "Makefile", folder)
    for lock in ("requirements.lock", "requirements-dev.lock"):
        (folder / lock).write_text("# nothing\n", encoding="utf-8")
    return folder


@pytest.fixture
def setup() -> ModuleType:
    """The set-up program as a module."""
    spec = importlib.util.spec_from_file_location("setup_program", CHECKOUT / ".ci" / "setup.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*command: str | Path, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user would who is not inside another make."""
    inherited = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "FOLDER"}}
    return subprocess.run(
        command, cwd=cwd, env=inherited | environ, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )


def executable(file: Path, text: str) -> Path:
    """Write a program of a few lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    return file


def environment_that_logs(copy: Path, *, pip_ends_with: int = 0) -> Callable[[], int]:
    """Put an environment in place that only counts what pip is asked to install; return how to read the count."""
    log = copy / "pip.log"
    program = f'case $2 in pip) echo "$@" >> "{log}"; exit {pip_ends_with};; *) echo 3.11.0;; esac'
    executable(copy / ".venv" / "bin" / "python", f"#!/bin/sh\n{program}\n")
    return lambda: len(log.read_text(encoding="utf-8").splitlines())


@UNIX
@MAKE
@pytest.mark.parametrize("folder", ["plain", "with a space", "a$b", 'it\'s "odd"; echo `no` $(no)', "-dash", "%s*?[x]"])
def test_make_run_hands_the_folder_over_as_it_was_typed(copy: Path, folder: str) -> None:
    """No letter in a folder's name means anything to make or to the shell."""
    executable(copy / ".ci" / "python.sh", "#!/bin/sh\n")
    executable(copy / ".venv" / "bin" / "python", SHOW_ARGUMENTS)
    result = run("make", "run", f"FOLDER={folder}", cwd=copy)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["-m", "gui", "open", "--", folder]


@UNIX
@MAKE
def test_make_run_without_a_folder_names_none(copy: Path) -> None:
    """Without FOLDER the window opens empty, instead of on a folder with an empty name."""
    executable(copy / ".ci" / "python.sh", "#!/bin/sh\n")
    executable(copy / ".venv" / "bin" / "python", SHOW_ARGUMENTS)
    assert run("make", "run", cwd=copy).stdout.splitlines() == ["-m", "gui", "open"]


@UNIX
@MAKE
def test_make_run_knows_the_home_folder(copy: Path) -> None:
    """A tilde that the user's shell left alone stands for the home folder."""
    executable(copy / ".ci" / "python.sh", "#!/bin/sh\n")
    executable(copy / ".venv" / "bin" / "python", SHOW_ARGUMENTS)
    result = run("make", "run", "FOLDER=~/my files", cwd=copy, HOME="/home/someone")
    assert result.stdout.splitlines()[-1] == "/home/someone/my files"


@UNIX
@MAKE
@pytest.mark.parametrize(("ends_with", "loads", "succeeds"), [(0, 0, True), (1, 0, True), (1, 1, False), (3, 0, False)])
def test_dead_letters_are_no_error_of_make(copy: Path, *, ends_with: int, loads: int, succeeds: bool) -> None:
    """A run that accounts for all succeeds; one that stopped early, or a program that cannot be loaded, fails."""
    executable(copy / ".ci" / "python.sh", "#!/bin/sh\n")
    executable(
        copy / ".venv" / "bin" / "python",
        f"#!/bin/sh\ncase $1 in -m) exit {ends_with};; -c) exit {loads};; esac\n",
    )
    assert (run("make", "run", cwd=copy).returncode == 0) is succeeds


@UNIX
@MAKE
def test_nothing_is_run_after_a_set_up_that_failed(copy: Path) -> None:
    """Where the set-up fails, make fails and does not start the program."""
    executable(copy / ".ci" / "python.sh", "#!/bin/sh\nexit 1\n")
    executable(copy / ".venv" / "bin" / "python", SHOW_ARGUMENTS)
    result = run("make", "run", cwd=copy)
    assert result.returncode != 0
    assert result.stdout == ""


@UNIX
def test_a_machine_without_a_suitable_python_is_told_so(copy: Path) -> None:
    """One sentence names the Python that is needed; an older one is not taken."""
    path = copy / "bin"
    executable(path / "python3", "#!/bin/sh\nexit 1\n")
    shell = shutil.which("sh")
    assert shell
    result = run(shell, ".ci/python.sh", "-c", "print('started')", cwd=copy, PATH=str(path), PYTHON="")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Python 3.11 to 3.14" in result.stderr


@UNIX
def test_the_python_that_the_user_names_is_taken(copy: Path) -> None:
    """PYTHON comes before what the search path offers, also when its path has a space in it."""
    python = copy / "my python"
    python.symlink_to(sys.executable)
    result = run("sh", ".ci/python.sh", "-c", "import sys; print(sys.executable)", cwd=copy, PYTHON=str(python))
    assert result.stdout == f"{python}\n"


@UNIX
def test_packages_are_installed_once_for_each_lock_file(copy: Path) -> None:
    """A second set-up installs nothing; a changed lock file, and the one for the checks, are installed again."""
    calls = environment_that_logs(copy)
    for expected in (1, 1):
        assert run(sys.executable, ".ci/setup.py", "run", cwd=copy).returncode == 0
        assert calls() == expected
    (copy / "requirements.lock").write_text("# still nothing\n", encoding="utf-8")
    for level, expected in (("run", 2), ("run", 2), ("dev", 3), ("dev", 3), ("run", 3)):
        assert run(sys.executable, ".ci/setup.py", level, cwd=copy).returncode == 0
        assert calls() == expected


@UNIX
def test_packages_that_cannot_be_installed_fail_the_set_up(copy: Path) -> None:
    """What pip could not install is no success, and nothing says later that it was."""
    environment_that_logs(copy, pip_ends_with=1)
    result = run(sys.executable, ".ci/setup.py", "run", cwd=copy)
    assert result.returncode == 1
    assert "could not be installed" in result.stderr
    assert (copy / ".venv" / ".unfinished").exists()
    assert not list((copy / ".venv").glob(".installed-*"))


@UNIX
@pytest.mark.slow
def test_after_an_interruption_nothing_half_done_is_kept(copy: Path) -> None:
    """A set-up that finds the mark of an unfinished one makes the environment anew, in a working state."""
    environment_that_logs(copy)
    (copy / ".venv" / ".unfinished").touch()
    (copy / ".venv" / "half-done").touch()
    result = run(sys.executable, ".ci/setup.py", "run", cwd=copy)
    assert result.returncode == 0, result.stderr
    left = {file.name for file in (copy / ".venv").iterdir()}
    assert ".installed-run" in left
    assert not left & {".unfinished", "half-done"}
    assert run(copy / ".venv" / "bin" / "python", "-c", "import pip, sys; print(sys.prefix)", cwd=copy).stdout == (
        f"{copy / '.venv'}\n"
    )


def test_what_the_linker_does_not_find_is_named(setup: ModuleType) -> None:
    """Each missing library is taken from the linker's words once; those that are there are not."""
    said = (
        "plugins/platforms/libqxcb.so:\n"
        "\tlinux-vdso.so.1 (0x00007ffd)\n"
        "\tlibxcb-cursor.so.0 => not found\n"
        "\tlibEGL.so.1 => not found\n"
        "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f00)\n"
        "plugins/platforms/libqoffscreen.so:\n"
        "\tlibEGL.so.1 => not found\n"
        "\t/lib64/ld-linux-x86-64.so.2 (0x00007f11)\n"
    )
    assert setup.not_found(said) == ["libEGL.so.1", "libxcb-cursor.so.0"]


def test_a_library_becomes_the_package_that_brings_it(setup: ModuleType) -> None:
    """Packages are named once each; a library that a later Qt needs and nobody foresaw stands for itself."""
    libraries = ["libglib-2.0.so.0", "libgthread-2.0.so.0", "libwayland-egl.so.1", "libxcb-cursor.so.0", "libnew.so.1"]
    assert setup.packages_of(libraries) == ["libglib2.0-0", "libnew.so.1", "libwayland-egl1", "libxcb-cursor0"]
