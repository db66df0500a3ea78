"""The commit lane: natural groups, bounds, receipts after the commit, and what a failing disk does."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from engine.errors import StorageError
from engine.models.document import PageResult, Probe
from engine.models.facts import DocumentProbed, Fact, Noted, PagesDone, ProbeDecision, Receipt
from engine.models.outcome import Method, Outcome
from engine.models.run import Counts
from engine.pipeline.commits import CommitLane, LaneBounds, TroubleHandler


class ScriptedStore:
    """A case that commits when it is allowed to, and fails when told."""

    def __init__(self) -> None:
        self.allowed = threading.Semaphore(1_000_000)
        self.fail_after: int | None = None
        self.reopened = 0
        self.found_on_disk = False
        """Whether the commit that failed turns out to be on disk."""
        self.groups: list[list[Fact]] = []
        self._begun = threading.Semaphore(0)
        self._held = False
        self._at_reopening = threading.Event()
        self._may_reopen = threading.Event()

    async def begun(self, commits: int) -> None:
        """Wait until that many commits have begun."""
        for _ in range(commits):
            assert await asyncio.get_running_loop().run_in_executor(None, self._begun.acquire, True, 30)

    def hold(self) -> None:
        """Let no further commit happen until `allowed` is released."""
        self.allowed = threading.Semaphore(0)

    def commit(self, facts: Sequence[Fact]) -> Receipt:
        """Record a group."""
        self._begun.release()
        assert self.allowed.acquire(timeout=30)
        if self.fail_after is not None and len(self.groups) >= self.fail_after:
            raise StorageError("The disk is full.")
        self.groups.append(list(facts))
        decisions = tuple(
            ProbeDecision(doc_id=fact.doc_id, process=True) for fact in facts if isinstance(fact, DocumentProbed)
        )
        return Receipt(counts=Counts(audit_records=sum(map(len, self.groups))), decisions=decisions)

    def hold_reopening(self) -> None:
        """Let the next reopening wait, and then fail."""
        self._held = True

    async def reopening(self) -> None:
        """Wait until it does."""
        assert await asyncio.get_running_loop().run_in_executor(None, self._at_reopening.wait, 30)

    def let_reopening_fail(self) -> None:
        """Let it go on."""
        self._may_reopen.set()

    def reopen(self) -> Receipt | None:
        """Fail as long as commits do."""
        self.reopened += 1
        held, self._held = self._held, False
        if held:
            self._at_reopening.set()
            assert self._may_reopen.wait(30)
        if held or self.fail_after is not None:
            raise StorageError("The disk is still full.")
        return Receipt(counts=Counts(audit_records=99)) if self.found_on_disk else None

    def pending_documents(self, after: int, limit: int) -> Sequence[object]:  # noqa: ARG002  # the seam's signature
        """There are none."""
        return ()

    open_documents = pending_pages = strikes = pending_documents


@pytest.fixture
def writer() -> Iterator[ThreadPoolExecutor]:
    """The one writer thread."""
    with ThreadPoolExecutor(1, "test-writer") as executor:
        yield executor


def pages(doc_id: int, count: int) -> PagesDone:
    """Return a fact about that many pages."""
    result = PageResult(page=1, outcome=Outcome.EXTRACTED, method=Method.TEXT)
    return PagesDone(doc_id=doc_id, results=(result,) * count)


def lane(
    store: ScriptedStore,
    writer: ThreadPoolExecutor,
    receipts: list[Receipt],
    on_trouble: TroubleHandler | None = None,
    **more: Any,
) -> CommitLane:
    """Return a lane over a scripted case."""

    def on_receipt(receipt: Receipt, _facts: list[Fact]) -> None:
        receipts.append(receipt)

    return CommitLane(store, writer, on_receipt=on_receipt, on_trouble=on_trouble, **more)  # type: ignore[arg-type]  # the scripted case has no documents


async def test_what_waits_is_committed_as_one_group(writer: ThreadPoolExecutor) -> None:
    """While a commit runs, everything that arrives becomes the next group."""
    store, receipts = ScriptedStore(), []  # type: ignore[var-annotated]
    store.hold()
    commits = lane(store, writer, receipts)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(commits.run())
        await commits.put(pages(1, 2))
        await store.begun(1)
        for doc_id in (2, 3, 4):
            await commits.put(pages(doc_id, 2))
        commits.close()
        store.allowed.release(10)
    assert [len(group) for group in store.groups] == [1, 3]
    assert len(receipts) == 2
    assert commits.idle


async def test_a_group_is_bounded_by_weight(writer: ThreadPoolExecutor) -> None:
    """A transaction takes no more pages than its bound, and always at least one fact."""
    store, receipts = ScriptedStore(), []  # type: ignore[var-annotated]
    commits = lane(store, writer, receipts, bounds=LaneBounds(group_weight=10))
    for doc_id in range(6):
        await commits.put(pages(doc_id, 4))
    await commits.put(pages(9, 100))
    commits.close()
    await commits.run()
    assert [len(group) for group in store.groups] == [2, 2, 2, 1]


async def test_put_waits_while_the_lane_is_full(writer: ThreadPoolExecutor) -> None:
    """A slow disk slows whoever has results."""
    store, receipts = ScriptedStore(), []  # type: ignore[var-annotated]
    store.hold()
    commits = lane(store, writer, receipts, bounds=LaneBounds(max_weight=4))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(commits.run())
        await commits.put(pages(1, 4))
        waiting = tasks.create_task(commits.put(pages(2, 4)))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        store.allowed.release(10)
        await waiting
        commits.close()
    assert len(store.groups) == 2


@pytest.mark.parametrize("end", ["enough", "awaited", "wanted", "closed", "time"])
async def test_a_group_grows_while_nobody_waits_for_it(writer: ThreadPoolExecutor, end: str) -> None:
    """It is committed once it is large, once somebody waits for it or for permits, at the end, and in any case soon."""
    store, receipts, wanted = ScriptedStore(), [], [False]  # type: ignore[var-annotated]
    commits = lane(
        store,
        writer,
        receipts,
        is_wanted=lambda: wanted[0],
        bounds=LaneBounds(enough_weight=96, grow_s=0.01 if end == "time" else 3600.0),
    )
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(commits.run())
        for _ in range(3):
            await commits.put(pages(1, 2))
            await asyncio.sleep(0)
        assert not store.groups
        match end:
            case "enough":
                await commits.put(pages(1, 96))
            case "awaited":
                await commits.commit(Noted(event="X"))
            case "wanted":
                wanted[0] = True
                await commits.put(pages(1, 1))
            case "closed":
                commits.close()
        while not receipts:
            await asyncio.sleep(0.001)
        assert [len(group) for group in store.groups] == [3 if end in {"closed", "time"} else 4]
        commits.close()
        await running


async def test_decisions_reach_the_document_that_they_are_about(writer: ThreadPoolExecutor) -> None:
    """Each probed document is told its own decision, after the commit."""
    store, receipts = ScriptedStore(), []  # type: ignore[var-annotated]
    commits = lane(store, writer, receipts)
    probe = Probe(sha256="0" * 64, page_count=1, size_bytes=1, mtime_ns=1, repaired=False)
    decided: list[int] = []
    for doc_id in (5, 6, 7):
        await commits.put(
            DocumentProbed(doc_id=doc_id, probe=probe), decided=lambda decision: decided.append(decision.doc_id)
        )
    assert decided == []
    commits.close()
    await commits.run()
    assert decided == [5, 6, 7]


async def test_a_failed_commit_ends_the_lane_and_wakes_everybody(writer: ThreadPoolExecutor) -> None:
    """Nobody waits for ever on a disk that is full, and nothing is acknowledged."""
    store, receipts = ScriptedStore(), []  # type: ignore[var-annotated]
    store.fail_after = 0
    commits = lane(store, writer, receipts)
    waiting = asyncio.ensure_future(commits.commit(Noted(event="X")))
    with pytest.raises(StorageError, match="disk is full"):
        await commits.run()
    with pytest.raises(StorageError, match="disk is full"):
        await waiting
    with pytest.raises(StorageError, match="disk is full"):
        await commits.put(pages(1, 1))
    assert receipts == []
    assert commits.failed


@pytest.mark.parametrize("found_on_disk", [False, True])
async def test_an_attended_lane_keeps_what_it_could_not_write_until_it_is_tried_again(
    writer: ThreadPoolExecutor, *, found_on_disk: bool
) -> None:
    """Nothing is acknowledged before, nothing is lost after, and what was on disk after all is not written twice."""
    store, receipts, troubles = ScriptedStore(), [], []  # type: ignore[var-annotated]
    store.fail_after, store.found_on_disk = 0, found_on_disk
    told = asyncio.Event()

    def on_trouble(trouble: StorageError | None) -> None:
        troubles.append(None if trouble is None else trouble.user_message)
        told.set()

    commits = lane(store, writer, receipts, on_trouble)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(commits.run())
        await commits.put(pages(1, 1))
        await told.wait()
        told.clear()
        commits.try_again()
        await told.wait()
        assert troubles == ["The disk is full.", "The disk is still full."]
        assert not receipts
        store.fail_after = None
        commits.try_again()
        await commits.commit(Noted(event="X"))
        commits.close()
    assert troubles[2:] == [None]
    assert store.reopened == 2
    assert [len(group) for group in store.groups] == ([1] if found_on_disk else [1, 1])
    assert receipts[0].counts.audit_records == (99 if found_on_disk else 1)
    assert len(receipts) == 2


async def test_asking_while_it_is_being_tried_is_not_lost(writer: ThreadPoolExecutor) -> None:
    """Room is made and Resume pressed while a try is just failing: it is tried once more, without another press."""
    store, receipts, told = ScriptedStore(), [], asyncio.Event()  # type: ignore[var-annotated]
    store.fail_after = 0
    commits = lane(store, writer, receipts, lambda _trouble: told.set())
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(commits.run())
        await commits.put(pages(1, 1))
        await told.wait()
        store.hold_reopening()
        commits.try_again()
        await store.reopening()
        commits.try_again()
        store.fail_after = None  # too late for the try under way, which has failed already
        store.let_reopening_fail()
        while not receipts:
            await asyncio.sleep(0.001)
        commits.close()
    assert store.reopened == 2


@pytest.mark.parametrize("first", ["trouble", "surrender"])
async def test_an_attended_lane_that_is_given_up_fails(writer: ThreadPoolExecutor, first: str) -> None:
    """Whoever stops a run need not wait for a disk: before or after it is found full."""
    store, receipts, told = ScriptedStore(), [], asyncio.Event()  # type: ignore[var-annotated]
    store.fail_after = 0
    commits = lane(store, writer, receipts, lambda _trouble: told.set())
    running = asyncio.ensure_future(commits.run())
    if first == "surrender":
        commits.give_up()
    await commits.put(pages(1, 1))
    if first == "trouble":
        await told.wait()
        commits.give_up()
    with pytest.raises(StorageError, match="disk is full"):
        await running
    assert commits.failed
    assert not receipts


async def test_a_cancelled_lane_still_delivers_the_commit_under_way(writer: ThreadPoolExecutor) -> None:
    """What the writer thread has begun to commit is acknowledged, whatever happens to the task."""
    store, receipts = ScriptedStore(), []  # type: ignore[var-annotated]
    store.hold()
    commits = lane(store, writer, receipts)
    running = asyncio.ensure_future(commits.run())
    await commits.put(pages(1, 1))
    await store.begun(1)
    running.cancel()
    await asyncio.sleep(0)
    assert not running.done()
    store.allowed.release(1)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(receipts) == 1
    assert commits.idle
