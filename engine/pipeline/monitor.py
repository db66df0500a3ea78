"""The monitor: samples memory, throughput and the loop's lag, feeds the charts, and holds admission over the budget.

One task with one timer. The two levels of the memory hold are shares of the budget, so that it cannot flap.
"""

import asyncio
import math
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.flow.metrics import Metrics
from engine.models.flow import MetricSample, StageStatistics
from engine.models.run import PeakMemory, WorkerView
from engine.settings import MemoryBudget

SAMPLE_S = 0.25
"""Time between two samples: the charts are redrawn four to five times a second."""

SMOOTHING_S = 3.0
"""Time constant of the exponentially smoothed throughput."""


def allowed_memory_bytes() -> int:
    """Return what the machine or the container (cgroup v2 `memory.max`) lets this process tree use."""
    total = int(psutil.virtual_memory().total)
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        return total if limit == "max" else min(total, int(limit))
    except (OSError, ValueError):
        return total


def budget_bytes(memory: MemoryBudget, allowed_bytes: int) -> int:
    """Return the budget in force: as set, or 70 % of what is allowed."""
    return memory.budget_bytes if memory.budget_bytes is not None else allowed_bytes * 70 // 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReading:
    """Resident memory at one moment, in bytes."""

    main: int = 0
    workers: int = 0

    @property
    def tree(self) -> int:
        """Main process and all its descendants."""
        return self.main + self.workers


class ProcessTree:
    """Reads the resident memory of this process and of its workers. Blocking: a file or two per process."""

    def __init__(self) -> None:
        self._main = psutil.Process()
        self._workers: dict[int, psutil.Process] = {}

    def read(self, pids: Collection[int]) -> MemoryReading:
        """Return the memory now; a worker that ends meanwhile counts as nothing.

        The workers are named by the caller: looking for children would read every process of the machine.
        """
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


class ActiveClock:
    """Elapsed time of a run without the times when it was paused."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._started = now()
        self._paused_at: float | None = None
        self._paused_s = 0.0

    def pause(self) -> None:
        """Stop counting."""
        if self._paused_at is None:
            self._paused_at = self._now()

    def resume(self) -> None:
        """Go on counting."""
        if self._paused_at is not None:
            self._paused_s += self._now() - self._paused_at
            self._paused_at = None

    @property
    def elapsed_s(self) -> float:
        """All seconds since the start."""
        return self._now() - self._started

    @property
    def active_s(self) -> float:
        """Seconds since the start in which the run was not paused."""
        standing = 0.0 if self._paused_at is None else self._now() - self._paused_at
        return self.elapsed_s - self._paused_s - standing


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorInputs:
    """What the monitor reads."""

    statistics: Callable[[], StageStatistics]
    pages_done: Callable[[], int]
    """Pages that got their terminal record in this run."""
    workers: Callable[[], tuple[WorkerView, ...]]
    memory: Callable[[], MemoryBudget]
    hold_memory: Callable[[bool], None]
    """Begins (True) or ends (False) the memory hold."""


class Monitor:
    """Takes a sample a quarter of a second and keeps what the snapshot shows of it.

    Args:
        inputs: What to read.
        metrics: Where samples go.
        clock: Counts active time.
        now: The monotonic clock.
        thread: A thread for reading memory, which blocks.
    """

    def __init__(
        self,
        inputs: MonitorInputs,
        metrics: Metrics,
        clock: ActiveClock,
        *,
        now: Callable[[], float],
        thread: Executor,
    ) -> None:
        self._inputs = inputs
        self._metrics = metrics
        self._clock = clock
        self._now = now
        self._thread = thread
        self._tree = ProcessTree()
        self._allowed_bytes = allowed_memory_bytes()
        self._holding = False
        self._last_s = now()
        self._last_pages = 0
        self.memory = MemoryReading()
        self.peak = PeakMemory()
        self.pages_per_s = 0.0

    @property
    def budget_bytes(self) -> int:
        """The memory budget in force."""
        return budget_bytes(self._inputs.memory(), self._allowed_bytes)

    @property
    def mean_pages_per_s(self) -> float:
        """Pages of this run per second of active time."""
        active_s = self._clock.active_s
        return self._inputs.pages_done() / active_s if active_s > 0 else 0.0

    async def run(self) -> None:
        """Sample until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = self._now() + SAMPLE_S
            await asyncio.sleep(SAMPLE_S)
            lag_s = max(0.0, self._now() - due_s)
            pids = [view.pid for view in self._inputs.workers() if view.pid is not None]
            self._take(await loop.run_in_executor(self._thread, self._tree.read, pids), lag_s)

    def _take(self, memory: MemoryReading, lag_s: float) -> None:
        self.memory = memory
        self.peak = PeakMemory(
            main=max(self.peak.main, memory.main),
            workers=max(self.peak.workers, memory.workers),
            tree=max(self.peak.tree, memory.tree),
        )
        self._judge(memory)
        now, pages = self._now(), self._inputs.pages_done()
        elapsed_s = max(1e-3, now - self._last_s)
        rate = (pages - self._last_pages) / elapsed_s
        self.pages_per_s += (rate - self.pages_per_s) * (1 - math.exp(-elapsed_s / SMOOTHING_S))
        self._last_s, self._last_pages = now, pages
        statistics = self._inputs.statistics()
        self._metrics.add(
            MetricSample(
                at_s=now - self._metrics.started_at_s,
                queue_depth=statistics.queue_depth,
                permits_held=statistics.permits_held,
                rss_tree_bytes=memory.tree,
                rss_main_bytes=memory.main,
                pages_per_s=self.pages_per_s,
                mean_pages_per_s=self.mean_pages_per_s,
                loop_lag_ms=lag_s * 1000,
            )
        )

    def _judge(self, memory: MemoryReading) -> None:
        limits = self._inputs.memory()
        percent = 100 * memory.tree / self.budget_bytes
        if not self._holding and percent >= limits.hold_percent:
            self._holding = True
            self._inputs.hold_memory(True)
        elif self._holding and percent <= limits.release_percent:
            self._holding = False
            self._inputs.hold_memory(False)
