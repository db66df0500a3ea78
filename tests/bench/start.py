"""The start of the window, against the least that a window with a chart costs: importing Qt and pyqtgraph, one plot.

Both are programs of their own, from the start of the process until everything shown first is painted.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import Spread, spread
from tests.bench.programs import python_module, run_program
from tests.bench.tables import megabytes, ratio, table

_OFFSCREEN = {"QT_QPA_PLATFORM": "offscreen"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How long until something is painted."""

    window_s: Spread
    plot_s: Spread
    ratio_start: Spread
    """Of the window to the plot; each pair gives one."""
    window_rss_bytes: int
    plot_rss_bytes: int
    pairs: int


def measure(*, pairs: int, say: Callable[[str], None] = print) -> Start:
    """Start both in turn, several times.

    Raises:
        ProgramError: When one fails.
    """
    took: dict[str, list[float]] = {"window": [], "plot": []}
    rss = dict.fromkeys(took, 0)
    for pair in range(pairs):
        for what, seen in took.items():
            ended = run_program(python_module("start", what), environ=_OFFSCREEN)
            seen.append(ended.report["painted_s"] - ended.started_s)
            rss[what] = max(rss[what], ended.report["rss_bytes"])
            say(f"turn {pair + 1} of {pairs}, {what}: {seen[-1]:.2f} s")
    return Start(
        window_s=spread(took["window"]),
        plot_s=spread(took["plot"]),
        ratio_start=spread([window / plot for window, plot in zip(took["window"], took["plot"], strict=True)]),
        window_rss_bytes=rss["window"],
        plot_rss_bytes=rss["plot"],
        pairs=pairs,
    )


def lines(result: Start) -> Iterator[str]:
    """Yield the table."""
    rows = [
        (name, f"{took.median:.2f}", f"{took.least:.2f}", f"{took.most:.2f}", megabytes(rss_bytes))
        for name, took, rss_bytes in (
            ("the window", result.window_s, result.window_rss_bytes),
            ("an empty plot", result.plot_s, result.plot_rss_bytes),
        )
    ]
    yield from table(("until painted", "median (s)", "from", "to", "RSS (MB)"), rows)
    yield f"ratio_start      {ratio(result.ratio_start)}   the window / an empty plot"


def _window() -> None:
    """Show the program's window until it is painted."""
    import asyncio  # noqa: PLC0415  # every import is part of what is measured

    from PySide6.QtWidgets import QApplication  # noqa: PLC0415  # as above

    import gui.command  # noqa: F401, PLC0415  # as above: it is what the program loads first
    from engine import Directories  # noqa: PLC0415  # as above
    from tests.bench.offscreen import run_on_qt, shown_window  # noqa: PLC0415  # as above
    from tests.bench.paints import PaintCount  # noqa: PLC0415  # as above

    async def main(application: QApplication) -> None:
        painted = asyncio.Event()
        nowhere = Directories.below(Path(os.devnull))  # nobody has recent cases or settings there
        async with shown_window(application, nowhere) as window:
            # The window's own paint comes before those of its parts, all in one go.
            paints = PaintCount(window)
            paints.when_painted(painted.set)
            window.update()  # it may have been painted already while it was shown
            await painted.wait()
            _tell()

    run_on_qt(main)


def _plot() -> None:
    """Show an empty plot until it is painted."""
    import pyqtgraph as pg  # noqa: PLC0415  # every import is part of what is measured
    from PySide6.QtWidgets import QApplication  # noqa: PLC0415  # as above

    from tests.bench.paints import PaintCount  # noqa: PLC0415  # as above

    application = QApplication([])
    plot = pg.PlotWidget()

    def painted() -> None:
        _tell()
        application.quit()

    paints = PaintCount(plot.viewport())
    paints.when_painted(painted)
    plot.show()
    plot.viewport().update()
    application.exec()


def _tell() -> None:
    painted_s = time.monotonic()
    import psutil  # noqa: PLC0415  # after the time was taken

    json.dump({"painted_s": painted_s, "rss_bytes": psutil.Process().memory_info().rss}, sys.stdout)


def main() -> None:
    """Show one of the two."""
    parser = argparse.ArgumentParser(description="One start")
    parser.add_argument("what", choices=("window", "plot"))
    if parser.parse_args().what == "window":
        _window()
    else:
        _plot()


if __name__ == "__main__":
    main()
