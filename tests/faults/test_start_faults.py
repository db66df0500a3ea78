"""Workers that cannot be started: a broken installation is one clear end, a system that refuses is waited for."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from engine.case.reader import CaseReader
from engine.models.run import Counts
from tests.faults import program
from tests.faults.injection import (
    STOPPED_START,
    attached,
    begun,
    control_group,
    descriptors_of,
    join,
    limit_descriptors,
    needs_group,
    needs_linux,
    needs_strace,
    no_descriptor_left,
    take_all_descriptors,
    workers_of,
)
from tests.support import pdfs
from tests.support.runs import golden_set, records_of
from tests.work.kit import opened, pages_of, read, running_pool, settings, until, whole

pytestmark = needs_linux

FEW_STARTS = ("--workers", "2", "--worker-start-failures", "2")
SLOW = ("--workers", "2", "--rate", "100", "--burst", "8")
NOT_STARTED = "Worker processes cannot be started: 3 attempts in a row failed"
REFUSED = "A worker process could not be started (the system refused"


def counts_of(case: Path) -> Counts:
    """Return the counts of a case."""
    with CaseReader(case) as reader:
        return reader.counts()


def assert_nothing_was_tried(case: Path) -> None:
    """Check that no page and no document has a terminal record, and that the case says that it is unfinished."""
    counts = counts_of(case)
    assert counts.pages.terminal == counts.documents.terminal == 0
    assert not counts.reconciled
    assert {record["event"] for record in records_of(case)} == {
        "SOURCES",
        "RUN_STARTED",
        "RECONCILED",
        "RUN_ENDED",
        "CHECKPOINT",
    }
    program.assert_sound(case)


@pytest.mark.fault(10, by="an installation in which the parser cannot be loaded")
def test_a_broken_installation_is_one_clear_end(tmp_path: Path) -> None:
    """Exit code 3 and one sentence; nothing was recorded for a page, and the mended program does it all."""
    folder, case, broken = tmp_path / "in", tmp_path / "case.sluice", tmp_path / "broken"
    pdfs.batch(folder, 3, 2)
    shutil.copytree(program.ROOT / "engine", broken / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    (broken / "engine" / "work" / "child" / "parser.py").write_text("raise ImportError\n", encoding="ascii")
    process = program.start(case, folder, tmp_path, FEW_STARTS, extra={"PYTHONPATH": str(broken)})
    code, said = program.ending(process)
    assert code == program.STOPPED
    assert f"{NOT_STARTED} (the last one: it ended with status 1 before it was ready)" in said
    assert said.count("attempts in a row failed") == 1
    assert_nothing_was_tried(case)
    program.assert_no_process_left(tmp_path)
    program.finish(case, folder, tmp_path, ())
    assert counts_of(case).pages.extracted == 6


@pytest.mark.fault(10, by="strace: execve fails with ENOENT")
@needs_strace
def test_a_worker_program_that_is_not_there_is_one_clear_end(tmp_path: Path) -> None:
    """The system's own word for it stands in the sentence, and the run does not spin."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    pdfs.batch(folder, 3, 2)
    with ExitStack() as stack:
        process = stack.enter_context(begun(case, folder, tmp_path, FEW_STARTS, module=STOPPED_START))
        started = psutil.Process(process.pid)
        assert program.wait_until(lambda: started.status() == psutil.STATUS_STOPPED, process)
        stack.enter_context(attached(process.pid, "trace=execve", "inject=execve:error=ENOENT"))
        os.kill(process.pid, signal.SIGCONT)
        code, said = program.ending(process)
    assert code == program.STOPPED
    assert f"{NOT_STARTED} (the last one: the system refused: No such file or directory)" in said
    assert_nothing_was_tried(case)
    program.assert_no_process_left(tmp_path)


Refusal = Callable[[int], AbstractContextManager[object]]


@contextmanager
def no_process_may_begin(pid: int) -> Iterator[None]:
    """Put a program into a group in which neither a process nor a thread may begin."""
    with control_group("pids") as group:
        join(group, pid)
        for worker in workers_of(pid):
            join(group, worker.pid)
        (group / "pids.max").write_text("1", encoding="ascii")
        try:
            yield
        finally:
            (group / "pids.max").write_text("max", encoding="ascii")
            for one in (pid, *(worker.pid for worker in workers_of(pid))):
                join(group.parent, one)


@contextmanager
def no_fork(pid: int) -> Iterator[None]:
    """Have the system refuse every new process."""
    with attached(pid, "trace=vfork,clone,fork", "inject=vfork,clone,fork:error=EAGAIN"):
        yield


@contextmanager
def no_memory_for_a_fork(pid: int) -> Iterator[None]:
    """Have the system refuse every new process for want of memory."""
    with attached(pid, "trace=vfork,clone,fork", "inject=vfork,clone,fork:error=ENOMEM"):
        yield


@contextmanager
def no_descriptor(pid: int) -> Iterator[None]:
    """Leave a running program too few descriptors for another worker, those that its workers give back included."""
    limit_descriptors(pid, max(descriptors_of(pid)) - 3, 4096)
    try:
        yield
    finally:
        limit_descriptors(pid, 1024, 4096)


@pytest.mark.parametrize(
    ("refuse", "why"),
    [
        pytest.param(
            no_fork, "Resource temporarily unavailable", marks=[pytest.mark.fault(11), needs_strace, pytest.mark.whole]
        ),
        pytest.param(
            no_memory_for_a_fork,
            "Cannot allocate memory",
            marks=[pytest.mark.fault(11, by="strace: the same with ENOMEM"), needs_strace, pytest.mark.whole],
        ),
        pytest.param(
            no_process_may_begin,
            "",
            marks=[pytest.mark.fault(11, by="a pids control group"), needs_group("pids"), pytest.mark.whole],
        ),
        pytest.param(no_descriptor, "Too many open files", marks=pytest.mark.fault(35)),
    ],
)
def test_a_system_that_refuses_workers_is_waited_for(tmp_path: Path, refuse: Refusal, why: str) -> None:
    """All workers killed, and no new one to be had: the run waits, says why, and goes on as if nothing had been."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    pdfs.batch(folder, 30, 8, seed=9)
    before = program.fingerprint(folder)
    program.finish(tmp_path / "whole.sluice", folder, tmp_path, ())
    with begun(case, folder, tmp_path, SLOW) as process:
        assert program.wait_until(lambda: program.pages_done(case) >= 16, process)
        with refuse(process.pid):
            for worker in workers_of(process.pid):
                worker.kill()
            assert program.wait_until(lambda: REFUSED in logged(tmp_path), process)
            assert why in logged(tmp_path)
            waited_at = program.pages_done(case)
            assert waited_at < 240
            assert process.poll() is None
        code, said = program.ending(process)
    assert code == 0, said
    program.assert_same_as(case, golden_set(tmp_path / "whole.sluice"))
    program.assert_no_process_left(tmp_path)
    assert program.fingerprint(folder) == before


def logged(home: Path) -> str:
    """Return what the program wrote into its log."""
    return "".join(path.read_text(encoding="ascii") for path in home.rglob("terminal.log"))


@pytest.mark.fault(35, by="RLIMIT_NOFILE with every descriptor in use")
@pytest.mark.one_loop("asyncio")
async def test_what_keeps_workers_away_is_said_while_it_lasts(tmp_path: Path) -> None:
    """One sentence with fewer workers, another one with none, nothing once all are there again."""
    async with running_pool(settings(workers=2)) as pool:
        await until(lambda: pool._roster.living == 2)
        assert pool.trouble == ""
        document = await opened(pool, pdfs.text_pdf(tmp_path / "a.pdf", 3))
        first, second = pool.views()
        with no_descriptor_left() as hog:
            os.kill(second.pid or 0, signal.SIGKILL)
            await until(lambda: pool.trouble)
            assert pool.trouble.startswith(
                "Only 1 of 2 worker processes could be started (the system refused: Too many"
            )
            take_all_descriptors(hog)
            assert pages_of(await read(pool, whole(document))) == ([1, 2, 3], None, [])
            os.kill(first.pid or 0, signal.SIGKILL)
            await until(lambda: pool.trouble.startswith("No worker process can be started at the moment"))
        assert pages_of(await read(pool, whole(document))) == ([1, 2, 3], None, [])
        await until(lambda: pool.trouble == "")


@pytest.mark.fault(35, by="RLIMIT_NOFILE with every descriptor in use")
@pytest.mark.one_loop("asyncio")
async def test_a_suspected_page_makes_room_for_its_own_worker(tmp_path: Path) -> None:
    """With room for one worker only, the used one goes, so that a page that has to be alone does not wait for ever."""
    async with running_pool(settings(workers=2)) as pool:
        document = await opened(pool, pdfs.text_pdf(tmp_path / "a.pdf", 3))
        await read(pool, whole(document))
        await until(lambda: pool._roster.living == 2)
        with no_descriptor_left() as hog:
            for view in pool.views():
                if view.pages_done == 0:
                    os.kill(view.pid or 0, signal.SIGKILL)
            await until(lambda: pool.trouble)
            take_all_descriptors(hog)
            for _ in range(_NEEDED_FOR_A_START - _HELD_BY_A_WORKER + 1):
                os.close(hog.pop())
            used = pool.views()[0].pid
            assert pages_of(await read(pool, whole(document, alone=True))) == ([1, 2, 3], None, [])
            assert used not in {view.pid for view in pool.views()}


_NEEDED_FOR_A_START, _HELD_BY_A_WORKER = 9, 4
"""Descriptors: three pipes, one that tells of a failed start, and the slot; of these, the parent keeps four."""
