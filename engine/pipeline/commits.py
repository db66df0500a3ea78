"""The commit lane: results wait here, bounded, and go into the case file in natural groups.

The lane takes everything that waits as soon as the writer thread is free, up to a number of pages. Permits come back
only with the commit: while work is about to run out for want of them, or anybody waits for an answer, it never waits
for a group to fill. Otherwise it lets a group grow for a moment, since a commit costs as much as a hundred pages in it.

Whoever puts a fact waits while the lane is full, so that a slow disk slows the workers without any other code. A group
that could not be written is kept until somebody has it tried again, where somebody is there to do so. What a fact
becomes is the business of `engine.case`.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from engine.errors import EngineError, StorageError
from engine.models.facts import DocumentProbed, Fact, FilesFound, PagesDone, ProbeDecision, Receipt
from engine.pipeline.seams import CaseStore

DecisionHandler = Callable[[ProbeDecision], None]
"""Told, after the commit, what the case decided about a probed document."""

ReceiptHandler = Callable[[Receipt, list[Fact]], None]
"""Told, after each commit, what was committed. Synchronous, and must not raise."""

TroubleHandler = Callable[[StorageError | None], None]
"""Told that the case cannot be written, or that it can be again. Synchronous, and must not raise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneBounds:
    """How much may wait in a commit lane, and for how long; weights are in pages."""

    max_weight: int = 1024
    """Pages that may wait before `put` does."""
    group_weight: int = 400
    """Most pages of one transaction."""
    enough_weight: int = 192
    """Pages beyond which a larger group saves little, and keeps permits from those who wait for them."""
    grow_s: float = 0.5
    """Longest time that a group is let grow while nobody waits for it."""


def weight_of(fact: Fact) -> int:
    """Return how much a fact counts against the lane's bounds, in pages."""
    match fact:
        case PagesDone(results=results):
            return max(1, len(results))
        case FilesFound(files=files):
            return max(1, len(files) // 4)
        case _:
            return 1


@dataclass(slots=True)
class _Entry:
    fact: Fact
    weight: int
    decided: DecisionHandler | None = None
    committed: asyncio.Future[Receipt] | None = None


class CommitLane:
    """Takes facts from many tasks and commits them in order, on the case's writer thread.

    All state (`_waiting`, `_weight`, `_committing`, `_closed`, `_failure`) is changed only in synchronous methods,
    between two awaits of `run`.

    Args:
        store: The case file.
        writer: The one thread that may write to it.
        on_receipt: Told after every commit.
        on_trouble: Told that the case could not be written, or (None) that it can be again. Everything is kept and
            waits for `try_again` or `give_up`. Without it, the lane fails at once.
        is_wanted: Whether what waits here is waited for: then a group is not let grow.
        bounds: How much may wait, and for how long; None for the usual.
    """

    def __init__(
        self,
        store: CaseStore,
        writer: Executor,
        *,
        on_receipt: ReceiptHandler,
        on_trouble: TroubleHandler | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
        bounds: LaneBounds | None = None,
    ) -> None:
        self._store = store
        self._writer = writer
        self._on_receipt = on_receipt
        self._on_trouble = on_trouble
        self._is_wanted = is_wanted
        self._bounds = bounds or LaneBounds()
        self._waiting: deque[_Entry] = deque()
        self._weight = 0
        self._committing = 0
        self._closed = False
        self.ended = False
        """Whether `run` has ended, so that nothing is taken any more."""
        self._failure: EngineError | None = None
        self._trouble: StorageError | None = None
        self._given_up = False
        self._answered = asyncio.Event()
        self._awaited = 0
        self._due = asyncio.Event()
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def __repr__(self) -> str:
        return f"<CommitLane waiting={len(self._waiting)} weight={self._weight} committing={self._committing}>"

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is being committed."""
        return not self._waiting and not self._committing

    @property
    def failed(self) -> bool:
        """Whether the case can no longer be written."""
        return self._failure is not None

    def try_again(self) -> None:
        """Write again what could not be written; nothing where there is no trouble.

        Where that is being tried already, it is tried once more should it fail: perhaps there is room only now.
        """
        if self._trouble is not None:
            self._answered.set()

    def give_up(self) -> None:
        """Fail where, or as soon as, the case cannot be written, instead of waiting for somebody."""
        self._given_up = True
        self._answered.set()

    async def put(self, fact: Fact, *, decided: DecisionHandler | None = None) -> None:
        """Hand over a fact; wait while the lane is full.

        Args:
            fact: What happened.
            decided: Told the decision, where the fact is a `DocumentProbed`.

        Raises:
            StorageError: When the case can no longer be written.
        """
        while self._weight >= self._bounds.max_weight and self._failure is None:
            self._room.clear()
            await self._room.wait()
        self._append(_Entry(fact, weight_of(fact), decided))

    def note(self, fact: Fact) -> None:
        """Hand over a fact without waiting; for the few that state changes of the run itself.

        Raises:
            StorageError: When the case can no longer be written.
        """
        self._append(_Entry(fact, weight_of(fact)))

    async def commit(self, fact: Fact) -> Receipt:
        """Hand over a fact and wait until it is on disk.

        Raises:
            StorageError: When it could not be written.
        """
        entry = _Entry(fact, weight_of(fact), committed=asyncio.get_running_loop().create_future())
        self._awaited += 1
        self._append(entry)
        assert entry.committed is not None  # noqa: S101  # set in the line above
        return await entry.committed

    def close(self) -> None:
        """Let `run` end once everything that waits is committed."""
        self._closed = True
        self._arrived.set()
        self._due.set()

    async def run(self) -> None:
        """Commit until the lane is closed and drained.

        When it is cancelled, the commit that is under way is still waited for and its receipt delivered.

        Raises:
            StorageError: When the case could not be written; everything that waited was not acknowledged.
        """
        try:
            while True:
                while not self._waiting:
                    if self._closed:
                        return
                    self._arrived.clear()
                    await self._arrived.wait()
                if not self._is_due:
                    await self._grow()
                await self._commit_group(self._take_group())
        finally:
            self.ended = True

    @property
    def _is_due(self) -> bool:
        """Whether what waits is to be committed now."""
        return self._closed or self._awaited > 0 or self._weight >= self._bounds.enough_weight or self._is_wanted()

    async def _grow(self) -> None:
        """Let a group grow until it is due, for a moment at most."""
        self._due.clear()
        timer = asyncio.get_running_loop().call_later(self._bounds.grow_s, self._due.set)
        try:
            await self._due.wait()
        finally:
            timer.cancel()

    async def _commit_group(self, group: list[_Entry]) -> None:
        facts = [entry.fact for entry in group]
        write = partial(self._store.commit, facts)
        while True:
            commit, cancelled = await self._on_writer(write)
            failure = commit.exception()
            if failure is None:
                self._deliver(group, facts, commit.result())
                break
            if cancelled is None and isinstance(failure, StorageError) and await self._wait_for_somebody(failure):
                write = partial(self._write_again, facts)
                continue
            self._fail(group, failure)
            raise failure
        if cancelled is not None:
            raise cancelled

    async def _on_writer(
        self, write: Callable[[], Receipt]
    ) -> tuple[asyncio.Future[Receipt], asyncio.CancelledError | None]:
        """Return the ended call, and the cancellation that came meanwhile."""
        commit = asyncio.ensure_future(asyncio.get_running_loop().run_in_executor(self._writer, write))
        cancelled: asyncio.CancelledError | None = None
        while not commit.done():
            try:
                # The writer thread cannot be interrupted, and what it commits has happened: never look away.
                await asyncio.wait([commit])
            except asyncio.CancelledError as error:
                cancelled = error
        return commit, cancelled

    def _write_again(self, facts: list[Fact]) -> Receipt:
        """Commit on the case as it is found on disk; blocking."""
        return self._store.reopen() or self._store.commit(facts)

    async def _wait_for_somebody(self, trouble: StorageError) -> bool:
        """Return whether to try again what could not be written, once that was decided."""
        if self._on_trouble is None or self._given_up:
            return False
        self._trouble = trouble
        self._on_trouble(trouble)
        await self._answered.wait()
        self._answered.clear()
        return not self._given_up

    def _append(self, entry: _Entry) -> None:
        if self._failure is not None:
            raise StorageError(self._failure.user_message) from self._failure
        if self.ended:
            raise RuntimeError("the commit lane has ended and takes nothing more")
        self._waiting.append(entry)
        self._weight += entry.weight
        self._arrived.set()
        if self._is_due:
            self._due.set()

    def _take_group(self) -> list[_Entry]:
        group: list[_Entry] = []
        weight = 0
        while self._waiting and (not group or weight + self._waiting[0].weight <= self._bounds.group_weight):
            entry = self._waiting.popleft()
            weight += entry.weight
            self._awaited -= entry.committed is not None
            group.append(entry)
        self._committing = len(group)
        return group

    def _deliver(self, group: list[_Entry], facts: list[Fact], receipt: Receipt) -> None:
        self._weight -= sum(entry.weight for entry in group)
        self._committing = 0
        if self._weight < self._bounds.max_weight:
            self._room.set()
        if self._trouble is not None and self._on_trouble is not None:
            self._trouble = None
            self._answered.clear()
            self._on_trouble(None)
        decisions = iter(receipt.decisions)
        for entry in group:
            if isinstance(entry.fact, DocumentProbed):
                decision = next(decisions)
                if entry.decided is not None:
                    entry.decided(decision)
            if entry.committed is not None and not entry.committed.done():
                entry.committed.set_result(receipt)
        self._on_receipt(receipt, facts)

    def _fail(self, group: list[_Entry], error: BaseException) -> None:
        self._committing = 0
        self._failure = error if isinstance(error, EngineError) else StorageError(_UNKNOWN)
        for entry in [*group, *self._waiting]:
            if entry.committed is not None and not entry.committed.done():
                entry.committed.set_exception(StorageError(self._failure.user_message))
                entry.committed.exception()  # it may have nobody waiting any more
        self._waiting.clear()
        self._room.set()


_UNKNOWN = (
    "The case could not be written because of a fault in the program. Everything acknowledged before it is kept; "
    "the run stopped and can be resumed."
)
