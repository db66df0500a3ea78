"""Where the main process spends its time: py-spy where it is installed, which sees every thread, or else cProfile.

Covers both tools and what is read off their files. py-spy is asked for threads that hold the interpreter: what C code
does without it (hashing, the disk) stands in the threads' processor time. cProfile sees the loop's thread alone, and
makes small functions look dearer than they are. Imports are left out.
"""

import cProfile
import pstats
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_RATE_PER_S = 200
_MOST_ROWS = 40
_IMPORT = "importlib._bootstrap"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    """One function."""

    function: str
    """File and name."""
    own: float
    """Share of all time that was spent in itself."""
    total: float
    """Share of all time that was spent in it and in what it called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Where the time went."""

    tool: str
    threads: dict[str, float]
    """Share of all time by the name of the thread."""
    functions: tuple[ProfileRow, ...]
    """The largest own share first."""


class LoopProfile:
    """Profiles the thread that calls `switch` with cProfile.

    Args:
        out: Where the figures go.
    """

    def __init__(self, out: Path) -> None:
        self._out = out
        self._profile = cProfile.Profile(timer=time.thread_time)  # waiting counts nothing

    def switch(self, running: bool) -> None:  # noqa: FBT001  # it is the state that is told
        """Begin, or end and write the figures."""
        if running:
            self._profile.enable()
        else:
            self._profile.disable()
            self._profile.dump_stats(self._out)


def spy() -> str | None:
    """Return where py-spy is, or None."""
    return shutil.which("py-spy")


def spied(command: Sequence[str], out: Path) -> list[str]:
    """Return the command line that runs a program under py-spy."""
    options = ["--format", "raw", "--threads", "--gil", "--rate", str(_RATE_PER_S), "--output", str(out)]
    return [spy() or "py-spy", "record", *options, "--", *command]


def of_spy(file: Path) -> Profile:
    """Return what py-spy saw: lines of a stack, outermost first and divided by semicolons, and its samples."""
    threads: Counter[str] = Counter()
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for line in file.read_text(encoding="utf-8").splitlines():
        stack, _, samples = line.rpartition(" ")
        if _IMPORT in stack:
            continue
        frames = stack.split(";")
        thread = _thread_of(frames[0])
        functions = [_function_of(frame) for frame in frames if not frame.startswith("thread (")]
        threads[thread] += int(samples)
        if functions:
            own[functions[-1]] += int(samples)
        for function in set(functions):
            total[function] += int(samples)
    everything = max(1, sum(threads.values()))
    rows = [
        ProfileRow(function=function, own=samples / everything, total=total[function] / everything)
        for function, samples in own.most_common(_MOST_ROWS)
    ]
    shares = {name: samples / everything for name, samples in threads.most_common()}
    return Profile(tool="py-spy", threads=shares, functions=tuple(rows))


def of_cprofile(file: Path) -> Profile:
    """Return what cProfile saw of the loop's thread."""
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]]
    stats = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]  # it has no other way to its figures
    everything = max(1e-9, sum(figures[2] for figures in stats.values()))
    rows = [
        ProfileRow(
            function=f"{Path(where[0]).name}:{where[2]}", own=figures[2] / everything, total=figures[3] / everything
        )
        for where, figures in sorted(stats.items(), key=lambda item: -item[1][2])[:_MOST_ROWS]
    ]
    return Profile(tool="cProfile", threads={"MainThread": 1.0}, functions=tuple(rows))


def _thread_of(frame: str) -> str:
    """Return the name in `thread (0x7f3a): case-writer_0`; the main thread has no such frame, some have no name."""
    if not frame.startswith("thread ("):
        return "MainThread"
    return frame.partition(": ")[2].rstrip("0123456789_-") or "others"


def _function_of(frame: str) -> str:
    """Return `commits.py:run` for `run (engine/pipeline/commits.py:130)`."""
    name, _, place = frame.partition(" (")
    return f"{Path(place.partition(':')[0]).name}:{name}"
