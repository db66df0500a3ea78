"""Flat memory: how resident memory moves with the number of pages, as a slope with its error and as a curve.

Two parts. `engine` is the main process alone, with made-up pages of ordinary length in one case. `whole` is main
process and workers over a real collection, again and again as new cases in one process.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from engine.heap import set_up_heap
from engine.models.facts import Fact, PagesDone, Receipt
from engine.session.directories import Directories
from tests.bench.bulk import bulk_session, write_bulk
from tests.bench.documents import Planned, collection
from tests.bench.figures import Slope, mean, slope
from tests.bench.measured import MeasuredSession, new_session, settings_for
from tests.bench.programs import python_module, run_program
from tests.bench.tables import MIB, megabytes, table

_CHARS = 2500
_POINTS = 400
_BLOCKS = 40
"""Points that the slope is taken of: means of neighbours, since neighbours are not independent of each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Resident memory after so many pages, in bytes."""

    pages: int
    main: int
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One part."""

    part: str
    pages: int
    from_page: int
    """Where the slope begins: what comes before is the warm-up."""
    main_bytes_per_page: Slope | None
    tree_bytes_per_page: Slope | None
    peak_main_bytes: int
    peak_worker_bytes: int
    peak_tree_bytes: int
    points: tuple[Point, ...]


def measure(
    pages: int,
    *,
    from_page: int,
    workers: int,
    plan: Sequence[Planned],
    parts: Sequence[str] = ("engine", "whole"),
    say: Callable[[str], None] = print,
) -> tuple[Memory, ...]:
    """Work through so many pages, part by part.

    Args:
        pages: Pages of each part.
        from_page: Where the slope begins.
        workers: Worker processes.
        plan: The collection that `whole` works through again and again.
        parts: Which parts.
        say: Told about every part.

    Raises:
        ProgramError: When a part fails.
    """
    results = []
    for part in parts:
        say(f"{part}: {pages:,} pages")
        source = str(collection(plan).folder) if part == "whole" else ""
        with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as home:
            call = (part, home, "--pages", str(pages), "--workers", str(workers), "--source", source)
            ended = run_program(python_module("memory", *call))
        points = tuple(Point(**point) for point in ended.report["points"])
        results.append(
            Memory(
                part=part,
                pages=ended.report["pages"],
                from_page=from_page,
                main_bytes_per_page=_slope(points, from_page, lambda point: point.main),
                tree_bytes_per_page=_slope(points, from_page, lambda point: point.main + point.workers),
                peak_main_bytes=ended.rss.main,
                peak_worker_bytes=max(ended.rss.others, default=0),
                peak_tree_bytes=ended.rss.tree,
                points=points,
            )
        )
    return tuple(results)


def lines(results: Sequence[Memory]) -> Iterator[str]:
    """Yield the table."""
    rows = [
        (
            result.part,
            f"{result.pages:,}",
            megabytes(result.peak_main_bytes),
            megabytes(result.peak_worker_bytes),
            megabytes(result.peak_tree_bytes),
            _shown(result.main_bytes_per_page),
            _shown(result.tree_bytes_per_page),
        )
        for result in results
    ]
    head = ("part", "pages", "main (MB)", "worker (MB)", "tree (MB)", "main, KB per 1,000 pages", "tree")
    yield from table(head, rows)
    if results:
        yield f"Peaks; slopes from page {results[0].from_page:,} on, each with its standard error."


def picture(results: Sequence[Memory]) -> str:
    """Return the curves as an SVG picture: memory of the main process and of the tree over pages."""
    width, height, left, bottom = 900, 420, 70, 40
    right, top = 40, 16  # for the halves of the last labels
    most_pages = max((point.pages for result in results for point in result.points), default=1)
    most = max((point.main + point.workers for result in results for point in result.points), default=1) * 1.1

    def place(pages: float, size: float) -> str:
        x, y = left + (width - left - right) * pages / most_pages, top + (height - top - bottom) * (1 - size / most)
        return f"{x:.1f},{y:.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    for step in range(6):
        size, pages = most * step / 5, most_pages * step / 5
        (x, y), (x_at, _) = place(0, size).split(","), place(pages, 0).split(",")
        parts.append(f'<path d="M{x} {y}H{width - right}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y}" text-anchor="end" font-size="12">{size / MIB:,.0f} MB</text>')
        parts.append(f'<text x="{x_at}" y="{height - 18}" text-anchor="middle" font-size="12">{pages:,.0f}</text>')
    curves = [
        (f"{result.part}, {name}", [place(point.pages, read(point)) for point in result.points])
        for result in results
        for name, read in _CURVES
        if any(read(point) for point in result.points)
    ]
    for number, (name, places) in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(f'<polyline points="{" ".join(places)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(
            f'<text x="{width - right}" y="{top + 20 + 16 * number}" text-anchor="end" fill="{colour}">{name}</text>'
        )
    parts.append(f'<text x="{width // 2}" y="{height - 3}" text-anchor="middle" font-size="12">pages</text></svg>')
    return "\n".join(parts)


_CURVES: tuple[tuple[str, Callable[[Point], int]], ...] = (
    ("main process", lambda point: point.main),
    ("all workers", lambda point: point.workers),
)
_COLOURS = ("#1f5fbf", "#c2571a", "#2a8a4a", "#8a2a8a")


def _slope(points: Sequence[Point], from_page: int, read: Callable[[Point], int]) -> Slope | None:
    kept = [point for point in points if point.pages >= from_page]
    size = max(1, len(kept) // _BLOCKS)
    blocks = [kept[start : start + size] for start in range(0, len(kept), size)]
    return slope([(mean([point.pages for point in block]), mean([read(point) for point in block])) for block in blocks])


def _shown(found: Slope | None) -> str:
    return (
        "too few points" if found is None else f"{found.per_unit * 1000 / 1024:+.1f} ± {found.error * 1000 / 1024:.1f}"
    )


class _Scale:
    """Reads resident memory after every so many pages; called on the writers' threads.

    Args:
        every: Pages between two readings.
    """

    def __init__(self, every: int) -> None:
        self._every = every
        self._due = every
        self._process = psutil.Process()
        self.pages = 0
        self._readings = array("q", bytes(8 * 3 * (_POINTS + 1)))  # made at once: what is measured must not move it
        self._taken = 0

    def on_commit(self, facts: Sequence[Fact], _receipt: Receipt) -> None:
        """Count pages, and read where it is time."""
        self.pages += sum(len(fact.results) for fact in facts if isinstance(fact, PagesDone))
        if self.pages >= self._due:
            self._due = self.pages + self._every
            workers = 0
            for child in self._process.children():
                try:
                    workers += child.memory_info().rss
                except psutil.Error:
                    continue
            reading = array("q", (self.pages, self._process.memory_info().rss, workers))
            self._readings[3 * self._taken : 3 * self._taken + 3] = reading
            self._taken += 1

    def points(self) -> list[dict[str, int]]:
        """Return the readings."""
        rows = (self._readings[3 * place : 3 * place + 3] for place in range(self._taken))
        return [{"pages": pages, "main": main, "workers": workers} for pages, main, workers in rows]


async def _engine(home: Path, pages: int, scale: _Scale) -> None:
    session = bulk_session(home / "cases" / "bench.sluice", home, chars=_CHARS)
    await _to_the_end(session, write_bulk(home / "source", pages), scale)


async def _whole(home: Path, pages: int, scale: _Scale, source: Path, workers: int) -> None:
    directories = Directories.below(home)
    case = directories.cases / "bench.sluice"
    while scale.pages < pages:
        before = scale.pages
        session = new_session(case, directories=directories, settings=settings_for(workers))
        await _to_the_end(session, source, scale)
        for file in case.parent.iterdir():
            file.unlink()
        if scale.pages == before:
            raise SystemExit("The collection gives no pages.")


async def _to_the_end(session: MeasuredSession, source: Path, scale: _Scale) -> None:
    session.observer.case.on_commit = scale.on_commit
    try:
        await session.run([source])
    finally:
        await session.close()


def main() -> None:
    """Work through one part and print the readings."""
    parser = argparse.ArgumentParser(description="One part of the memory benchmark")
    parser.add_argument("part", choices=("engine", "whole"))
    parser.add_argument("home", type=Path)
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--source", type=Path)
    given = parser.parse_args()
    set_up_heap()  # as the program does when it starts
    scale = _Scale(max(1, given.pages // _POINTS))
    if given.part == "engine":
        asyncio.run(_engine(given.home, given.pages, scale))
    else:
        asyncio.run(_whole(given.home, given.pages, scale, given.source, given.workers))
    report: dict[str, Any] = {"pages": scale.pages, "points": scale.points()}
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
