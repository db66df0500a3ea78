"""Threads that are there from the start: each with a name and one thing at a time to do.

An executor of the standard library starts its thread with the first call, which may be hours into a run, and what the
system refuses then would end it. Here all are started at once, before anything is begun, or there is one sentence.
"""

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Self, TypeVar

from engine.errors import MachineError

T = TypeVar("T")


class OwnThreads:
    """Single threads, by name.

    Args:
        kind: What they belong to, for their names as the system shows them.
        names: One for each thread.

    Raises:
        MachineError: When the system refuses one of them; then none is left.
    """

    def __init__(self, kind: str, *names: str) -> None:
        self._executors: dict[str, ThreadPoolExecutor] = {}
        try:
            for name in names:
                executor = self._executors[name] = ThreadPoolExecutor(1, f"{kind}-{name}")
                executor.submit(int)  # anything: its only thread starts with it, and stays
        except (RuntimeError, MemoryError) as error:
            self.close()
            raise MachineError(
                f"The system refuses a thread that this program needs (it asks for {len(names)} at once). Nothing was "
                "begun, and nothing is lost. End other programs, or raise the limits for processes and memory (those "
                "of the user or of the container), and try again."
            ) from error

    def __getitem__(self, name: str) -> Executor:
        return self._executors[name]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def on(self, name: str, call: Callable[[], T]) -> T:
        """Call a function on a thread and return what it returns."""
        return await asyncio.get_running_loop().run_in_executor(self._executors[name], call)

    def close(self, *, wait_for: Collection[str] = ()) -> None:
        """Let the threads go; what they have not begun is dropped.

        Args:
            wait_for: Names of those that are waited for. Others may be stuck, and are left to it.
        """
        for name, executor in self._executors.items():
            executor.shutdown(wait=name in wait_for, cancel_futures=True)
