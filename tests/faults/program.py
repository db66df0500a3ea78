"""The real program, started in a place of its own so that a fault can meet it, and what must hold afterwards.

Covers starting and finishing runs, finding every process that belongs to one, and the comparison with an undisturbed
run. Which fault is injected, and how, is the business of each test.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.reader import CaseReader
from engine.case.verify import verify_file
from tests.support.runs import GoldenSet, assert_one_terminal_record_each, golden_set

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

SLOW = ("--rate", "400", "--burst", "16")
"""Limits that make a run long enough to be met several times, without using up the machine."""

ACCOUNTED = frozenset({0, 1})
"""Exit codes of a run after which everything is accounted for, some of it perhaps as dead letters."""

STOPPED = 3
"""Exit code of a run that ended early and can be resumed."""

MODULE = ("-m", "engine.terminal")
"""How Python starts the program."""


def run_arguments(case: Path, folder: Path | None, *options: str) -> list[str]:
    """Return the arguments of a run.

    Args:
        case: The case file.
        folder: The source, or None to go on with what the case has pending.
        options: Further options.
    """
    sources = [] if folder is None else [str(folder), "--request-id", "r"]
    return ["run", *sources, "--case", str(case), "--quiet", *options]


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a program whose own files all lie below `home`.

    The folder for temporary files, which workers inherit, too, is the mark by which `processes_of` knows them.
    """
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "TMPDIR": str(temporary),
    }


def launch(
    arguments: Sequence[str],
    home: Path,
    *,
    prefix: Sequence[str] = (),
    module: Sequence[str] = MODULE,
    extra: Mapping[str, str] | None = None,
) -> "subprocess.Popen[bytes]":
    """Start the program in a place of its own; its sentences are in `stderr`.

    Args:
        arguments: A command and its options.
        home: Where its own files lie.
        prefix: A program that starts it, such as `strace`.
        module: How Python starts the program.
        extra: More environment.
    """
    return subprocess.Popen(
        [*prefix, sys.executable, *module, *arguments],
        env=environment(home) | dict(extra or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=home,
    )


def start(
    case: Path,
    folder: Path | None,
    home: Path,
    options: Sequence[str] = SLOW,
    *,
    prefix: Sequence[str] = (),
    module: Sequence[str] = MODULE,
    extra: Mapping[str, str] | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a run on a folder, or, with None, on what the case has pending; for the rest, see `launch`."""
    return launch(run_arguments(case, folder, *options), home, prefix=prefix, module=module, extra=extra)


def ending(process: "subprocess.Popen[bytes]", timeout_s: float = 120.0) -> tuple[int, str]:
    """Wait for the end of a program; return its exit code and what it said.

    Raises:
        subprocess.TimeoutExpired: When it does not end; it is killed then.
    """
    try:
        _, errors = process.communicate(timeout=timeout_s)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return process.returncode, errors.decode(errors="replace")


def finish(case: Path, folder: Path | None, home: Path, options: Sequence[str] = SLOW) -> None:
    """Run to the end, and check that it ended with everything accounted for."""
    code, said = ending(start(case, folder, home, options))
    assert code in ACCOUNTED, said


def processes_of(home: Path) -> list[psutil.Process]:
    """Return every process that a program started in this place has left, whoever its parent is now."""
    mark = str(home / "tmp")
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TMPDIR") == mark:
                found.append(process)
        except (psutil.Error, OSError):  # gone meanwhile, or somebody else's
            continue
    return found


def assert_no_process_left(home: Path) -> None:
    """Check that everything that was started in this place ends by itself."""
    left = wait_for_children_to_end(processes_of(home))
    assert not left, f"processes left behind: {left}"


def wait_for_children_to_end(children: list[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that are still there after they had time to notice."""
    _, left = psutil.wait_procs(children, timeout=30)
    return left


def pages_done(case: Path) -> int:
    """Return how many pages of a case that another process is writing have their terminal record."""
    if not case.exists() or CaseFile.is_new(case):
        return 0
    with CaseReader(case) as reader:
        return reader.counts().pages.terminal


def wait_until(condition: Callable[[], bool], process: "subprocess.Popen[bytes]", timeout_s: float = 60.0) -> bool:
    """Look until a condition holds; return whether it came to hold before the program ended.

    Raises:
        TimeoutError: When neither happened.
    """
    until_s = time.monotonic() + timeout_s
    while not condition():
        if process.poll() is not None:
            return condition()
        if time.monotonic() > until_s:
            raise TimeoutError("neither the condition nor the end of the program came")
        time.sleep(0.01)  # between two looks at another process
    return True


def fingerprint(folder: Path) -> dict[str, tuple[str, int, int, int]]:
    """Return what every file below a folder is: hash, size, time of change, mode."""
    result = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else ""
        result[str(path.relative_to(folder))] = (digest, status.st_size, status.st_mtime_ns, status.st_mode)
    return result


def age(folder: Path) -> None:
    """Make every file below a folder an hour old: one that may still be written to is left alone for a while."""
    then_s = time.time() - 3600
    for path in folder.rglob("*"):
        os.utime(path, (then_s, then_s))


def assert_sound(case: Path) -> None:
    """Check a case, finished or not: no second terminal record, and an exported log that verifies."""
    assert_one_terminal_record_each(case)
    with tempfile.TemporaryDirectory() as place, CaseReader(case) as reader:
        out = Path(place) / "audit.jsonl"
        _, head = export_audit(reader, out)
        report = verify_file(out, expect_head=head)
    assert report.ok, report.problems


def assert_same_as(case: Path, expected: GoldenSet) -> None:
    """Check that a finished case accounts for everything exactly as an undisturbed run did."""
    assert golden_set(case) == expected
    with CaseReader(case) as reader:
        assert reader.counts().reconciled
    assert_sound(case)
