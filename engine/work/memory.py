"""The sampler: a thread that measures the resident memory of all workers about twice a second.

Only measures. What to do about a worker that is too large is decided by the watchdog and, between two spans, by the
pool. The thread keeps files of the system's and calls of `psutil` off the event loop.
"""

import threading

from engine.work.process import WorkerProcess

_PERIOD_S = 0.5


class MemorySampler:
    """Keeps `rss_bytes` of the processes that it is told of up to date."""

    def __init__(self, period_s: float = _PERIOD_S) -> None:
        self._period_s = period_s
        self._processes: set[WorkerProcess] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> bool:
        """Begin to measure, unless that goes on already; return whether the system gives the thread for it."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="worker-memory", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
        return True

    def add(self, process: WorkerProcess) -> None:
        """Measure this process from now on; from any thread."""
        with self._lock:
            self._processes.add(process)

    def discard(self, process: WorkerProcess) -> None:
        """Measure it no more; from any thread."""
        with self._lock:
            self._processes.discard(process)

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._period_s):
            with self._lock:
                processes = tuple(self._processes)
            for process in processes:
                process.measure()
