"""The main benchmark: pages a second, of the bare script, of the program without and with its window, of pdftotext.

All of them read the same files, in turn, several times; a ratio is taken within one turn, so that whatever else the
machine does meets all of them alike. How each is run and what is taken from its report stands here; what is measured
inside the program, in `measured`.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.bench import profiles as profilers
from tests.bench.figures import Spread, spread
from tests.bench.programs import Ended, PeakRss, ProgramError, python_module, run_program

PARTS = ("bare", "headless", "window", "pdftotext")
_PROGRAM = ("headless", "window")
_OFFSCREEN = {"QT_QPA_PLATFORM": "offscreen"}
_TOLD = ("state", "reconciled", "outcomes", "loop_lag_ms", "commit_ms", "saturation", "worker_pages", "charts_painted")
_XARGS_FAILED = 123
"""One of the calls failed: pdftotext does on documents that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """Processor time in seconds, of the work and not of the start, where these can be told apart."""

    main_s: float
    main_us_per_page: float
    all_s: float
    """Of all processes, start and end included."""
    threads_s: dict[str, float] = field(default_factory=dict)
    """Of the main process, by the names of its threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRun:
    """One part, run once."""

    part: str
    pages: int
    start_s: float
    """From starting the program to being ready to work."""
    work_s: float
    """From there until every page was done."""
    pages_per_s: float
    """Of the work alone."""
    cpu: Cpu
    rss: PeakRss
    more: dict[str, Any] = field(default_factory=dict)
    """What only the program itself can tell: its loop's lag, its commits, its queue and permits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """All runs, and what follows from them."""

    folder: str
    documents: int
    pages: int
    workers: int
    pairs: int
    pages_per_s: dict[str, Spread]
    ratio_headless: Spread | None
    """Of the program without window to the bare script; each pair gives one."""
    ratio_window: Spread | None
    """Of the program with its window to the bare script."""
    ratio_pdftotext: Spread | None
    """Of the program without window to pdftotext."""
    main_headless: Spread | None
    """Processor time of the main process without window, to that of all of the bare script's processes, their start
    included: unlike microseconds, it does not move with the speed of the machine in that minute."""
    main_window: Spread | None
    """The same with the window."""
    runs: tuple[PartRun, ...]
    profiles: dict[str, profilers.Profile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What all parts are to do."""

    folder: Path
    workers: int
    files: tuple[bytes, ...]
    """Absolute paths of the documents, the largest first."""

    @classmethod
    def over(cls, folder: Path, *, workers: int) -> "Work":
        """Return the work that the documents below a folder make.

        Raises:
            ProgramError: When there are none.
        """
        found: list[tuple[int, bytes]] = []
        for place, _, names in os.walk(os.fsencode(folder.absolute())):
            for name in names:
                path = os.path.join(place, name)  # noqa: PTH118  # paths are bytes
                if name.lower().endswith(b".pdf") and os.path.isfile(path) and not os.path.islink(path):  # noqa: PTH113, PTH114  # as above
                    found.append((os.path.getsize(path), path))  # noqa: PTH202  # as above
        if not found:
            raise ProgramError(f"There are no PDF files below {folder}.")
        return cls(folder=folder, workers=workers, files=tuple(path for _, path in sorted(found, reverse=True)))


def measure(
    work: Work, *, pairs: int, parts: Sequence[str] = PARTS, profile: bool = False, say: Callable[[str], None] = print
) -> Throughput:
    """Run all parts in turn, several times.

    Args:
        work: What to do.
        pairs: How often.
        parts: Which parts; pdftotext is left out where it is not installed.
        profile: Whether to run the program once more each way to see where its main process spends its time.
        say: Told about every run.

    Raises:
        ProgramError: When one of them fails.
    """
    parts = [part for part in parts if part != "pdftotext" or shutil.which("pdftotext") is not None]
    _read_all(work)
    runs: list[PartRun] = []
    for pair in range(pairs):
        # Every second turn the other way round, so that none always comes after the same other one.
        for part in parts if pair % 2 == 0 else reversed(parts):
            runs.append(run_part(part, work))
            say(f"Turn {pair + 1} of {pairs}, {part}: {runs[-1].work_s:.2f} s")
    runs = _with_pages(runs)
    speeds = {part: [run.pages_per_s for run in runs if run.part == part] for part in PARTS}
    main_s = {part: [run.cpu.main_s for run in runs if run.part == part] for part in _PROGRAM}
    bare_s = [run.cpu.all_s for run in runs if run.part == "bare"]
    return Throughput(
        folder=str(work.folder),
        documents=len(work.files),
        pages=max((run.pages for run in runs), default=0),
        workers=work.workers,
        pairs=pairs,
        pages_per_s={part: spread(speeds[part]) for part in parts},
        ratio_headless=_ratio(speeds["headless"], speeds["bare"]),
        ratio_window=_ratio(speeds["window"], speeds["bare"]),
        ratio_pdftotext=_ratio(speeds["headless"], speeds["pdftotext"]),
        main_headless=_ratio(main_s["headless"], bare_s),
        main_window=_ratio(main_s["window"], bare_s),
        runs=tuple(runs),
        profiles={part: profiled(part, work) for part in parts if part in _PROGRAM} if profile else {},
    )


def run_part(part: str, work: Work) -> PartRun:
    """Run one part once.

    Raises:
        ProgramError: When it fails.
    """
    if part == "bare":
        return _bare(work)
    return _pdftotext(work) if part == "pdftotext" else _program(part, work)


def profiled(part: str, work: Work) -> profilers.Profile:
    """Run the program once under a profiler, and return where its main process spent its time.

    Raises:
        ProgramError: When it fails.
    """
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as home:
        out = Path(home, "profile")
        command = _command(part, work, home)
        if profilers.spy() is not None:
            run_program(profilers.spied(command, out), environ=_OFFSCREEN, reports=False)
            return profilers.of_spy(out)
        run_program([*command, "--profile", str(out)], environ=_OFFSCREEN)
        return profilers.of_cprofile(out)


def _bare(work: Work) -> PartRun:
    ended = run_program(python_module("bare", str(work.workers)), given=_listed(work))
    return _part_run("bare", ended, cpu_main_s=ended.report["cpu_main_s"])


def _pdftotext(work: Work) -> PartRun:
    """Run pdftotext by way of xargs, one document a call; its start is part of the work, and it counts no pages."""
    call = ["xargs", "-0", "-P", str(work.workers), "-I", "{}", "pdftotext", "-q", "{}", os.devnull]
    ended = run_program(call, given=_listed(work), statuses=(0, _XARGS_FAILED), reports=False)
    return _part_run("pdftotext", ended, cpu_main_s=0.0)


def _program(part: str, work: Work) -> PartRun:
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as home:
        ended = run_program(_command(part, work, home), environ=_OFFSCREEN)
    report = ended.report
    return _part_run(
        part,
        ended,
        cpu_main_s=report["cpu_main_s"],
        threads_s=report["cpu_threads_s"],
        more={name: report[name] for name in _TOLD if name in report},
    )


def _command(part: str, work: Work, home: str) -> list[str]:
    return python_module(part, "--home", home, "--workers", str(work.workers), str(work.folder.absolute()))


def _part_run(
    part: str,
    ended: Ended,
    *,
    cpu_main_s: float,
    threads_s: dict[str, float] | None = None,
    more: dict[str, Any] | None = None,
) -> PartRun:
    report = {"pages": 0, "ready_s": ended.started_s, "done_s": ended.ended_s} | ended.report
    pages, work_s = int(report["pages"] or 0), report["done_s"] - report["ready_s"]
    return PartRun(
        part=part,
        pages=pages,
        start_s=report["ready_s"] - ended.started_s,
        work_s=work_s,
        pages_per_s=pages / work_s,
        cpu=Cpu(
            main_s=cpu_main_s,
            main_us_per_page=1e6 * cpu_main_s / max(1, pages),
            all_s=ended.cpu_s,
            threads_s=threads_s or {},
        ),
        rss=ended.rss,
        more=more or {},
    )


def _with_pages(runs: Sequence[PartRun]) -> list[PartRun]:
    """Let pdftotext, which counts no pages, have as many as the bare script found in the same files."""
    pages = max((run.pages for run in runs), default=0)
    return [
        replace(run, pages=pages, pages_per_s=pages / run.work_s) if run.part == "pdftotext" else run for run in runs
    ]


def _ratio(mine: Sequence[float], others: Sequence[float]) -> Spread | None:
    ratios = [one / other for one, other in zip(mine, others, strict=False) if other > 0]
    return spread(ratios) if ratios else None


def _listed(work: Work) -> bytes:
    return b"".join(path + b"\0" for path in work.files)


def _read_all(work: Work) -> None:
    """Read every file once, so that the first part does not pay for the disk alone."""
    for path in work.files:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  # paths are bytes
            while file.read(1 << 20):
                pass
