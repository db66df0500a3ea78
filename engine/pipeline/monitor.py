"""The monitor: samples memory, disk, throughput and the loop's lag, feeds the charts, and has holds judged.

One task with one timer. The rules by which memory and disk hold admission are in `resources`.
"""

import asyncio
import math
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from engine.flow.metrics import Metrics
from engine.machine import usable_memory_bytes
from engine.models.flow import MetricSample, StageStatistics
from engine.models.outcome import HoldCause
from engine.models.run import PeakMemory, WorkerView
from engine.pipeline.activity import ActiveClock
from engine.pipeline.resources import MemoryReading, ProcessTree, TwoLevelHold, free_bytes
from engine.pipeline.wallclock import WallClockWatch
from engine.settings import Settings

SAMPLE_S = 0.25
"""Time between two samples: the charts are redrawn four to five times a second."""

RELIEVE_S = 3.0
"""Time between two requests for memory to be given back."""

SMOOTHING_S = 3.0
"""Time constant of the exponentially smoothed throughput."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorInputs:
    """What the monitor reads."""

    statistics: Callable[[], StageStatistics]
    pages_done: Callable[[], int]
    """Pages that got their terminal record in this run."""
    workers: Callable[[], tuple[WorkerView, ...]]
    settings: Callable[[], Settings]
    hold: Callable[[HoldCause, bool], None]
    """Begins (True) or ends (False) a hold."""
    folder: Path
    """Where the case file lies."""
    relieve: Callable[[], None]
    """Asks for memory to be given back, every few seconds while the memory hold stands."""
    shed: Callable[[], bool]
    """Ends the work that takes the most memory, where the budget is exceeded."""
    seen: Callable[[tuple[WorkerView, ...]], None]
    """Told with each sample what every worker is doing."""
    wall_clock_jumped: Callable[[int], None]
    """Told by how many milliseconds the wall clock jumped."""
    wall_s: Callable[[], float]
    """The wall clock, in seconds since 1970."""


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
        self._usable_bytes = usable_memory_bytes()
        self._memory_hold = TwoLevelHold(lambda held: inputs.hold(HoldCause.MEMORY, held))
        self._disk_hold = TwoLevelHold(lambda held: inputs.hold(HoldCause.DISK, held))
        self._wall_clock = WallClockWatch(inputs.wall_s, now)
        self._relieved_s = -math.inf
        self._last_s = now()
        self._last_pages = 0
        self.memory = MemoryReading()
        self.peak = PeakMemory()
        self.pages_per_s = 0.0

    @property
    def budget_bytes(self) -> int:
        """The memory budget in force."""
        return self._inputs.settings().memory.in_force(self._usable_bytes)

    @property
    def mean_pages_per_s(self) -> float:
        """Pages of this run per second of active time."""
        active_s = self._clock.active_s
        return self._inputs.pages_done() / active_s if active_s > 0 else 0.0

    async def run(self) -> None:
        """Sample until cancelled."""
        loop = asyncio.get_running_loop()
        lag_s = 0.0
        while True:
            workers = self._inputs.workers()
            self._inputs.seen(workers)
            pids = [view.pid for view in workers if view.pid is not None]
            self._take(*await loop.run_in_executor(self._thread, self._read, pids), lag_s)
            due_s = self._now() + SAMPLE_S
            await asyncio.sleep(SAMPLE_S)
            lag_s = max(0.0, self._now() - due_s)

    def finish(self) -> None:
        """Take a last sample of a flow that has come to rest, so that the charts end as the run did."""
        self._take(self.memory, None, 0.0)

    def _read(self, pids: Collection[int]) -> tuple[MemoryReading, int | None]:
        return self._tree.read(pids), free_bytes(self._inputs.folder)

    def _take(self, memory: MemoryReading, free: int | None, lag_s: float) -> None:
        self.memory = memory
        self.peak = PeakMemory(
            main=max(self.peak.main, memory.main),
            workers=max(self.peak.workers, memory.workers),
            tree=max(self.peak.tree, memory.tree),
        )
        jump_ms = self._wall_clock.jump_ms()
        if jump_ms is not None:
            self._inputs.wall_clock_jumped(jump_ms)
        settings = self._inputs.settings()
        self._memory_hold.judge_memory(memory.tree, self.budget_bytes, settings.memory)
        self._disk_hold.judge_disk(free, settings.disk)
        if memory.tree > self.budget_bytes:
            self._inputs.shed()
        if not self._memory_hold.held:
            self._relieved_s = -math.inf
        elif self._now() - self._relieved_s >= RELIEVE_S:
            self._relieved_s = self._now()
            self._inputs.relieve()
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
