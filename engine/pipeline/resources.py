"""Resources that admission depends on: memory of the process tree, and free space where the case file lies.

Covers reading both and the rule that turns a reading into a hold: one level to begin it, another to end it, so that
it cannot flap. When they are read is the business of `monitor`.
"""

import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.settings import DiskReserve, MemoryBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReading:
    """Resident memory at one moment, in bytes."""

    main: int = 0
    workers: int = 0

    @property
    def tree(self) -> int:
        """Main process and workers."""
        return self.main + self.workers


class ProcessTree:
    """Reads the resident memory of this process and of its workers. Blocking: a file or two per process."""

    def __init__(self) -> None:
        self._main = psutil.Process()
        self._workers: dict[int, psutil.Process] = {}
        self._last = MemoryReading()

    def read(self, pids: Collection[int]) -> MemoryReading:
        """Return the memory now; a worker that ends meanwhile counts as nothing.

        The workers are named by the caller: looking for children would read every process of the machine. Where no
        descriptor is left to look with, what was read last stands.
        """
        with suppress(OSError):
            self._last = self._read(pids)
        return self._last

    def _read(self, pids: Collection[int]) -> MemoryReading:
        for pid in self._workers.keys() - set(pids):
            del self._workers[pid]
        workers = 0
        for pid in pids:
            try:
                process = self._workers.get(pid) or self._workers.setdefault(pid, psutil.Process(pid))
                workers += process.memory_info().rss
            except psutil.Error:
                self._workers.pop(pid, None)
        return MemoryReading(main=self._main.memory_info().rss, workers=workers)


def free_bytes(folder: Path) -> int | None:
    """Return the free space of the disk that holds a folder, or None where it cannot be told. Blocking."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


class TwoLevelHold:
    """A hold that begins at one level and ends at another.

    Args:
        change: Begins (True) or ends (False) the hold; told only of changes.
    """

    def __init__(self, change: Callable[[bool], None]) -> None:
        self._change = change
        self.held = False

    def judge(self, *, begin: bool, end: bool) -> None:
        """Take note of a reading.

        Args:
            begin: Whether it is beyond the level at which the hold begins.
            end: Whether it is back at the level at which it ends.
        """
        wanted = begin or (self.held and not end)
        if wanted != self.held:
            self.held = wanted
            self._change(wanted)

    def judge_memory(self, tree_bytes: int, budget: int, levels: MemoryBudget) -> None:
        """Take note of the memory of the process tree."""
        percent = 100 * tree_bytes / budget
        self.judge(begin=percent >= levels.hold_percent, end=percent <= levels.release_percent)

    def judge_disk(self, free: int | None, reserve: DiskReserve) -> None:
        """Take note of the free space; where it cannot be told, nothing changes."""
        if free is not None:
            self.judge(begin=free < reserve.hold_below_bytes, end=free >= reserve.release_at_bytes)
