"""Workers that crash, are killed, stopped, starved or lie, in whole runs: each costs at most its page.

What a single pool does with such workers is tested in `tests/work`; here a run of the program has to account for
everything, whatever happens to those who do the work. Workers that cannot even be started are in
`test_start_faults`.
"""

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from engine.case.reader import CaseReader
from engine.models.outcome import Reason
from engine.models.run import DeadLetterRow
from engine.pipeline.resources import ProcessTree
from engine.settings import FlowLimits, Settings
from engine.work.pool import WorkerPool
from engine.work.process import WorkerProcess
from tests.faults import program, saboteur
from tests.faults.injection import (
    begun,
    control_group,
    join,
    needs_group,
    needs_linux,
    needs_posix,
    no_descriptor_left,
    processor_s,
    workers_of,
)
from tests.support import pdfs
from tests.support.runs import GoldenSet, golden_set, records_of, run_once

pytestmark = needs_posix

ONE_WORKER = ("--workers", "1")
PATIENT = ("--page-clock", "1h", "--document-clock", "1h", "--span", "4", *ONE_WORKER)
"""With spans this short, no document is taken together with the one that never ends, and waits for it."""
ON_ITS_PAGE_S = 1.0
"""Processor time after which a worker has certainly started and read on, so that it can only be on its endless page."""


def good_documents(folder: Path) -> Path:
    """Write three documents of four pages, and one that nobody may read twice."""
    pdfs.batch(folder, 3, 4, seed=20)
    return folder


def without(expected: GoldenSet, name: str, page: int) -> GoldenSet:
    """Return what must become of all pages where one of them is a dead letter."""
    return {row for row in expected if row[:2] != (name, page)} | {(name, page, "DEAD_LETTER", "")}


def dead_letters(case: Path) -> list[DeadLetterRow]:
    """Return all dead letters of a case."""
    with CaseReader(case) as reader:
        return list(reader.dead_letter_rows(1, 1000))


def on_its_page(process: "subprocess.Popen[bytes]", case: Path, done: int, known: set[int]) -> psutil.Process:
    """Wait until a worker that was not met before computes on the endless page; return it.

    Args:
        process: The program.
        case: Its case.
        done: Pages that are done by then: those of all other documents.
        known: Numbers of workers that were met before; the new one is added.
    """
    found: list[psutil.Process] = []

    def looks_so() -> bool:
        if program.pages_done(case) < done:
            return False
        found[:] = [one for one in workers_of(process.pid) if one.pid not in known and processor_s(one) > ON_ITS_PAGE_S]
        return bool(found)

    assert program.wait_until(looks_so, process), process.stderr and process.stderr.read()
    known.add(found[0].pid)
    return found[0]


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        pytest.param(signal.SIGSEGV, Reason.WORKER_CRASHED, marks=pytest.mark.fault(1)),
        pytest.param(signal.SIGKILL, Reason.WORKER_LOST, marks=[pytest.mark.fault(2), pytest.mark.whole]),
    ],
)
@needs_linux
def test_a_page_whose_worker_dies_twice_is_the_only_one_lost(tmp_path: Path, number: int, reason: Reason) -> None:
    """Killed on its page by a signal, twice: one retry, one dead letter with the signal, everything else as ever."""
    folder, case = good_documents(tmp_path / "in"), tmp_path / "case.sluice"
    pdfs.never_ending_pdf(folder / "z.pdf", pages=3, bad_page=3)
    before = program.fingerprint(folder)
    with begun(case, folder, tmp_path, PATIENT) as process:
        met: set[int] = set()
        for _ in range(2):
            on_its_page(process, case, 12, met).send_signal(number)
        code, said = program.ending(process)
    assert code == 1, said
    program.assert_sound(case)
    program.assert_no_process_left(tmp_path)
    assert program.fingerprint(folder) == before
    [letter] = dead_letters(case)
    assert (letter.path, letter.page, letter.reason, letter.signal) == ("z.pdf", 3, reason, number)
    assert letter.attempts == 2
    retries = [record for record in records_of(case) if record["event"] == "RETRY"]
    assert [(record["page"], record["reason"]) for record in retries] == [(3, reason)]
    assert sum(row[2] == "EXTRACTED" and row[1] is not None for row in golden_set(case)) == 14


@pytest.mark.whole
@pytest.mark.fault(5)
@needs_linux
def test_a_stopped_worker_is_replaced_and_costs_nothing(tmp_path: Path) -> None:
    """SIGSTOP of all workers: each is killed by its clock, its page is tried again, and all come out as ever."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    pdfs.batch(folder, 12, 10, seed=3, words=300)
    program.finish(tmp_path / "whole.sluice", folder, tmp_path, ())
    options = ("--workers", "2", "--page-clock", "2s", "--open-clock", "2s", "--rate", "60", "--burst", "8")
    with begun(case, folder, tmp_path, options) as process:
        assert program.wait_until(lambda: program.pages_done(case) >= 10, process)
        stopped = workers_of(process.pid)
        for worker in stopped:
            worker.suspend()
        code, said = program.ending(process)
    assert code == 0, said
    assert len(stopped) == 2
    assert not any(worker.is_running() for worker in stopped)
    program.assert_same_as(case, golden_set(tmp_path / "whole.sluice"))
    program.assert_no_process_left(tmp_path)


def ended_with_one(case: Path, folder: Path, home: Path, *options: str) -> int:
    """Run to an end with dead letters; return the most memory, in bytes, that the main process was seen to have."""
    most = 0
    with begun(case, folder, home, options) as process:
        main = psutil.Process(process.pid)

        def look() -> bool:
            nonlocal most
            with contextlib.suppress(psutil.Error):
                most = max(most, main.memory_info().rss)
            return False

        program.wait_until(look, process)
        code, said = program.ending(process)
    assert code == 1, said
    return most


@pytest.mark.whole
@pytest.mark.fault(3)
@needs_linux
def test_a_page_that_wants_more_memory_than_a_worker_may_have(tmp_path: Path) -> None:
    """In 300 MB of address space the page is memory_limit after a second try alone; the main process stays flat."""
    folder, case = good_documents(tmp_path / "in"), tmp_path / "case.sluice"
    pdfs.memory_bomb_pdf(folder / "z.pdf", pages=3, bad_page=2)
    most = ended_with_one(case, folder, tmp_path, "--page-clock", "1h", "--worker-address-space", "300M", *ONE_WORKER)
    assert most < 200 << 20
    [letter] = dead_letters(case)
    assert (letter.path, letter.page, letter.reason, letter.attempts) == ("z.pdf", 2, Reason.MEMORY_LIMIT, 2)
    assert sum(row[2] == "EXTRACTED" and row[1] is not None for row in golden_set(case)) == 14
    program.assert_sound(case)
    program.assert_no_process_left(tmp_path)


@pytest.mark.whole
@pytest.mark.fault(4)
@needs_linux
def test_a_page_that_never_ends_is_ended(tmp_path: Path) -> None:
    """After its clock, twice, the page is time_limit; its neighbours are there and no processor is kept busy."""
    folder, case = good_documents(tmp_path / "in"), tmp_path / "case.sluice"
    pdfs.never_ending_pdf(folder / "z.pdf", pages=3, bad_page=2)
    ended_with_one(case, folder, tmp_path, "--page-clock", "2s", *ONE_WORKER)
    [letter] = dead_letters(case)
    assert (letter.path, letter.page, letter.reason, letter.attempts) == ("z.pdf", 2, Reason.TIME_LIMIT, 2)
    assert sum(row[2] == "EXTRACTED" and row[1] is not None for row in golden_set(case)) == 14
    program.assert_sound(case)
    program.assert_no_process_left(tmp_path)


@pytest.mark.whole
@pytest.mark.fault(2, by="a memory control group with only the workers in it")
@needs_group("memory")
def test_the_systems_own_out_of_memory_killer_costs_one_page(tmp_path: Path) -> None:
    """Workers in a group of 150 MB, on a page without end: the system kills them, and only that page is lost."""
    folder, case = good_documents(tmp_path / "in"), tmp_path / "case.sluice"
    pdfs.memory_bomb_pdf(folder / "z.pdf", pages=3, bad_page=2)
    limits = ("--worker-address-space", "16G", "--worker-kill-rss", "8G", "--memory-budget", "8G")
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(control_group("memory", memory__limit_in_bytes=150 << 20))
        process = stack.enter_context(begun(case, folder, tmp_path, (*PATIENT, *limits)))
        joined: set[int] = set()

        def put_into_group() -> bool:
            for worker in workers_of(process.pid):
                if worker.pid not in joined:
                    join(group, worker.pid)
                    joined.add(worker.pid)
            return False

        program.wait_until(put_into_group, process)
        code, said = program.ending(process)
        kills = (group / "memory.oom_control").read_text(encoding="ascii")
    assert code == 1, said
    assert "oom_kill 2" in kills
    [letter] = dead_letters(case)
    assert (letter.path, letter.page, letter.reason, letter.signal) == ("z.pdf", 2, Reason.WORKER_LOST, signal.SIGKILL)
    assert sum(row[2] == "EXTRACTED" and row[1] is not None for row in golden_set(case)) == 14
    program.assert_sound(case)
    program.assert_no_process_left(tmp_path)


# Workers that misbehave


def small(**clocks: float) -> Settings:
    """Return settings for two workers."""
    return Settings(flow=FlowLimits.build(workers=2, max_queue=64, span_pages=4))


def misbehaving(behaviour: str, detail: int) -> WorkerPool:
    """Return a pool of workers that misbehave on one page."""
    return WorkerPool(small(), command=(sys.executable, "-I", str(saboteur.__file__), behaviour, str(detail)))


def with_a_victim(folder: Path) -> Path:
    """Write good documents, and the one that workers misbehave on."""
    pdfs.text_pdf(good_documents(folder) / "victim.pdf", pages=saboteur.BAD_PAGES, seed=77)
    return folder


@pytest.mark.parametrize(
    ("behaviour", "detail", "failure"),
    [
        pytest.param(
            "crash", 0, (None, signal.SIGSEGV), marks=pytest.mark.fault(1, by="a worker that reads address 0")
        ),
        pytest.param("exit", 0, (0, None), marks=pytest.mark.fault(6)),
        pytest.param("exit", 1, (1, None), marks=[pytest.mark.fault(6), pytest.mark.whole]),
        pytest.param("garbage", 100_000, (None, None), marks=pytest.mark.fault(7)),
        pytest.param("length", 8, (None, None), marks=pytest.mark.fault(7)),
        pytest.param("closes", 0, (None, None), marks=[pytest.mark.fault(7), pytest.mark.whole]),
    ],
)
@pytest.mark.one_loop("asyncio")
async def test_a_misbehaving_worker_costs_its_page(
    tmp_path: Path, behaviour: str, detail: int, failure: tuple[int | None, int | None]
) -> None:
    """Whatever a worker does instead of answering, its page is worker_crashed, and all others come out as ever."""
    folder = with_a_victim(tmp_path / "in")
    before = program.fingerprint(folder)
    await run_once(tmp_path / "whole.sluice", folder, WorkerPool(small()), small())
    case = tmp_path / "case.sluice"
    summary = await run_once(case, folder, misbehaving(behaviour, detail), small())
    assert summary.counts.reconciled
    assert golden_set(case) == without(golden_set(tmp_path / "whole.sluice"), "victim.pdf", saboteur.BAD_PAGE)
    [letter] = dead_letters(case)
    assert (letter.reason, letter.attempts) == (Reason.WORKER_CRASHED, 2)
    if failure != (None, None):
        assert (letter.code, letter.signal) == failure
    program.assert_sound(case)
    assert program.fingerprint(folder) == before
    assert not psutil.Process().children()


@pytest.mark.parametrize(
    ("behaviour", "detail"),
    [
        pytest.param("flood", 64, marks=pytest.mark.fault(8)),
        pytest.param("flood", 1024, marks=[pytest.mark.fault(8), pytest.mark.whole]),
        pytest.param("twice", 0, marks=pytest.mark.fault(9)),
    ],
)
@pytest.mark.one_loop("asyncio")
async def test_a_worker_that_says_too_much_costs_nothing(tmp_path: Path, behaviour: str, detail: int) -> None:
    """Megabytes of complaints, or every answer twice: nothing is lost or doubled, and memory stays flat."""
    folder = with_a_victim(tmp_path / "in")
    await run_once(tmp_path / "whole.sluice", folder, WorkerPool(small()), small())
    case, before = tmp_path / "case.sluice", psutil.Process().memory_info().rss
    summary = await run_once(case, folder, misbehaving(behaviour, detail), small())
    assert summary.counts.reconciled
    assert summary.peak_rss_bytes.main < before + (50 << 20)
    if behaviour == "flood":
        assert golden_set(case) == golden_set(tmp_path / "whole.sluice")
    program.assert_sound(case)
    assert not psutil.Process().children()


# What the program reads of its workers


@pytest.mark.fault(35, by="RLIMIT_NOFILE with every descriptor in use")
@needs_linux
def test_memory_that_cannot_be_looked_at_is_what_it_was() -> None:
    """Without a free descriptor neither the sampler nor the monitor fails: the last reading stands."""
    worker = WorkerProcess(("sleep", "1000"))
    try:
        tree = ProcessTree()
        reading, rss_bytes = tree.read([worker.pid]), worker.measure()
        assert reading.workers > 0
        assert rss_bytes > 0
        with no_descriptor_left():
            assert tree.read([worker.pid]) == reading
            assert worker.measure() == rss_bytes
    finally:
        worker.kill()
        worker.reap(10.0)
        worker.close()
