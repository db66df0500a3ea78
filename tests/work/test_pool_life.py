"""The life of a pool: starting, failing to start, growing, shrinking, recycling, and leaving nothing behind."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from engine.errors import WorkerStartError
from engine.pipeline.seams import Extractor
from engine.settings import MIB
from engine.work.pool import WorkerPool
from engine.work.watch import LONGEST_STEP_S
from tests.support import pdfs
from tests.work.kit import (
    alive,
    exists,
    extracted,
    impostor,
    invented,
    limits_of,
    look_into,
    open_descriptors,
    opened,
    pages_of,
    read,
    ref,
    running_pool,
    settings,
    status_of,
    until,
    whole,
)

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="what is looked at is Linux's")


def test_a_pool_is_an_extractor() -> None:
    """The pool fits the pipeline's seam, which the type checker holds, and does nothing before it is started."""
    extractor: Extractor = WorkerPool(settings())
    extractor.apply(settings(workers=2))
    assert extractor.views() == ()


def pids(pool: WorkerPool) -> list[int]:
    """Return the process numbers of all workers."""
    return [view.pid for view in pool.views() if view.pid is not None]


@linux_only
@pytest.mark.one_loop("asyncio")
async def test_the_posture_is_what_is_really_in_force() -> None:
    """The limits that a worker reports are those that the system shows for it, and so is the sandbox."""
    pool = WorkerPool(settings(address_space_bytes=1024 * MIB))
    posture = await pool.start()
    pid = pids(pool)[0]
    in_force = limits_of(pid)
    niceness = os.getpriority(os.PRIO_PROCESS, pid)
    filtered = status_of(pid)["Seccomp"] == "2"
    await pool.close()
    assert in_force["Max address space"] == [str(1024 * MIB)] * 2
    assert in_force["Max file size"] == ["0", "0"]
    assert in_force["Max core file size"] == ["0", "0"]
    assert in_force["Max open files"] == ["64", "64"]
    assert niceness >= 10
    assert {"address space 1024 MB", "writes no files", "no core dumps", "64 open files"} <= set(posture.limits)
    assert {"ends with its parent", "niceness 10"} <= set(posture.limits)
    assert ("seccomp (deny-list)" in posture.sandbox) == filtered
    assert posture.parser.startswith("PyMuPDF ")


@pytest.mark.one_loop("asyncio")
@pytest.mark.fault(10)
async def test_a_program_that_does_not_start_is_one_clear_error() -> None:
    """No such program, one that ends, one that babbles, one that is never ready: a sentence, and nothing left."""
    for command, start_s, why in (
        (("/no/such/program",), 60.0, "No such file"),
        (impostor("fails_to_start"), 60.0, "it ended with status 7"),
        (impostor("babbles"), 60.0, "not our protocol"),
        (impostor("never_ready"), 0.2, "it was not ready in time"),
    ):
        pool = WorkerPool(
            settings(workers=2, clocks={"start_s": start_s}, max_start_failures=1), command=command, tick_s=0.05
        )
        with pytest.raises(WorkerStartError, match=why):
            await pool.start()
        assert pool.views() == ()
        with pytest.raises(WorkerStartError):
            await look_into(pool, ref(b"/nowhere"))


@pytest.mark.one_loop("asyncio")
async def test_a_few_failing_starts_are_tried_again_quietly(tmp_path: Path) -> None:
    """Starts that fail a few times delay the first worker, and nobody hears of it."""
    counter = tmp_path / "counter"
    async with running_pool(command=impostor("fails_first", 3, counter)) as pool:
        report = await read(pool, whole(invented(2)))
    assert pages_of(report) == ([1, 2], None, [])
    assert counter.stat().st_size == 4


@pytest.mark.fault(10)
async def test_a_storm_of_failing_starts_stops_those_who_wait_and_those_who_come(tmp_path: Path) -> None:
    """When workers can no longer be replaced, waiting and later calls get the sentence instead of waiting for ever."""
    pool = WorkerPool(settings(max_start_failures=2), command=impostor("starts_once", 2, tmp_path / "counter"))
    await pool.start()
    first = asyncio.create_task(read(pool, whole(invented(3))), name="first")
    await until(lambda: pool.views()[0].page == 2)
    second = asyncio.create_task(read(pool, whole(invented(3))), name="second")
    os.kill(pids(pool)[0], signal.SIGKILL)
    assert pages_of(await first) == ([], 2, [1, 3])
    with pytest.raises(WorkerStartError, match="3 attempts in a row failed"):
        await second
    with pytest.raises(WorkerStartError, match="3 attempts in a row failed"):
        await look_into(pool, ref(b"/nowhere"))
    await pool.close()


async def test_the_number_of_workers_follows_the_settings(tmp_path: Path) -> None:
    """More workers come at once; fewer stay, without losing what the others are doing."""
    endless = pdfs.never_ending_pdf(tmp_path / "endless.pdf", 1)
    async with running_pool(settings(workers=1)) as pool:
        pool.apply(settings(workers=3))
        await until(lambda: len(pids(pool)) == 3)
        document = await opened(pool, endless)
        task = asyncio.create_task(read(pool, whole(document)), name="extracting")
        await until(lambda: any(view.page == 1 for view in pool.views()))
        pool.apply(settings(workers=1))
        await until(lambda: len([view for view in pool.views() if view.doc_id is None]) <= 1)
        assert any(view.page == 1 for view in pool.views())
        task.cancel()
        await asyncio.wait([task])
        await until(lambda: [view.number for view in pool.views()] == [1])
        assert len(await extracted(pool, pdfs.text_pdf(tmp_path / "a.pdf", 2))) == 2


@pytest.mark.one_loop("asyncio")
async def test_workers_with_another_limit_are_replaced_before_their_next_job(tmp_path: Path) -> None:
    """A new limit of the address space needs a new process."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 1)
    async with running_pool() as pool:
        await extracted(pool, path)
        before = pids(pool)
        pool.apply(settings(address_space_bytes=700 * MIB))
        await extracted(pool, path)
        after = pids(pool)
        if sys.platform == "linux":
            assert limits_of(after[0])["Max address space"] == [str(700 * MIB)] * 2
    assert before != after


@pytest.mark.one_loop("asyncio")
async def test_a_worker_is_recycled_after_its_pages_between_two_spans(tmp_path: Path) -> None:
    """After so many pages a worker makes room for a fresh one, and no page notices."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 5)
    seen: set[int] = set()
    async with running_pool(settings(recycle_pages=10)) as pool:
        document = await opened(pool, path)
        for _ in range(6):
            report = await read(pool, whole(document))
            assert pages_of(report) == ([1, 2, 3, 4, 5], None, [])
            seen |= {view.pid for view in pool.views() if view.pid and view.pages_done}
    assert len(seen) >= 2


@pytest.mark.one_loop("asyncio")
async def test_a_worker_that_has_grown_is_recycled(tmp_path: Path) -> None:
    """Resident memory above the limit ends a worker once it is idle; a fresh one is left alone."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 1)
    async with running_pool(settings(recycle_rss_bytes=1)) as pool:
        before = pids(pool)
        await until(lambda: pool.views()[0].rss_bytes > 0)
        assert pids(pool) == before
        await extracted(pool, path)
        await until(lambda: pids(pool) and pids(pool) != before)


@pytest.mark.one_loop("asyncio")
async def test_relieving_replaces_idle_workers_that_have_worked(tmp_path: Path) -> None:
    """Asked for memory, the pool replaces used workers; fresh ones have nothing to give back."""
    pdfs.text_pdf(tmp_path / "a.pdf")
    async with running_pool() as pool:
        assert not pool.relieve()
        await extracted(pool, tmp_path / "a.pdf")
        used = pids(pool)
        assert pool.relieve()
        await until(lambda: pids(pool) and pids(pool) != used and not pool.relieve())
        assert await extracted(pool, tmp_path / "a.pdf")


@pytest.mark.one_loop("asyncio")
async def test_a_worker_that_does_not_go_is_ended() -> None:
    """One that ignores the end of its input is killed after a moment of grace."""
    async with running_pool(settings(workers=2), command=impostor("deaf")) as pool:
        await until(lambda: len(pids(pool)) == 2)
        pool.apply(settings(workers=1))
        await until(lambda: len(pool.views()) == 1)


@linux_only
async def test_closing_leaves_no_process_thread_or_descriptor(tmp_path: Path) -> None:
    """Whatever workers are doing, when the pool is closed they are gone, and so is all that served them."""
    endless = pdfs.never_ending_pdf(tmp_path / "endless.pdf", 1)
    threads, descriptors = set(threading.enumerate()), open_descriptors()
    pool = WorkerPool(settings(workers=3))
    await pool.start()
    await until(lambda: len(pids(pool)) == 3)
    document = await opened(pool, endless)
    busy = asyncio.create_task(read(pool, whole(document)), name="busy")
    waiting = [asyncio.create_task(read(pool, whole(document)), name="waiting") for _ in range(4)]
    await until(lambda: sum(view.page == 1 for view in pool.views()) == 3)
    numbers = pids(pool)
    await pool.close()
    outcomes = await asyncio.gather(busy, *waiting, return_exceptions=True)
    assert all(isinstance(outcome, WorkerStartError) for outcome in outcomes)
    assert not any(map(exists, numbers))
    assert set(threading.enumerate()) == threads
    assert open_descriptors() == descriptors
    await pool.close()


async def test_closing_while_workers_start_leaves_nothing() -> None:
    """A pool that is cancelled in the middle of its start has no workers afterwards."""
    threads = set(threading.enumerate())
    pool = WorkerPool(settings(workers=2), command=impostor("never_ready"))
    task = asyncio.create_task(pool.start(), name="starting")
    await until(lambda: len(pids(pool)) == 2)
    numbers = pids(pool)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert not any(alive(pid) for pid in numbers)
    assert set(threading.enumerate()) == threads


class SetClock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        """Return the time that was set."""
        return self.now_s


@pytest.mark.one_loop("asyncio")
async def test_a_suspended_machine_ends_no_worker() -> None:
    """A gap of hours between two looks counts as the longest step; only time that goes on in small steps runs out."""
    clock = SetClock()
    chosen = settings(workers=2, clocks={"page_s": 30.0, "document_s": 60.0})
    async with running_pool(chosen, command=impostor("hang_at", 1), clock=clock, tick_s=1000.0) as pool:
        await until(lambda: len(pids(pool)) == 2)
        tasks = [asyncio.create_task(read(pool, whole(invented(2, n))), name="extracting") for n in (1, 2)]
        await until(lambda: all(view.page == 1 for view in pool.views()))
        pool._tick()
        for _ in range(10):
            clock.now_s += 8 * 3600.0
            pool._tick()
        assert [view.busy_s for view in pool.views()] == [10 * LONGEST_STEP_S] * 2
        assert not any(task.done() for task in tasks)
        for _ in range(60):
            clock.now_s += LONGEST_STEP_S
            pool._tick()
        for task in tasks:
            assert pages_of(await task) == ([], 1, [2])


@linux_only
@pytest.mark.fault(12)
def test_a_killed_parent_leaves_no_worker(tmp_path: Path) -> None:
    """After kill -9 of the parent its workers are gone, the one in an endless page as well as the idle one."""
    endless = pdfs.never_ending_pdf(tmp_path / "endless.pdf", 1)
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tests.work.kit import *\n"
        "async def main():\n"
        "    async with running_pool(settings(workers=2)) as pool:\n"
        "        await until(lambda: len([1 for view in pool.views() if view.rss_bytes]) == 2)\n"
        "        task = asyncio.create_task(read(pool, whole(await opened(pool, Path(sys.argv[1])))))\n"
        "        await until(lambda: any(view.page for view in pool.views()))\n"
        "        print(*(view.pid for view in pool.views()), flush=True)\n"
        "        await task\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen([sys.executable, "-c", program, endless], stdout=subprocess.PIPE, cwd=root) as parent:
        assert parent.stdout is not None
        numbers = [int(word) for word in parent.stdout.readline().split()]
        assert len(numbers) == 2
        assert all(alive(pid) for pid in numbers)
        parent.kill()
    while any(alive(pid) for pid in numbers):
        time.sleep(0.005)
