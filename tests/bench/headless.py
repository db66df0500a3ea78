"""The program without a window, measured: one run over a folder, to its end.

Run as `python -m tests.bench.headless --home FOLDER --workers N SOURCE`; prints its report as JSON.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from engine.heap import set_up_heap
from engine.session.directories import Directories
from tests.bench.measured import new_session, settings_for
from tests.bench.profiles import LoopProfile


async def measured(source: Path, home: Path, *, workers: int, profile: Path | None = None) -> dict[str, Any]:
    """Run over a folder in a new case, and return what was seen.

    Args:
        source: The folder.
        home: Where the case and what belongs to it goes.
        workers: Worker processes.
        profile: Where to write a profile of the loop's thread, or None for none.
    """
    directories = Directories.below(home)
    session = new_session(directories.cases / "bench.sluice", directories=directories, settings=settings_for(workers))
    if profile is not None:
        session.observer.around.append(LoopProfile(profile).switch)
    try:
        await session.run([source])
    finally:
        await session.close()
    return session.observer.report()


def arguments(description: str) -> argparse.Namespace:
    """Return what this program, or the one with the window, was called with."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("source", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--profile", type=Path)
    return parser.parse_args()


def main() -> None:
    """Run and print the report."""
    set_up_heap()  # as the program does when it starts
    given = arguments("One run without a window")
    report = asyncio.run(measured(given.source, given.home, workers=given.workers, profile=given.profile))
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
