"""Means of injecting faults that belong to the system: strace, control groups, limits, small file systems.

Each needs something that a machine may not have; the markers say what, in words, where a test is skipped.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.faults import program

STOPPED_START = (
    "-c",
    "import os, runpy; os.kill(os.getpid(), 19); runpy.run_module('engine.terminal', None, '__main__', True)",
)
"""How Python starts the program so that it stops itself before it does anything: something can be attached to it."""

_GROUPS = Path("/sys/fs/cgroup")


def _can_trace() -> bool:
    if sys.platform != "linux" or shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False).returncode == 0  # noqa: S607


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


needs_strace = pytest.mark.skipif(not _can_trace(), reason="strace is not there, or may not trace")
needs_root = pytest.mark.skipif(not _is_root(), reason="needs the rights of root")
needs_posix = pytest.mark.skipif(os.name == "nt", reason="signals and descriptors are those of POSIX systems")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="what is used is Linux's")


def needs_group(controller: str) -> pytest.MarkDecorator:
    """Return the marker for a test that makes a control group of this kind."""
    there = _is_root() and os.access(_GROUPS / controller, os.W_OK)
    return pytest.mark.skipif(not there, reason=f"no {controller} control group (version 1) can be made")


@contextmanager
def begun(
    case: Path, folder: Path, home: Path, options: Sequence[str], **ways: Any
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the program as `program.start` does, and leave nothing of it behind when a test fails half-way."""
    process = program.start(case, folder, home, options, **ways)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        if process.stderr is not None and not process.stderr.closed:
            _, said = process.communicate()
            print(f"The program ended with {process.returncode} and said: {said.decode(errors='replace')}")


@contextmanager
def attached(pid: int, *expressions: str) -> Iterator[None]:
    """Tamper with the system calls of a process, its threads and all that it starts, for as long as the block runs.

    Args:
        pid: The process.
        expressions: What strace is told by `-e`.
    """
    told = [word for expression in expressions for word in ("-e", expression)]
    command = ["strace", "-f", "-qq", "-o", "/dev/null", *told, "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as strace:
        try:
            while not all(_is_traced(task) for task in Path(f"/proc/{pid}/task").iterdir()):
                assert strace.poll() is None, strace.stderr and strace.stderr.read()
                time.sleep(0.01)  # between two looks at another process
            yield
        finally:
            strace.terminate()  # it lets go of all that it traces


def _is_traced(task: Path) -> bool:
    with suppress(OSError):
        status = (task / "status").read_text(encoding="utf-8")
        return "TracerPid:\t0\n" not in status
    return True  # the thread has ended


_FAN_CLASS_CONTENT_CLOEXEC, _FAN_MARK_ADD, _FAN_ACCESS_PERM, _AT_FDCWD = 0x5, 0x1, 0x20000, -100


def _watch_for_permission(*paths: Path) -> int:
    """Have the system ask us before any read of these files; return where it asks, -1 where it does not do that."""
    if not _is_root() or sys.platform != "linux":
        return -1
    libc = ctypes.CDLL(None)
    listener = int(libc.fanotify_init(_FAN_CLASS_CONTENT_CLOEXEC, os.O_RDONLY))
    for path in paths:
        where = (_AT_FDCWD, os.fsencode(path))
        if (
            listener >= 0
            and libc.fanotify_mark(listener, _FAN_MARK_ADD, ctypes.c_uint64(_FAN_ACCESS_PERM), *where) != 0
        ):
            os.close(listener)
            listener = -1
    return listener


def _can_hang() -> bool:
    listener = _watch_for_permission(Path(__file__))
    if listener >= 0:
        os.close(listener)
    return listener >= 0


needs_hanging_reads = pytest.mark.skipif(not _can_hang(), reason="nobody may keep reads waiting here (fanotify, root)")


@contextmanager
def hanging_reads(path: Path) -> Iterator[None]:
    """Let every read of a file wait for an answer that never comes, as one of a dead share does."""
    listener = _watch_for_permission(path)
    assert listener >= 0
    try:
        yield
    finally:
        os.close(listener)


@contextmanager
def control_group(controller: str, **limits: int) -> Iterator[Path]:
    """Make a control group (version 1), and remove it when those in it have ended.

    Args:
        controller: Such as `memory`.
        limits: Names of its files, with `__` for a dot, and what to write into them.
    """
    group = _GROUPS / controller / f"sluicegate-test-{os.getpid()}"
    group.mkdir()
    try:
        for name, value in limits.items():
            (group / name.replace("__", ".")).write_text(str(value), encoding="ascii")
        yield group
    finally:
        until_s = time.monotonic() + 30
        while group.exists() and time.monotonic() < until_s:
            with suppress(OSError):  # somebody in it has not quite ended
                group.rmdir()
            time.sleep(0.02)  # between two tries


def join(group: Path, pid: int) -> None:
    """Put a process into a control group; one that has just ended is left alone."""
    with suppress(OSError):
        (group / "cgroup.procs").write_text(str(pid), encoding="ascii")


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount a file system in memory."""
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)  # noqa: S607
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)  # noqa: S607


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let a folder take no changes, not even from root."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)  # noqa: S607  # the system's own
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)  # noqa: S607  # as above
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)  # noqa: S607  # as above


@contextmanager
def no_descriptor_left() -> Iterator[list[int]]:
    """Use up every descriptor of this process, under a low limit; what is taken out of the list and closed is free."""
    import resource  # noqa: PLC0415  # not on Windows

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/dev/fd"))  # noqa: PTH208  # of one's own
    hog: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, limits[1]))
        take_all_descriptors(hog)
        yield hog
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for descriptor in hog:
            os.close(descriptor)


def take_all_descriptors(hog: list[int]) -> None:
    """Open as many descriptors as this process may."""
    with suppress(OSError):
        while True:
            hog.append(os.open(os.devnull, os.O_RDONLY))


def descriptors_of(pid: int) -> list[int]:
    """Return the open descriptors of a process."""
    return [int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()]


def limit_descriptors(pid: int, soft: int, hard: int | None = None) -> None:
    """Set how many descriptors a running process may have."""
    psutil.Process(pid).rlimit(psutil.RLIMIT_NOFILE, (soft, soft if hard is None else hard))


def workers_of(pid: int) -> list[psutil.Process]:
    """Return the worker processes of a running program."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children()
    return []


def processor_s(worker: psutil.Process) -> float:
    """Return how long a process has computed; 0 where it has ended."""
    with suppress(psutil.Error):
        times = worker.cpu_times()
        return float(times.user + times.system)
    return 0.0
