"""Workers that crash, hang, lie or are killed: one page is blamed, the rest is accounted for, and work goes on."""

import asyncio
import os
import shutil
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from engine.models.document import Failure, LostPage, Probe, Span, SpanReport
from engine.models.outcome import Method, Reason
from engine.settings import MIB
from engine.work.pool import WorkerPool
from engine.work.process import default_command
from tests.support import pdfs
from tests.support.pdfs import page_words
from tests.work.kit import (
    alive,
    extracted,
    impostor,
    invented,
    look_into,
    opened,
    pages_of,
    read,
    ref,
    refused,
    running_pool,
    settings,
    until,
    whole,
)

QUICK = {"page_s": 1.0, "open_s": 20.0}


def failure_of(report: SpanReport) -> Failure:
    """Return why the lost page was lost."""
    assert report.lost is not None
    return report.lost.failure


async def with_the_page_under_way(pool: WorkerPool, span: Span, page: int, number: int) -> SpanReport:
    """Extract a span, and send its worker a signal once it is on a page."""
    async with asyncio.TaskGroup() as group:
        extracting = group.create_task(read(pool, span), name="extracting")
        await until(lambda: pool.views()[0].page == page)
        pid = pool.views()[0].pid
        assert pid is not None
        os.kill(pid, number)
    return extracting.result()


@pytest.mark.one_loop("asyncio")
@pytest.mark.fault(4)
async def test_a_page_that_never_ends_is_stopped_by_its_clock(tmp_path: Path) -> None:
    """The endless page is lost for the time limit, the pages after it are untried, and extract well afterwards."""
    path = pdfs.never_ending_pdf(tmp_path / "endless.pdf", 5, bad_page=3)
    async with running_pool(settings(clocks=QUICK)) as pool:
        document = await opened(pool, path)
        report = await read(pool, whole(document))
        assert failure_of(report) == Failure(reason=Reason.TIME_LIMIT)
        assert pages_of(report)[1] == 3
        again = await read(pool, Span(document=document, first_page=4, page_count=2))
    results, _, untried = pages_of(report)
    assert sorted([*results, *untried]) == [1, 2, 4, 5]
    assert [result.text.split() for result in again.results] == [page_words(4), page_words(5)]


@pytest.mark.one_loop("asyncio")
async def test_pages_that_were_answered_early_are_not_lost_with_a_later_one() -> None:
    """What a worker answered before it crashed are results, not untried."""
    async with running_pool(command=impostor("die_at", 29, 30, int(signal.SIGSEGV))) as pool:
        report = await read(pool, whole(invented(40)))
    assert pages_of(report) == ([*range(1, 30)], 30, [*range(31, 41)])


@pytest.mark.parametrize(
    ("number", "failure"),
    [
        (signal.SIGSEGV, Failure(reason=Reason.WORKER_CRASHED, signal=signal.SIGSEGV)),
        (signal.SIGKILL, Failure(reason=Reason.WORKER_LOST, signal=signal.SIGKILL)),
        (signal.SIGSTOP, Failure(reason=Reason.TIME_LIMIT)),
    ],
)
@pytest.mark.one_loop("asyncio")
@pytest.mark.fault(1, 2, 5)
async def test_a_signal_costs_the_page_under_way(tmp_path: Path, number: signal.Signals, failure: Failure) -> None:
    """A crash, a kill from outside and a stop: the page is lost for what it was, and the worker is replaced."""
    path = pdfs.never_ending_pdf(tmp_path / "endless.pdf", 3, bad_page=2)
    clocks = {"page_s": 2.0} if number is signal.SIGSTOP else {"page_s": 600.0}
    async with running_pool(settings(clocks=clocks)) as pool:
        report = await with_the_page_under_way(pool, whole(await opened(pool, path)), 2, number)
        assert (report.lost, report.untried[-1]) == (LostPage(page=2, failure=failure), 3)
        assert len(await extracted(pool, pdfs.text_pdf(tmp_path / "good.pdf", 2))) == 2


@pytest.mark.one_loop("asyncio")
@pytest.mark.fault(3)
async def test_a_page_that_wants_too_much_memory_costs_nobody_else(tmp_path: Path) -> None:
    """Against the limit of its address space MuPDF gives up a page; what follows is left for a fresh worker."""
    path = pdfs.memory_bomb_pdf(tmp_path / "bomb.pdf", 4, bad_page=2)
    limits = settings(clocks={"page_s": 600.0}, address_space_bytes=256 * MIB)
    async with running_pool(limits) as pool:
        document = await opened(pool, path)
        pid = pool.views()[0].pid
        report = await read(pool, whole(document))
        assert pages_of(report) == ([1], 2, [3, 4])
        assert failure_of(report).reason is Reason.MEMORY_LIMIT
        rest = await read(pool, Span(document=document, first_page=3, page_count=2))
        assert [result.method for result in rest.results] == [Method.TEXT, Method.TEXT]
        assert pool.views()[0].pid != pid


@pytest.mark.one_loop("asyncio")
@pytest.mark.fault(3)
async def test_a_worker_that_outgrows_its_limit_is_killed(tmp_path: Path) -> None:
    """Resident memory above the parent's limit ends the worker at once, and the page is lost for it."""
    path = pdfs.memory_bomb_pdf(tmp_path / "bomb.pdf", 3, bad_page=2)
    limits = settings(clocks={"page_s": 600.0}, kill_rss_bytes=100 * MIB, address_space_bytes=16 * 1024 * MIB)
    async with running_pool(limits) as pool:
        report = await read(pool, whole(await opened(pool, path)))
    assert report.lost == LostPage(page=2, failure=Failure(reason=Reason.MEMORY_LIMIT))
    assert report.untried[-1] == 3


@pytest.mark.one_loop("asyncio")
async def test_the_largest_work_is_ended_when_memory_runs_out_and_small_work_never_is(tmp_path: Path) -> None:
    """Of all that is being worked on only what is worth it is ended, as too large; an idle pool has nothing to end."""
    path = pdfs.memory_bomb_pdf(tmp_path / "bomb.pdf", 3, bad_page=2)
    endless = pdfs.never_ending_pdf(tmp_path / "endless.pdf")
    async with running_pool(settings(workers=2, clocks={"page_s": 600.0}), tick_s=0.02) as pool:
        assert not pool.shed()
        small = asyncio.ensure_future(read(pool, whole(await opened(pool, endless, doc_id=2))))
        large = asyncio.ensure_future(read(pool, whole(await opened(pool, path))))
        await until(pool.shed)
        report = await large
        assert report.lost == LostPage(page=2, failure=Failure(reason=Reason.MEMORY_LIMIT))
        assert not pool.shed()
        assert not small.done()
        small.cancel()
        await asyncio.wait([small])


@pytest.mark.one_loop("asyncio")
@pytest.mark.parametrize("behaviour", ["garbage", "huge"])
@pytest.mark.fault(7)
async def test_bytes_that_are_no_answer_end_the_worker(behaviour: str) -> None:
    """Random bytes and an impossible length: the page in the slot is blamed, a probe says that its worker crashed."""
    async with running_pool(command=impostor(behaviour)) as pool:
        report = await read(pool, whole(invented(4)))
        probe = await look_into(pool, ref(b"/nowhere"))
    assert pages_of(report) == ([], 3, [1, 2, 4])
    assert failure_of(report) == Failure(reason=Reason.WORKER_CRASHED)
    assert probe == Failure(reason=Reason.WORKER_CRASHED)


@pytest.mark.one_loop("asyncio")
@pytest.mark.fault(6)
async def test_a_worker_that_exits_in_the_middle_is_a_crash() -> None:
    """Exit status 0 in the middle of a span is no success: the answered pages stay, the page under way is lost."""
    async with running_pool(command=impostor("die_at", 2, 4, 0)) as pool:
        report = await read(pool, whole(invented(6)))
    assert pages_of(report) == ([1, 2], 4, [3, 5, 6])
    assert failure_of(report) == Failure(reason=Reason.WORKER_CRASHED, code=0)


@pytest.mark.one_loop("asyncio")
async def test_a_slot_that_names_another_page_blames_the_first_missing_one() -> None:
    """A worker cannot blame a page that it was not given."""
    async with running_pool(command=impostor("lies")) as pool:
        report = await read(pool, Span(document=invented(), first_page=3, page_count=3))
    assert pages_of(report) == ([], 3, [4, 5])


@pytest.mark.one_loop("asyncio")
@pytest.mark.fault(8)
async def test_forty_megabytes_of_complaints_block_nobody() -> None:
    """Standard error is drained before, while and after a worker answers, and only its end is kept."""
    async with running_pool(command=impostor("flood")) as pool:
        for _ in range(2):
            report = await read(pool, whole(invented(3)))
            assert pages_of(report) == ([1, 2, 3], None, [])
        assert isinstance(await look_into(pool, ref(b"/nowhere")), Probe)


@pytest.mark.one_loop("asyncio")
@pytest.mark.fault(9)
async def test_a_worker_that_says_too_much_is_replaced_and_its_answer_stands() -> None:
    """A second answer to the same request never becomes the answer to the next one; at worst that one is lost."""
    async with running_pool(command=impostor("chatty")) as pool:
        assert pages_of(await read(pool, whole(invented(2)))) == ([1, 2], None, [])
        for first_page in (1, 4, 7):
            report = await read(pool, Span(document=invented(), first_page=first_page, page_count=2))
            if report.lost is None:
                assert pages_of(report) == ([first_page, first_page + 1], None, [])
            else:
                assert pages_of(report) == ([], first_page, [first_page + 1])
                assert failure_of(report) == Failure(reason=Reason.WORKER_CRASHED)


@pytest.mark.one_loop("asyncio")
async def test_a_worker_that_always_shows_something_new_runs_into_the_documents_clock() -> None:
    """New marks in the slot keep the page's clock away, and the document's clock ends it all the same."""
    clocks = {"page_s": 60.0, "document_s": 1.0}
    async with running_pool(settings(clocks=clocks), command=impostor("steps")) as pool:
        report = await read(pool, whole(invented(3)))
        assert failure_of(report) == Failure(reason=Reason.TIME_LIMIT)
        rest = await read(pool, Span(document=invented(3), first_page=2, page_count=2))
        assert [result.failure for result in rest.results] == [Failure(reason=Reason.TIME_LIMIT)] * 2
        assert pool.views()[0].doc_id is None  # no worker was bothered with it


@pytest.mark.one_loop("asyncio")
async def test_opening_has_its_own_clock() -> None:
    """A probe that hangs is a time limit; so is a span whose worker never comes to its first page."""
    async with running_pool(settings(clocks={"open_s": 0.5}), command=impostor("hang")) as pool:
        assert await look_into(pool, ref(b"/nowhere")) == Failure(reason=Reason.TIME_LIMIT)
        report = await read(pool, whole(invented(3)))
    assert pages_of(report) == ([], 1, [2, 3])
    assert failure_of(report) == Failure(reason=Reason.TIME_LIMIT)


async def test_an_idle_worker_that_died_is_nobodys_fault(tmp_path: Path) -> None:
    """Workers killed while they are idle are replaced, and not a single page is lost or blamed."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 4)
    async with running_pool(settings(workers=2)) as pool:
        document = await opened(pool, path)
        for _ in range(3):
            for view in pool.views():
                if view.pid is not None:
                    os.kill(view.pid, signal.SIGKILL)
            report = await read(pool, whole(document))
            assert pages_of(report) == ([1, 2, 3, 4], None, [])


@pytest.mark.one_loop("asyncio")
async def test_heirs_of_a_dead_worker_hold_up_nobody(tmp_path: Path) -> None:
    """A process that a worker left behind, in a session of its own and with our pipes, cannot make us wait."""
    heir = tmp_path / "heir"
    async with running_pool(command=impostor("leaves_heirs", heir)) as pool:
        report = await read(pool, whole(invented(2)))
    assert failure_of(report) == Failure(reason=Reason.WORKER_CRASHED, code=1)
    pid = int(heir.read_text(encoding="ascii"))
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


@pytest.mark.fault(9)
async def test_a_cancelled_call_ends_its_worker_and_nobody_gets_its_answer(tmp_path: Path) -> None:
    """Cancelling kills the worker at once; the next caller gets the answer to his own question from another one."""
    endless = pdfs.never_ending_pdf(tmp_path / "endless.pdf", 1)
    good = pdfs.text_pdf(tmp_path / "good.pdf", 2, seed=9)
    async with running_pool() as pool:
        document = await opened(pool, endless)
        pid = pool.views()[0].pid
        assert pid is not None
        task = asyncio.create_task(read(pool, whole(document)), name="extracting")
        await until(lambda: pool.views()[0].page == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        results = await extracted(pool, good)
        assert [result.text.split() for result in results] == [page_words(page, seed=9) for page in (1, 2)]
        assert pool.views()[0].pid != pid
        await until(lambda: not alive(pid))


def is_under_way(pool: WorkerPool, tasks: Sequence["asyncio.Task[SpanReport]"]) -> bool:
    """Whether a page is being read, or all is over before anybody could see that."""
    return any(view.page is not None for view in pool.views()) or all(task.done() for task in tasks)


async def test_calls_that_are_cancelled_at_any_moment_leave_the_pool_whole(tmp_path: Path) -> None:
    """Cancelled while waiting, while being handed over or in the middle: afterwards all workers still work."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 6)
    async with running_pool(settings(workers=2)) as pool:
        document = await opened(pool, path)
        for turns in range(12):
            tasks = [asyncio.create_task(read(pool, whole(document)), name="extracting") for _ in range(4)]
            for _ in range(turns % 6):
                await asyncio.sleep(0)
            if turns >= 6:
                await until(partial(is_under_way, pool, tasks))
            for task in tasks[:: 1 + turns % 2]:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            for outcome in outcomes:
                if isinstance(outcome, SpanReport):
                    assert pages_of(outcome) == ([1, 2, 3, 4, 5, 6], None, [])
                else:
                    assert isinstance(outcome, asyncio.CancelledError)
        reports = await asyncio.gather(*(read(pool, whole(document)) for _ in range(4)))
        assert [pages_of(report) for report in reports] == [([1, 2, 3, 4, 5, 6], None, [])] * 4


async def test_a_suspected_page_gets_a_fresh_worker_which_is_then_retired(tmp_path: Path) -> None:
    """A span that asks to be alone is done by a worker that has done nothing before, and does nothing after."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 2)
    async with running_pool() as pool:
        document = await opened(pool, path)
        used = pool.views()[0].pid
        async with asyncio.TaskGroup() as group:
            alone = group.create_task(read(pool, whole(document, alone=True, attempt=2)), name="alone")
            await until(lambda: alone.done() or pool.views()[0].pid not in {used, None})
            suspected = pool.views()[0].pid
        assert [result.attempt for result in alone.result().results] == [2, 2]
        await read(pool, whole(document))
        assert len({used, suspected, pool.views()[0].pid}) == 3


@pytest.mark.one_loop("asyncio")
@pytest.mark.fault(2)
async def test_every_page_is_accounted_for_in_a_storm_of_kills(tmp_path: Path) -> None:
    """However often workers are shot, each page ends in exactly one field of a report, and trying again helps."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 40)
    async with running_pool(settings(workers=2)) as pool:
        document = await opened(pool, path)
        texts: dict[int, str] = {}

        async def shoot() -> None:
            for _ in range(12):
                await until(lambda: any(view.doc_id for view in pool.views()))
                for view in pool.views():
                    if view.doc_id is not None and view.pid is not None:
                        os.kill(view.pid, signal.SIGKILL)
                await until(lambda: not any(view.doc_id for view in pool.views()))

        async def work(spans: list[Span]) -> None:
            while spans:
                span = spans.pop()
                report = await read(pool, span)
                results, lost, untried = pages_of(report)
                assert sorted([*results, *([] if lost is None else [lost]), *untried]) == list(span.pages)
                texts.update({result.page: result.text for result in report.results})
                again = untried if lost is None else [lost, *untried]
                spans += [Span(document=document, first_page=page, page_count=1) for page in again]

        spans = [Span(document=document, first_page=page, page_count=4) for page in range(1, 41, 4)]
        shooter = asyncio.create_task(shoot(), name="shooter")
        await asyncio.gather(work(spans), work(spans), work(spans))
        shooter.cancel()
        await asyncio.wait([shooter])
    assert {page: text.split() for page, text in texts.items()} == {page: page_words(page) for page in range(1, 41)}


@pytest.mark.fault(35, by="workers with hardly a descriptor")
@pytest.mark.parametrize("descriptors", [7, 9])
@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit is not there")
@pytest.mark.one_loop("asyncio")
async def test_a_document_is_not_corrupt_for_want_of_a_descriptor(tmp_path: Path, descriptors: int) -> None:
    """A worker that has its file open, and whose parser has no descriptor left for it, could not read it for now."""
    first, second = (pdfs.text_pdf(tmp_path / f"{name}.pdf", 1, seed=seed) for seed, name in enumerate("ab"))
    command = ("prlimit", f"--nofile={descriptors}:{descriptors}", *default_command())
    async with running_pool(command=command) as pool:
        await look_into(pool, ref(first))
        assert (await refused(pool, second)).reason is Reason.READ_FAILED
