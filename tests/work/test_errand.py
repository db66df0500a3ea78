"""Several jobs for one worker: what is sent at once, whose turn an answer is, and who bears the worker's death."""

import asyncio
import sys
from itertools import count
from pathlib import Path

import pytest

from engine.models.document import DocumentRef, Failure, LostPage, Probe, Span
from engine.models.outcome import Reason
from engine.settings import MIB, Settings
from engine.work.errand import Errand
from engine.work.frames import FrameBuffer, FrameCaps, FrameError, encode
from engine.work.jobs import ProbeJob, SpanJob
from engine.work.messages import (
    FoundPage,
    PageKind,
    ProbeRequest,
    failure_frame,
    left_frame,
    pages_frame,
    probe_frame,
)
from engine.work.slot import Mark, Phase
from tests.faults import saboteur
from tests.support import pdfs
from tests.work.kit import impostor, invented, opened, pages_of, read, ref, running_pool, settings, whole
from tests.work.test_child import ENGINE, Child

if sys.platform == "linux":
    import fcntl

PATIENT = """
import sys, types
package = types.ModuleType("engine")
package.__path__ = [FOLDER]
sys.modules["engine"] = package
from engine.work.child import answers, service

answers._HELD_S = 3600.0
service.run(sys.argv[-1])
"""
"""A worker that holds answers back for as long as more was asked for, however slow the machine is."""
CRASHED = Failure(reason=Reason.WORKER_CRASHED)


def probes(*numbers: int, location: bytes = b"/x") -> list[ProbeJob]:
    """Return jobs that look into documents with these numbers, in requests with the same ones."""
    refs = [DocumentRef(doc_id=number, location=location, size_bytes=1, mtime_ns=1) for number in numbers]
    return [ProbeJob.of(one, one.doc_id, Settings()) for one in refs]


def spans(*numbers: int, pages: int = 2) -> list[SpanJob]:
    """Return jobs that extract documents with these numbers, in requests with the same ones."""
    return [SpanJob.of(whole(invented(pages, number)), number, Settings()) for number in numbers]


def with_a_bad_one(folder: Path, others: int, *, at: int) -> list[Path]:
    """Write so many documents of one page, and at that place among them the one that a saboteur treats badly."""
    paths = [pdfs.text_pdf(folder / f"{number}.pdf", 1, seed=number) for number in range(others)]
    paths.insert(at, pdfs.text_pdf(folder / "bad.pdf", saboteur.BAD_PAGES, seed=77))
    return paths


async def errand_of(jobs: list[ProbeJob] | list[SpanJob]) -> Errand[ProbeJob | SpanJob]:
    """Return an errand."""
    return Errand(jobs, asyncio.get_running_loop().create_future(), most_bytes=16 * 1024)


def taken(errand: Errand[ProbeJob | SpanJob], data: bytes) -> bool:
    """Have an errand take an answer."""
    buffer = FrameBuffer()
    buffer.feed(data)
    frame = buffer.take(FrameCaps(payload_bytes=1000))
    assert frame is not None
    return errand.take(frame)


def found(number: int) -> bytes:
    """Return the answer to a probe."""
    return probe_frame(number, sha256="0" * 64, page_count=1, size_bytes=1, mtime_ns=1, repaired=False)


def answered(number: int, *pages: int, done: bool = True) -> bytes:
    """Return the answer to a span."""
    texts = [FoundPage(page=page, kind=PageKind.TEXT, dur_ms=0, text=b"text") for page in pages]
    return pages_frame(number, texts, done=done)


@pytest.mark.one_loop("asyncio")
async def test_answers_are_taken_in_the_order_of_the_requests() -> None:
    """Each settles the job whose turn it is; the errand is over with the last one, and another order is refused."""
    errand = await errand_of(probes(7, 8, 9))
    assert [taken(errand, found(7)), taken(errand, failure_frame(8, Reason.ENCRYPTED))] == [False, False]
    with pytest.raises(FrameError):
        taken(errand, found(7))
    assert taken(errand, found(9))
    first, second, third = errand.settled
    assert isinstance(first, ProbeJob)
    assert isinstance(second, ProbeJob)
    assert isinstance(third, ProbeJob)
    assert isinstance(first.outcome, Probe)
    assert second.outcome == Failure(reason=Reason.ENCRYPTED)
    assert isinstance(third.outcome, Probe)
    assert not errand.broken_off


@pytest.mark.one_loop("asyncio")
async def test_no_more_is_sent_at_once_than_a_pipe_holds() -> None:
    """Long paths make an errand shorter; one request always fits, and no more go than a mark tells apart."""
    long = await errand_of(probes(*range(1, 41), location=b"/" + b"x" * 4000))
    assert 1 < len(long.jobs) < 40
    assert len(long.request) <= 16 * 1024
    assert len((await errand_of(probes(1, location=b"/" + b"x" * 60_000))).jobs) == 1
    assert len((await errand_of(probes(*range(1, 1001), location=b""))).jobs) == 256


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a pipe cannot be made smaller")
@pytest.mark.one_loop("asyncio")
async def test_a_small_pipe_costs_no_worker_and_no_document_a_try() -> None:
    """A user who has very many pipes gets small ones: then less is sent at once."""
    async with running_pool(command=impostor("answers")) as pool:
        (worker,) = pool._staff.values()
        assert worker.keeper._process is not None
        fcntl.fcntl(worker.keeper._process.stdin.fileno(), fcntl.F_SETPIPE_SZ, 4096)
        found = await pool.probe([ref(b"/" + b"x" * 1000, number) for number in range(1, 17)])
        assert all(isinstance(one, Probe) for one in found)
        assert worker in pool._staff.values()


@pytest.mark.one_loop("asyncio")
async def test_a_death_is_borne_by_the_job_that_the_slot_tells_of() -> None:
    """What was done before it and not answered, and what came after it, nobody has tried: it stays unsettled."""
    errand = await errand_of(spans(300, 301, 302, 303))
    taken(errand, answered(300, 1, 2))
    errand.end(CRASHED, Mark(turn=9, phase=Phase.PAGE, page=2, request=302 % 256))
    done, guilty = errand.settled
    assert (done.number, guilty.number) == (300, 302)
    assert isinstance(guilty, SpanJob)
    assert guilty.outcome.lost == LostPage(page=2, failure=CRASHED)
    assert guilty.outcome.untried == (1,)
    assert errand.broken_off
    assert errand.pages == 2


@pytest.mark.one_loop("asyncio")
async def test_a_mark_that_tells_nothing_blames_the_job_whose_turn_it_is() -> None:
    """A worker writes what it likes into its slot, and somebody has to bear its death."""
    errand = await errand_of(spans(1, 2))
    taken(errand, answered(1, 1, 2))
    errand.end(CRASHED, Mark(turn=9, phase=Phase.PAGE, page=77, request=200))
    assert errand.settled[-1].number == 2
    assert not errand.broken_off


@pytest.mark.one_loop("asyncio")
async def test_an_answer_that_is_none_is_borne_by_the_job_that_it_was_for() -> None:
    """Even where the worker is further on by then."""
    errand = await errand_of(spans(1, 2, 3))
    errand.end(CRASHED, Mark(turn=9, phase=Phase.PAGE, page=2, request=3), garbled=True)
    (guilty,) = errand.settled
    assert isinstance(guilty, SpanJob)
    assert (guilty.number, guilty.outcome.lost) == (1, LostPage(page=1, failure=CRASHED))


@pytest.mark.one_loop("asyncio")
async def test_an_errand_is_broken_off_where_there_is_no_memory_left() -> None:
    """What comes next in that worker would suffer for it."""
    errand = await errand_of(probes(1, 2, 3))
    taken(errand, found(1))
    assert taken(errand, failure_frame(2, Reason.MEMORY_LIMIT))
    assert errand.spoiled
    assert errand.broken_off


@pytest.mark.one_loop("asyncio")
async def test_what_a_worker_gives_back_is_not_settled_and_was_nobodys_fault() -> None:
    """Because those before took long; the errand is over with the last of them, and its worker is all right."""
    errand = await errand_of(spans(1, 2, 3))
    assert [taken(errand, data) for data in (answered(1, 1, 2), left_frame(2), left_frame(3))] == [False, False, True]
    assert ([job.number for job in errand.settled], [job.number for job in errand.left]) == ([1], [2, 3])
    assert not errand.broken_off


@pytest.mark.one_loop("asyncio")
@pytest.mark.parametrize(
    ("before", "data"),
    [
        ([], left_frame(1)),
        ([answered(1, 1, 2), answered(2, 1, done=False)], left_frame(2)),
        ([answered(1, 1, 2)], left_frame(3)),
        ([answered(1, 1, 2)], encode({"number": 2, "left": False})),
        ([answered(1, 1, 2)], encode({"number": 2, "left": True}, b"x")),
    ],
)
async def test_nothing_else_may_be_given_back(before: list[bytes], data: bytes) -> None:
    """Not the first, or a worker could give back everything for ever; not what was begun, and not in other words."""
    errand = await errand_of(spans(1, 2, 3))
    assert not any(taken(errand, one) for one in before)
    with pytest.raises(FrameError):
        taken(errand, data)


@pytest.mark.one_loop("asyncio")
async def test_documents_do_not_wait_for_all_that_were_taken_together_with_them(tmp_path: Path) -> None:
    """One takes long: its own result comes, those behind it come back untried, and the worker stays."""
    paths = with_a_bad_one(tmp_path, 3, at=0)
    command = (sys.executable, "-I", str(saboteur.__file__), "slow", "3")
    async with running_pool(settings(), command=command) as pool:
        documents = [await opened(pool, path, number) for number, path in enumerate(paths, start=1)]
        before = pool.views()[0].pid
        slow, *others = await pool.extract([whole(document) for document in documents])
        assert pages_of(slow) == ([1, 2, 3, 4, 5], None, [])
        assert [pages_of(report) for report in others] == [([], None, [1])] * 3
        again = await pool.extract([whole(document) for document in documents[1:]])
        assert [pages_of(report) for report in again] == [([1], None, [])] * 3
        assert pool.views()[0].pid == before


@pytest.mark.one_loop("asyncio")
async def test_looks_into_documents_do_not_wait_for_all_of_them_either() -> None:
    """The one that never ends is a failure after its time, and those behind it were not looked into."""
    async with running_pool(settings(clocks={"open_s": 0.5}), command=impostor("hang"), tick_s=0.05) as pool:
        found = await pool.probe([ref(b"/x", number) for number in (1, 2, 3)])
    assert found == [Failure(reason=Reason.TIME_LIMIT), None, None]


@pytest.mark.one_loop("asyncio")
@pytest.mark.parametrize("page_s", [1.0, 600.0])
async def test_a_bad_document_costs_those_beside_it_nothing(tmp_path: Path, page_s: float) -> None:
    """One that never ends, and one that fills the memory: all others are read, in as many workers as it takes."""
    good = [pdfs.text_pdf(tmp_path / f"{number}.pdf", 2, seed=number) for number in range(4)]
    endless = pdfs.never_ending_pdf(tmp_path / "endless.pdf", 3, bad_page=2)
    if page_s > 1.0:
        endless = pdfs.memory_bomb_pdf(tmp_path / "bomb.pdf", 3, bad_page=2)
    paths = [good[0], good[1], endless, good[2], good[3]]
    limits = settings(clocks={"page_s": page_s}, address_space_bytes=1024 * MIB)
    async with running_pool(limits, tick_s=0.05) as pool:
        found = await pool.probe([ref(path, number) for number, path in enumerate(paths, start=1)])
        assert all(isinstance(one, Probe) for one in found)
        documents = [await opened(pool, path, number) for number, path in enumerate(paths, start=1)]
        spans = [whole(document) for document in documents]
        reports = list(await pool.extract(spans))
        # Those behind one that took long are not done yet, nor those whose answers were lost with its worker.
        untried = [place for place, report in enumerate(reports) if not report.results and report.lost is None]
        assert untried[-2:] == ([3, 4] if page_s == 1.0 else [])
        for place, report in zip(untried, await pool.extract([spans[place] for place in untried]), strict=True):
            reports[place] = report
    reason = Reason.TIME_LIMIT if page_s == 1.0 else Reason.MEMORY_LIMIT
    lost = reports[2].lost
    assert lost is not None
    assert (lost.page, lost.failure.reason) == (2, reason)
    for report in (*reports[:2], *reports[3:]):
        assert pages_of(report) == ([1, 2], None, [])
    texts = [result.text for report in (*reports[:2], *reports[3:]) for result in report.results]
    async with running_pool() as pool:
        alone = [await read(pool, whole(await opened(pool, path))) for path in good]
    assert texts == [result.text for report in alone for result in report.results]


@pytest.mark.one_loop("asyncio")
async def test_a_document_that_kills_its_worker_is_the_one_that_is_blamed(tmp_path: Path) -> None:
    """A death by a signal in the middle of others, whose answers may not have been sent yet."""
    paths = with_a_bad_one(tmp_path, 9, at=6)
    command = (sys.executable, "-I", str(saboteur.__file__), "crash", "0")
    async with running_pool(settings(), command=command) as pool:
        documents = [await opened(pool, path, number) for number, path in enumerate(paths, start=1)]
        *before, bad, first, second, third = await pool.extract([whole(document) for document in documents])
    assert pages_of(bad) == ([], saboteur.BAD_PAGE, [1, 2, 4, 5])
    assert [pages_of(report) for report in (*before, first, second, third)] == [([1], None, [])] * 9


@pytest.mark.one_loop("asyncio")
async def test_a_span_that_is_to_be_tried_alone_has_a_worker_of_its_own(tmp_path: Path) -> None:
    """In one call with others: nothing else is done in its worker, before or after it."""
    documents = []
    async with running_pool(settings(workers=1), clock=lambda: 0.0) as pool:
        for number in range(1, 5):
            path = pdfs.text_pdf(tmp_path / f"{number}.pdf", 1, seed=number)
            documents.append(await opened(pool, path, number))
        before = pool.views()[0].pid
        reports = await pool.extract(
            [Span(document=one, first_page=1, page_count=1, alone=one.doc_id == 3) for one in documents]
        )
        after = pool.views()[0].pid
    assert [pages_of(report) for report in reports] == [([1], None, [])] * 4
    assert before != after


@pytest.mark.one_loop("asyncio")
async def test_of_several_that_are_to_be_tried_alone_nobody_waits_for_all() -> None:
    """Each may take as long as a page may: where one took long, the others come back as they were."""
    suspects = [whole(invented(1, number), attempt=2, alone=True) for number in (1, 2, 3)]
    now_s = count(0.0, 1.5)  # each look at the clock takes long
    async with running_pool(command=impostor("answers"), clock=now_s.__next__) as pool:
        first, *others = await pool.extract(suspects)
    assert pages_of(first) == ([1], None, [])
    assert [pages_of(report) for report in others] == [([], None, [1])] * 2


@pytest.mark.skipif(sys.platform == "win32", reason="this test passes descriptors on")
def test_answers_to_requests_that_were_sent_together_come_together(tmp_path: Path) -> None:
    """The parent is woken once for all of them, and the slot tells which request is being worked on."""
    paths = [pdfs.text_pdf(tmp_path / f"{number}.pdf", 1, seed=number) for number in range(3)]
    child = Child("-c", PATIENT.replace("FOLDER", repr(str(ENGINE))))
    child.frame()  # it is ready
    requests = [ProbeRequest(number=n, location=bytes(path), open_s=60.0) for n, path in enumerate(paths, start=301)]
    child.send(b"".join([request.to_frame() for request in requests]))
    assert child.process.stdout is not None
    buffer = FrameBuffer()
    buffer.feed(child.process.stdout.read(65536))
    numbers = []
    while (frame := buffer.take(FrameCaps())) is not None:
        numbers.append(frame.header["number"])
    assert numbers == [301, 302, 303]
    status, complaints = child.end()
    assert (status, complaints) == (0, "")
