"""The figures as people read them: one table for each benchmark, in plain text."""

from collections.abc import Callable, Iterator, Sequence

from tests.bench.figures import Spread, spread
from tests.bench.profiles import Profile
from tests.bench.throughput import PartRun, Throughput

MIB = 1024 * 1024

Read = Callable[[PartRun], float | None]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: the first column to the left, all others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, ["-" * width for width in widths], *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def of_throughput(result: Throughput) -> Iterator[str]:
    """Yield the table of the main benchmark, and the ratios below it."""
    yield f"{result.documents:,} documents, {result.pages:,} pages, {result.workers} workers, {result.pairs} turns"
    yield ""
    speeds = result.pages_per_s
    rows = [
        ["pages/s", *(f"{speed.median:,.1f}" for speed in speeds.values())],
        ["  from", *(f"{speed.least:,.1f}" for speed in speeds.values())],
        ["  to", *(f"{speed.most:,.1f}" for speed in speeds.values())],
    ]
    for name, read, form in _ROWS:
        cells = [_cell(result.runs, part, read, form) for part in speeds]
        rows += [[name, *cells]] if any(cells) else []
    yield from table(["median of all turns", *speeds], rows)
    yield ""
    yield f"ratio_headless   {ratio(result.ratio_headless)}   headless / bare"
    yield f"ratio_window     {ratio(result.ratio_window)}   window / bare"
    yield f"ratio_pdftotext  {ratio(result.ratio_pdftotext)}   headless / pdftotext"
    yield f"main_headless    {ratio(result.main_headless)}   CPU of the main process / all CPU of bare"
    yield f"main_window      {ratio(result.main_window)}   the same with the window"
    for part, profile in result.profiles.items():
        yield ""
        yield from of_profile(part, profile)


def of_profile(part: str, profile: Profile) -> Iterator[str]:
    """Yield the table of a profile."""
    threads = ", ".join(f"{name} {share:.0%}" for name, share in profile.threads.items())
    yield f"Where the main process spends its time ({part}, {profile.tool}): {threads}"
    rows = [(row.function, f"{row.own:.1%}", f"{row.total:.1%}") for row in profile.functions[:25]]
    yield from table(("function", "in itself", "with all below it"), rows)


def ratio(value: Spread | None) -> str:
    """Return a ratio with its ends."""
    return "not measured" if value is None else f"{value.median:.3f} (from {value.least:.3f} to {value.most:.3f})"


def megabytes(size_bytes: float) -> str:
    """Return a size as people read it."""
    return f"{size_bytes / MIB:,.1f}"


def _cell(runs: Sequence[PartRun], part: str, read: Read, form: str) -> str:
    values = [value for run in runs if run.part == part and (value := read(run)) is not None]
    return form.format(spread(values).median) if values else ""


def _told(group: str, name: str, factor: float = 1.0) -> Read:
    """Return what reads a figure that only the program itself tells."""

    def read(run: PartRun) -> float | None:
        value = run.more.get(group, {}).get(name)
        return None if value is None else float(value) * factor

    return read


_ROWS: tuple[tuple[str, Read, str], ...] = (
    ("start (s)", lambda run: run.start_s, "{:.2f}"),
    ("work (s)", lambda run: run.work_s, "{:.2f}"),
    ("CPU, main process (s)", lambda run: run.cpu.main_s, "{:.2f}"),
    ("CPU, all processes (s)", lambda run: run.cpu.all_s, "{:.2f}"),
    ("CPU, main, us a page", lambda run: run.cpu.main_us_per_page, "{:.0f}"),
    ("peak RSS, main (MB)", lambda run: run.rss.main / MIB, "{:.1f}"),
    ("peak RSS, largest other (MB)", lambda run: max(run.rss.others, default=0) / MIB, "{:.1f}"),
    ("peak RSS, tree (MB)", lambda run: run.rss.tree / MIB, "{:.1f}"),
    ("loop lag p50 (ms)", _told("loop_lag_ms", "p50"), "{:.1f}"),
    ("loop lag p99 (ms)", _told("loop_lag_ms", "p99"), "{:.1f}"),
    ("loop lag max (ms)", _told("loop_lag_ms", "max"), "{:.1f}"),
    ("commit mean (ms)", _told("commit_ms", "mean"), "{:.2f}"),
    ("commit p99 (ms)", _told("commit_ms", "p99"), "{:.2f}"),
    ("commits", _told("commit_ms", "count"), "{:.0f}"),
    ("queue filled, mean (%)", _told("saturation", "queue_mean_share", 100), "{:.0f}"),
    ("permits held, mean (%)", _told("saturation", "permits_mean_share", 100), "{:.0f}"),
    ("workers busy, mean (%)", _told("saturation", "workers_busy_share", 100), "{:.0f}"),
    ("charts painted", lambda run: run.more.get("charts_painted"), "{:.0f}"),
)
