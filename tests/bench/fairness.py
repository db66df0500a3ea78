"""One huge document among many small ones: at what rate the small ones finish, with it and without it."""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.models.facts import DocumentProbed, Fact, PagesDone, Receipt
from engine.session.directories import Directories
from tests.bench.documents import Planned, collection
from tests.bench.figures import Spread, spread
from tests.bench.measured import new_session, settings_for
from tests.bench.programs import python_module, run_program
from tests.bench.tables import ratio, table


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """What the huge document does to the small ones."""

    small: int
    """Documents of one page."""
    huge_pages: int
    """Pages of the huge document, whose name comes first."""
    alone_per_s: Spread
    """Small documents finished a second, without the huge one."""
    beside_per_s: Spread
    """The same, beside it."""
    slowdown: Spread
    """How many times as long the small ones take beside it; each pair gives one."""
    huge_done_share: float
    """How much of the huge document was done when the last small one was."""


def measure(small: int, huge_pages: int, *, workers: int, pairs: int, say: Callable[[str], None] = print) -> Fairness:
    """Run over the small documents without and with the huge one, in turn, several times.

    Raises:
        ProgramError: When a run fails.
    """
    few = [Planned(path=f"small-{number:06d}.pdf", pages=1) for number in range(small)]
    alone = collection(few).folder
    beside = collection([*few, Planned(path="huge.pdf", pages=huge_pages)]).folder
    rates: dict[Path, list[float]] = {alone: [], beside: []}
    done = 0
    for pair in range(pairs):
        for folder, seen in rates.items():
            with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as home:
                call = ("--home", home, "--workers", str(workers), "--small", str(small), str(folder))
                report = run_program(python_module("fairness", *call)).report
            seen.append(report["small"] / (report["last_s"] - report["ready_s"]))
            done = report["pages"] - report["small"]
            say(
                f"turn {pair + 1} of {pairs}, {'with' if folder == beside else 'without'}: {seen[-1]:,.1f} small ones/s"
            )
    return Fairness(
        small=small,
        huge_pages=huge_pages,
        alone_per_s=spread(rates[alone]),
        beside_per_s=spread(rates[beside]),
        slowdown=spread([free / shared for free, shared in zip(rates[alone], rates[beside], strict=True)]),
        huge_done_share=done / huge_pages,
    )


def lines(result: Fairness) -> Iterator[str]:
    """Yield the table."""
    yield f"{result.small:,} documents of one page, and one of {result.huge_pages:,} pages that comes first"
    rows = [
        ("small documents/s without it", f"{result.alone_per_s.median:,.1f}"),
        ("small documents/s beside it", f"{result.beside_per_s.median:,.1f}"),
        ("slowdown of the small ones", ratio(result.slowdown)),
        ("the huge one done by then", f"{result.huge_done_share:.0%}"),
    ]
    yield from table(("", "median"), rows)


class _SmallOnes:
    """Notes when the small documents are done; called on the writer's thread.

    Args:
        expected: How many there are.
        on_all: Called when the last one is done.
    """

    def __init__(self, expected: int, on_all: Callable[[], None]) -> None:
        self._expected = expected
        self._on_all = on_all
        self._small: set[int] = set()
        self.done = 0
        self.last_s = 0.0
        self.pages = 0

    def on_commit(self, facts: Sequence[Fact], _receipt: Receipt) -> None:
        """Look for small documents."""
        for fact in facts:
            if isinstance(fact, DocumentProbed) and fact.probe.page_count == 1:
                self._small.add(fact.doc_id)
            elif isinstance(fact, PagesDone) and self.done < self._expected:
                self.pages += len(fact.results)
                if fact.doc_id in self._small:
                    self.done += 1
                    self.last_s = time.monotonic()
        if self.done == self._expected:
            self._on_all()


async def _run(source: Path, home: Path, *, workers: int, small: int) -> dict[str, Any]:
    directories = Directories.below(home)
    session = new_session(directories.cases / "bench.sluice", directories=directories, settings=settings_for(workers))
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.call_soon_threadsafe(session.stop)

    seen = _SmallOnes(small, stop)
    session.observer.case.on_commit = seen.on_commit
    try:
        await session.run([source])
    finally:
        await session.close()
    return session.observer.report() | {"small": seen.done, "last_s": seen.last_s, "pages": seen.pages}


def main() -> None:
    """Run until the small documents are done."""
    parser = argparse.ArgumentParser(description="One run of the fairness benchmark")
    parser.add_argument("source", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--small", type=int, required=True)
    given = parser.parse_args()
    json.dump(asyncio.run(_run(given.source, given.home, workers=given.workers, small=given.small)), sys.stdout)


if __name__ == "__main__":
    main()
