"""The owner of every task that the window starts.

Covers starting with a name, reporting failures, and the end of all tasks. What a task does is the business of the
window; what becomes of a failure is that of `faults`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self


class TaskOwner:
    """A task group in which one task's failure is reported and leaves the others alone.

    Use it as an asynchronous context manager. Leaving it cancels what is still running and waits for it, so that no
    task outlives the window.

    Args:
        on_failure: Called with a task's name and its error, on the loop; it must not raise.
    """

    def __init__(self, on_failure: Callable[[str, Exception], None]) -> None:
        self._on_failure = on_failure
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = False

    def __repr__(self) -> str:
        names = sorted(task.get_name() for task in self._tasks)
        return f"<TaskOwner {'open' if self._open else 'closed'}, tasks: {names}>"

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        for task in self._tasks:
            task.cancel()
        # An error of the body goes on by itself; handing it to the group would wrap it into an exception group.
        await self._group.__aexit__(None, None, None)

    @property
    def running(self) -> tuple[str, ...]:
        """The names of the tasks that have not ended, sorted."""
        return tuple(sorted(task.get_name() for task in self._tasks))

    def start(self, work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[None] | None:
        """Start a task.

        Args:
            work: What to do.
            name: What the task is called in reports.

        Returns:
            The task, or None where the owner is closed: a signal of a window that is going away starts nothing.
        """
        if not self._open:
            work.close()
            return None
        task = self._group.create_task(self._guarded(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _guarded(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001  # the named border: one failure must not cancel the other tasks
            self._on_failure(name, error)
