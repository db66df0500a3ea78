"""The ways into the engine that the window takes, each loaded when it is first taken.

Covers loading alone. Cases, workers and samples are most of the engine, and a window that was just opened needs none
of them; they are loaded in a thread, so that the window answers meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from engine import Directories, Settings
from gui.window.seams import CaseOpener, CaseSession, Engine


def ways_into_engine(directories: Directories) -> Engine:
    """Return the engine, as the window uses it.

    Args:
        directories: Where the program keeps its own files.
    """
    return Engine(directories=directories, open_case=_open_case, write_sample_batch=_write_sample_batch)


async def _open_case(
    path: Path, *, request_id: str | None, settings: Settings | None, directories: Directories
) -> CaseSession:
    open_case = await asyncio.to_thread(_case_opener)
    return await open_case(path, request_id=request_id, settings=settings, directories=directories)


async def _write_sample_batch(folder: Path) -> int:
    write_sample_batch = await asyncio.to_thread(_sample_writer)
    return await write_sample_batch(folder)


def _case_opener() -> CaseOpener:
    from engine import open_case  # noqa: PLC0415  # see the top of this module

    return open_case


def _sample_writer() -> Callable[[Path], Awaitable[int]]:
    from engine import write_sample_batch  # noqa: PLC0415  # see the top of this module

    return write_sample_batch
