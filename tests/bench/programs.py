"""Running one program of the benchmark to its end, and what it and its processes used meanwhile.

Covers starting, looking at resident memory from outside, and the program's report, which is one JSON object on its
standard output. What a program does is its own business.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

LOOK_S = 0.2
"""Time between two looks at the memory of all processes."""

LIMIT_S = 4 * 3600.0
"""Longest time that a program may take: the bare script has no clocks, and a document may be endless."""

CHECKOUT = Path(__file__).parents[2]


class ProgramError(Exception):
    """A program of the benchmark failed, or took too long; `str(error)` says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakRss:
    """Highest resident memory seen, in bytes."""

    main: int
    """The program itself."""
    others: tuple[int, ...]
    """Each process below it, the largest first; of many short ones only the largest."""
    tree: int
    """All of them together, at one moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A program that came to its end."""

    started_s: float
    """When it was started, on the monotonic clock, which all processes share."""
    ended_s: float
    report: dict[str, Any]
    """What it printed; empty where it prints none."""
    rss: PeakRss
    cpu_s: float
    """Processor time of the program and all its processes; 0 where the system does not tell."""


def python_module(name: str, *arguments: str) -> list[str]:
    """Return the command line of one of the benchmark's own programs."""
    return [sys.executable, "-m", f"tests.bench.{name}", *arguments]


def run_program(
    command: Sequence[str | Path],
    *,
    given: bytes = b"",
    environ: Mapping[str, str] | None = None,
    statuses: Sequence[int] = (0,),
    reports: bool = True,
) -> Ended:
    """Run a program to its end.

    Args:
        command: Its command line.
        given: Its standard input.
        environ: Environment variables besides those that there are.
        statuses: Exit statuses that are no failure.
        reports: Whether it prints a report.

    Raises:
        ProgramError: When it fails, or takes too long.
    """
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout:
        stdin.write(given)
        stdin.seek(0)
        cpu_before_s = _cpu_of_children_s()
        started_s = time.monotonic()
        process = subprocess.Popen(
            command, stdin=stdin, stdout=stdout, env={**os.environ, "PYTHONPATH": str(CHECKOUT), **(environ or {})}
        )
        try:
            rss = _watched(process, started_s + LIMIT_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        ended_s = time.monotonic()
        stdout.seek(0)
        printed = stdout.read()
    if process.returncode not in statuses:
        raise ProgramError(f"{_name(command)} ended with status {process.returncode}.")
    return Ended(
        started_s=started_s,
        ended_s=ended_s,
        report=json.loads(printed) if reports else {},
        rss=rss,
        cpu_s=_cpu_of_children_s() - cpu_before_s,
    )


def _watched(process: "subprocess.Popen[bytes]", until_s: float) -> PeakRss:
    """Look at the memory of a program and its processes until it ends."""
    top = psutil.Process(process.pid)
    peaks: dict[int, int] = {}
    tree = 0
    while True:
        sizes = _sizes(top)
        tree = max(tree, sum(sizes.values()))
        for pid, size in sizes.items():
            peaks[pid] = max(peaks.get(pid, 0), size)
        try:
            process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() > until_s:
                raise ProgramError("A program of the benchmark takes too long.") from None
        else:
            main = peaks.pop(process.pid, 0)
            return PeakRss(main=main, others=tuple(sorted(peaks.values(), reverse=True)[:16]), tree=tree)


def _sizes(top: psutil.Process) -> dict[int, int]:
    sizes = {}
    try:
        for process in (top, *top.children(recursive=True)):
            try:
                sizes[process.pid] = int(process.memory_info().rss)
            except psutil.Error:
                continue
    except psutil.Error:
        return sizes
    return sizes


def _cpu_of_children_s() -> float:
    """Return the processor time of all processes that were started here and have ended, and of those below them."""
    if sys.platform == "win32":
        return 0.0
    import resource  # noqa: PLC0415  # not on Windows

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _name(command: Sequence[str | Path]) -> str:
    return " ".join(str(word) for word in command[:4])
