"""The roster: who gets the next worker."""

import asyncio
import os
import sys
from typing import Any

import pytest

from engine.errors import WorkerStartError
from engine.models.document import Failure
from engine.models.outcome import Reason
from engine.settings import Clocks, Settings
from engine.work.errand import Errand
from engine.work.jobs import SpanJob
from engine.work.keeper import Keeper, Staffing
from engine.work.memory import MemorySampler
from engine.work.roster import Caller, Roster, Worker
from engine.work.slot import Phase, Slot
from engine.work.watch import DocumentTimes, Watch
from tests.work.kit import invented, whole


class Nobody:
    """An owner of keepers that are never started."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def worker_of(number: int) -> Worker:
    """Return a worker that has no process."""
    staffing = Staffing(command=(), parent_pid=os.getpid(), owner=Nobody(), sampler=MemorySampler(), post=print)
    keeper = Keeper(staffing, name="idle", address_space_bytes=1)
    return Worker(number=number, keeper=keeper, address_space_bytes=1, watch=Watch(0.0))


def roster_of(*numbers: int) -> Roster:
    """Return a roster with idle workers, none of which has a process."""
    roster = Roster()
    for number in numbers:
        worker = worker_of(number)
        worker.keeper.slot.close()
        roster.workers[number] = worker
        roster.put_idle(worker)
    return roster


def waiting(roster: Roster, doc_id: int = 0, *, fresh: bool = False) -> Caller:
    """Let somebody wait."""
    caller = Caller(future=asyncio.get_running_loop().create_future(), doc_id=doc_id, fresh=fresh)
    roster.wait(caller)
    return caller


def used(roster: Roster) -> None:
    """Have every worker worked before."""
    for worker in roster.workers.values():
        worker.errands = 1


async def test_callers_are_served_in_the_order_in_which_they_came() -> None:
    """The third caller waits until the first two have been served."""
    roster = roster_of(1, 2)
    first, second, third = (waiting(roster) for _ in range(3))
    roster.serve(coming=0)
    assert (first.future.done(), second.future.done(), third.future.done()) == (True, True, False)
    roster.put_idle(first.future.result())
    roster.serve(coming=0)
    assert third.future.result() is first.future.result()


async def test_nobody_overtakes_those_who_wait() -> None:
    """A worker that is idle while others wait is not given away at once."""
    roster = roster_of(1)
    caller = waiting(roster)
    assert roster.take_idle(0) is None
    roster.serve(coming=0)
    assert caller.future.done()


async def test_a_document_goes_to_the_worker_that_has_it_open() -> None:
    """Among idle workers the one that knows the document is taken, else the one that was used last."""
    roster = roster_of(1, 2, 3)
    roster.workers[2].kept_open.use(77, goes_on=False)
    assert roster.take_idle(77) is roster.workers[2]
    assert roster.take_idle(5) is roster.workers[3]


async def test_a_fresh_worker_goes_to_the_caller_who_needs_one() -> None:
    """Where only one worker is fresh, the caller who needs it gets it, though another came first."""
    roster = roster_of(1)
    waiting(roster)
    suspect = waiting(roster, fresh=True)
    roster.serve(coming=0)
    assert suspect.future.result() is roster.workers[1]


async def test_a_used_worker_is_sent_away_for_a_caller_who_needs_a_fresh_one() -> None:
    """Without a fresh worker, or one on its way, a used one has to go; others behind are served all the same."""
    roster = roster_of(1, 2)
    used(roster)
    suspect = waiting(roster, fresh=True)
    other = waiting(roster)
    assert roster.serve(coming=0) == (roster.workers[1],)
    assert not suspect.future.done()
    assert other.future.result() is roster.workers[2]


async def test_no_worker_is_sent_away_while_a_fresh_one_is_on_its_way() -> None:
    """One fresh worker that is coming is enough for one caller."""
    roster = roster_of(1)
    used(roster)
    waiting(roster, fresh=True)
    other = waiting(roster)
    assert roster.serve(coming=1) == ()
    assert other.future.done()


async def test_a_caller_who_needs_a_fresh_worker_is_not_passed_over_for_ever() -> None:
    """A used worker that comes back is kept from those behind the caller who needs a fresh one."""
    roster = roster_of(1)
    used(roster)
    waiting(roster, fresh=True)
    behind = waiting(roster)
    assert roster.serve(coming=0) == (roster.workers[1],)
    assert not behind.future.done()


async def test_a_caller_who_left_is_not_served() -> None:
    """A cancelled caller takes no worker with him."""
    roster = roster_of(1)
    gone, here = waiting(roster), waiting(roster)
    gone.future.cancel()
    roster.serve(coming=0)
    assert here.future.done()


async def test_everybody_is_told_when_there_will_be_no_worker() -> None:
    """Each waiting caller gets an error of his own, with the sentence."""
    roster = roster_of()
    callers = [waiting(roster), waiting(roster, fresh=True)]
    roster.refuse_all("No workers.")
    for caller in callers:
        with pytest.raises(WorkerStartError, match=r"No workers\."):
            caller.future.result()
    assert not roster.waiting


@pytest.mark.skipif(sys.platform == "win32", reason="the slot is a named section there")
async def test_a_document_is_charged_with_no_time_that_those_before_it_took() -> None:
    """Of several in one errand, each but the first must be found at work twice before its clock runs."""
    worker = worker_of(1)
    slot = Slot.inherited(f"fd:{os.dup(worker.keeper.slot.inherited_fds[0])}")
    settings, times = Settings(clocks=Clocks(document_s=0.3)), DocumentTimes()
    jobs = [SpanJob.of(whole(invented(1, number)), number, settings) for number in (1, 2, 3)]
    worker.begin(Errand(jobs, asyncio.get_running_loop().create_future(), most_bytes=10_000), 0.0, alone=False)
    slot.step(Phase.PAGE, 1, request=1)
    assert worker.overrun(0.25, settings, times) is None
    slot.step(Phase.PAGE, 1, request=2)
    assert worker.overrun(0.65, settings, times) is None
    slot.step(Phase.PAGE, 1, request=3)
    assert worker.overrun(1.05, settings, times) is None
    assert [times.spent_s(number) for number in (1, 2, 3)] == [0.25, 0.0, 0.0]
    assert worker.overrun(1.45, settings, times) == Failure(reason=Reason.TIME_LIMIT)
    worker.keeper.slot.close()
