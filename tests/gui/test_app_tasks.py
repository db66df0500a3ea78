"""The owner of the window's tasks: one failure costs one task, and none outlives the window."""

import asyncio

import pytest

from gui.app.tasks import TaskOwner


class Failures:
    """Collects what an owner reports."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def __call__(self, name: str, error: Exception) -> None:
        """Note a failure."""
        self.seen.append((name, type(error).__name__))


async def _fail() -> None:
    await asyncio.sleep(0)
    raise LookupError


async def _wait_for_ever(ended: list[str]) -> None:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        ended.append("ended")


async def test_one_failing_task_is_reported_and_leaves_the_others_alone() -> None:
    """A failure reaches the handler with the task's name, and a neighbour still finishes."""
    failures = Failures()
    done = asyncio.Event()

    async def neighbour() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        done.set()

    async with TaskOwner(failures) as tasks:
        tasks.start(_fail(), name="export")
        tasks.start(neighbour(), name="neighbour")
        await done.wait()
    assert failures.seen == [("export", "LookupError")]


async def test_leaving_cancels_and_waits_for_what_still_runs() -> None:
    """No task is left when the owner has been left, and cancelling is not reported as a failure."""
    failures = Failures()
    ended: list[str] = []
    async with TaskOwner(failures) as tasks:
        task = tasks.start(_wait_for_ever(ended), name="rows")
        await asyncio.sleep(0)
        assert list(tasks.running) == ["rows"]
    assert task is not None
    assert task.cancelled()
    assert ended == ["ended"]
    assert failures.seen == []
    assert not list(tasks.running)


async def test_a_closed_owner_starts_nothing() -> None:
    """A late signal of a window that is going away starts no task and leaves no coroutine unawaited."""
    tasks = TaskOwner(Failures())
    assert tasks.start(_fail(), name="too early") is None
    async with tasks:
        pass
    assert tasks.start(_fail(), name="too late") is None
    assert repr(tasks) == "<TaskOwner closed, tasks: []>"


async def test_an_error_of_the_body_comes_out_unwrapped() -> None:
    """The body's own error leaves as it is, after the tasks were ended."""
    ended: list[str] = []
    with pytest.raises(KeyError):  # noqa: PT012  # what is in the body is the point
        async with TaskOwner(Failures()) as tasks:
            tasks.start(_wait_for_ever(ended), name="rows")
            await asyncio.sleep(0)
            raise KeyError
    assert ended == ["ended"]


async def test_cancelling_the_window_ends_its_tasks() -> None:
    """Cancellation of the owner's own task goes through, and takes the tasks along."""
    ended: list[str] = []
    started = asyncio.Event()

    async def window() -> None:
        async with TaskOwner(Failures()) as tasks:
            tasks.start(_wait_for_ever(ended), name="rows")
            await asyncio.sleep(0)
            started.set()
            await asyncio.get_running_loop().create_future()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(window(), name="window")
        await started.wait()
        task.cancel()
    assert task.cancelled()
    assert ended == ["ended"]
