"""The watch over sources: holds admission while a source is away (a network share), and lets go when it is back.

A page or document that fails as `source_unreachable` begins the hold. While it stands, the sources' own folders are
looked at, on a thread, since a dead share can block for minutes. What failed is tried again by the usual rules.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

LOOK_S = 2.0
"""Time between two looks at a source that is away."""


class SourceWatch:
    """Begins and ends the `upstream` hold.

    Args:
        sources: Folders and files that are looked through, as bytes.
        change: Begins (True) or ends (False) the hold.
        thread: A thread for looking, which may block.
    """

    def __init__(self, sources: Sequence[bytes], change: Callable[[bool], None], thread: Executor) -> None:
        self._sources = tuple(sources)
        self._change = change
        self._thread = thread
        self._away = asyncio.Event()

    def report_unreachable(self) -> None:
        """Take note that a source did not answer."""
        if not self._away.is_set():
            self._away.set()
            self._change(True)

    async def run(self) -> None:
        """Look after sources that are away, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._away.wait()
            await asyncio.sleep(LOOK_S)
            if await loop.run_in_executor(self._thread, self._all_there):
                self._away.clear()
                self._change(False)

    def _all_there(self) -> bool:
        for source in self._sources:
            try:
                os.stat(source)  # noqa: PTH116  # bytes, as the file system spells it
            except FileNotFoundError:
                continue  # it is gone for good, and its documents say so
            except OSError:
                return False
        return True
