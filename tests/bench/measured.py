"""A session that is measured while it works: the program's own parts, with somebody who looks on at each seam.

Covers when workers are ready, how long commits take, what each thread computes, and what the charts' figures say. The
engine is left as it is: case, workers and session are subclasses that tell the observer.
"""

import asyncio
import sys
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import psutil

from engine.case.casefile import CaseFile
from engine.case.checkpoints import CheckpointLedger
from engine.models.document import Posture
from engine.models.facts import Fact, Receipt
from engine.models.flow import MetricSample
from engine.models.run import RunSummary
from engine.session.directories import Directories
from engine.session.opening import make_folder, usual_parts
from engine.session.session import Parts, Session
from engine.settings import FlowLimits, Settings
from engine.work.pool import WorkerPool
from tests.bench.figures import mean, percentile

LOOK_S = 0.5
"""Time between two looks at workers and the new samples of the charts."""
_LOOKS_A_THREAD = 4
"""After how many looks comes one at the threads, which takes the loop a millisecond."""

OnCommit = Callable[[Sequence[Fact], Receipt], None]
"""Told of each commit, on the writer's thread, once it is on disk."""


class MeasuredCase(CaseFile):
    """A case whose commits are timed."""

    def __init__(self, path: Path, **parts: Any) -> None:
        super().__init__(path, **parts)
        self.durations_ms = array("d")
        self.on_commit: OnCommit = lambda _facts, _receipt: None

    def commit(self, facts: Sequence[Fact]) -> Receipt:
        """Override: time it."""
        started_s = time.perf_counter()
        receipt = super().commit(facts)
        self.durations_ms.append((time.perf_counter() - started_s) * 1000)
        self.on_commit(facts, receipt)
        return receipt


class MeasuredPool(WorkerPool):
    """Worker processes that note when the first of them was ready."""

    ready_s: float | None = None
    ready_cpu_s = 0.0

    async def start(self) -> Posture:
        """Override: note when it is done."""
        posture = await super().start()
        self.ready_s, self.ready_cpu_s = time.monotonic(), time.process_time()
        return posture


class Observer:
    """Looks at one run of one session, and tells what it saw.

    Args:
        case: The case.
    """

    def __init__(self, case: MeasuredCase) -> None:
        self.case = case
        self.pool: MeasuredPool | None = None
        self.around: list[Callable[[bool], None]] = []
        """Called at the beginning of the run with True and at its end with False, on the loop's thread."""
        self.summary: RunSummary | None = None
        self.asked_s = self.done_s = 0.0
        self._asked_cpu_s = self._done_cpu_s = self._looking_cpu_s = 0.0
        self._cursor = 0
        self._samples: list[MetricSample] = []
        self._busy: list[float] = []
        self._blocked_s = 0.0
        self._looks = 0
        self._limits: FlowLimits | None = None
        self._threads_before: dict[int, float] = {}
        self._threads: dict[int, tuple[str, float]] = {}
        self._pages: dict[tuple[int, int | None], int] = {}

    @property
    def ready_s(self) -> float:
        """When the first worker was ready; the beginning of the run where there are none."""
        return self.asked_s if self.pool is None or self.pool.ready_s is None else self.pool.ready_s

    def begin(self) -> None:
        """Note that the run begins."""
        self._look_at_threads()
        self._threads_before = {number: spent_s for number, (_, spent_s) in self._threads.items()}
        self.asked_s, self._asked_cpu_s = time.monotonic(), time.process_time()
        for call in self.around:
            call(True)

    def end(self) -> None:
        """Note that the run has ended."""
        self.done_s, self._done_cpu_s = time.monotonic(), time.process_time()
        self._look_at_threads()
        for call in self.around:
            call(False)

    async def watch(self, session: Session) -> None:
        """Look now and then, until cancelled; what that takes is none of the program's."""
        while True:
            await asyncio.sleep(LOOK_S)
            before_s = time.thread_time()
            self.look(session)
            self._looking_cpu_s += time.thread_time() - before_s

    def look(self, session: Session) -> None:
        """Take what is new."""
        new = session.metrics.since(self._cursor)
        self._cursor = new.cursor
        self._samples += new.samples
        snapshot = session.snapshot()
        self._limits = session.settings.flow
        self._busy.append(snapshot.stage.workers_busy / snapshot.stage.workers)
        self._blocked_s = max(self._blocked_s, snapshot.stage.producer_blocked_s)
        for view in snapshot.workers:
            self._pages[view.number, view.pid] = view.pages_done
        self._looks += 1
        if self._looks % _LOOKS_A_THREAD == 0:
            self._look_at_threads()

    def report(self) -> dict[str, Any]:
        """Return what was seen, as JSON values; times of day are on the monotonic clock."""
        summary = self.summary
        counts = None if summary is None else summary.counts
        ready_cpu_s = self._asked_cpu_s if self.pool is None or not self.pool.ready_s else self.pool.ready_cpu_s
        return {
            "asked_s": self.asked_s,
            "ready_s": self.ready_s,
            "done_s": self.done_s,
            "state": None if summary is None else summary.state.value,
            "error": None if summary is None else summary.error,
            "documents": None if counts is None else asdict(counts.documents),
            "pages": None if counts is None else counts.pages.terminal,
            "outcomes": None if counts is None else asdict(counts.pages),
            "reconciled": None if counts is None else counts.reconciled,
            "audit_records": None if counts is None else counts.audit_records,
            "cpu_main_s": self._done_cpu_s - ready_cpu_s - self._looking_cpu_s,
            "cpu_workers_s": _cpu_of_children_s(),
            "cpu_threads_s": self._by_thread(),
            "rss_main_now_bytes": psutil.Process().memory_info().rss,
            "rss_main_peak_bytes": 0 if summary is None else summary.peak_rss_bytes.main,
            "loop_lag_ms": _distribution([sample.loop_lag_ms for sample in self._samples]),
            "commit_ms": _distribution(self.case.durations_ms),
            "saturation": self._saturation(),
            "worker_pages": self._by_worker(),
        }

    def _look_at_threads(self) -> None:
        names = {thread.native_id: thread.name for thread in threading.enumerate()}
        for thread in psutil.Process().threads():
            known = self._threads.get(thread.id, ("others", 0.0))[0]
            self._threads[thread.id] = (names.get(thread.id, known), thread.user_time + thread.system_time)

    def _by_thread(self) -> dict[str, float]:
        """Return processor time by the names of threads, numbers left out; one that ended as at the last look."""
        totals: dict[str, float] = {}
        for number, (name, spent_s) in self._threads.items():
            plain = name.rstrip("0123456789_-")
            totals[plain] = totals.get(plain, 0.0) + spent_s - self._threads_before.get(number, 0.0)
        return {name: round(spent_s, 3) for name, spent_s in sorted(totals.items(), key=lambda item: -item[1])}

    def _by_worker(self) -> list[int]:
        """Return how many pages each worker place had done at the last look, its replacements counted with it."""
        totals: dict[int, int] = {}
        for (number, _pid), pages in self._pages.items():
            totals[number] = totals.get(number, 0) + pages
        return [totals[number] for number in sorted(totals)]

    def _saturation(self) -> dict[str, float]:
        limits = self._limits
        if limits is None or not self._samples:
            return {}
        depths = [sample.queue_depth / limits.max_queue for sample in self._samples]
        held = [sample.permits_held / limits.permits for sample in self._samples]
        return {
            "queue_mean_share": mean(depths),
            "queue_max_share": max(depths),
            "queue_empty_share": mean([float(depth == 0) for depth in depths]),
            "permits_mean_share": mean(held),
            "permits_max_share": max(held),
            "workers_busy_share": mean(self._busy),
            "producer_blocked_s": self._blocked_s,
        }


class MeasuredSession(Session):
    """A session whose run is observed."""

    def __init__(self, case: MeasuredCase, **parts: Any) -> None:
        super().__init__(case, **parts)
        self.observer = Observer(case)

    async def run(self, sources: Sequence[Path] = (), *, attended: bool = False) -> RunSummary:
        """Override: let the observer look on."""
        observer = self.observer
        looking = asyncio.get_running_loop().create_task(observer.watch(self), name="bench-observer")
        observer.begin()
        try:
            observer.summary = await super().run(sources, attended=attended)
        finally:
            observer.end()
            looking.cancel()
            await asyncio.wait([looking])
            observer.look(self)
        return observer.summary


def new_session(
    path: Path, *, directories: Directories, settings: Settings, parts: Parts | None = None
) -> MeasuredSession:
    """Return a session over a case that is created, or opened where it is there.

    Args:
        path: The case file.
        directories: Where checkpoints are kept.
        settings: Limits.
        parts: What runs are made of; None for the usual, with real workers.
    """
    make_folder(path.parent)
    ledger = CheckpointLedger(directories.checkpoints)
    if CaseFile.is_new(path):
        case = MeasuredCase.create(path, request_id="benchmark", ledger=ledger)
    else:
        case = MeasuredCase.open(path, ledger=ledger)

    def workers(settings: Settings) -> MeasuredPool:
        session.observer.pool = MeasuredPool(settings)
        return session.observer.pool

    parts = parts or replace(usual_parts(), extractor=workers)
    session = MeasuredSession(case, settings=settings, operator="benchmark", parts=parts)
    return session


def settings_for(workers: int) -> Settings:
    """Return the usual settings with so many workers."""
    return Settings(flow=FlowLimits.build(workers=workers))


def _distribution(values: Sequence[float]) -> dict[str, float]:
    return {
        "count": len(values),
        "mean": mean(values),
        "p50": percentile(values, 0.5),
        "p99": percentile(values, 0.99),
        "max": max(values, default=0.0),
    }


def _cpu_of_children_s() -> float:
    if sys.platform == "win32":
        return 0.0
    import resource  # noqa: PLC0415  # not on Windows

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
