"""The watermark gate: hysteresis, causes, waiting, telling."""

import asyncio
import logging

import pytest

from engine.flow.gate import WatermarkGate
from engine.models.flow import GateChange, Hold
from engine.models.outcome import HoldCause
from tests.support.clock import ManualClock
from tests.support.flow import at_once, cancelled, settle

STANDING = frozenset(HoldCause) - {HoldCause.WATERMARK}


def gate_of(hi: int = 6, lo: int = 2) -> tuple[WatermarkGate, ManualClock, list[tuple[str, bool, int]]]:
    """Return a gate, its clock, and the list in which its changes appear as (cause, held, depth)."""
    clock = ManualClock()
    gate = WatermarkGate(hi=hi, lo=lo, clock=clock)
    seen: list[tuple[str, bool, int]] = []
    gate.on_change.append(lambda change: seen.append((change.cause.value, change.held, change.queue_depth)))
    return gate, clock, seen


def test_the_watermark_begins_at_hi_and_ends_at_lo() -> None:
    """In between, the gate stays as it was: that is the hysteresis."""
    gate, _clock, seen = gate_of()
    admits = []
    for depth in (5, 6, 7, 6, 5, 3, 2, 3, 5, 6, 0):
        gate.observe(depth)
        admits.append(gate.should_admit())
    assert admits == [True, False, False, False, False, False, True, True, True, False, True]
    assert seen == [("watermark", True, 6), ("watermark", False, 2), ("watermark", True, 6), ("watermark", False, 0)]


@pytest.mark.parametrize(("hi", "lo"), [(2, 2), (2, 3), (2, -1)])
def test_marks_that_cannot_work_are_refused(hi: int, lo: int) -> None:
    """The low mark must be below the high one, at the start and later."""
    with pytest.raises(ValueError, match="must be 0 <= lo < hi"):
        gate_of(hi, lo)
    gate, _clock, _seen = gate_of()
    with pytest.raises(ValueError, match="must be 0 <= lo < hi"):
        gate.set_marks(hi=hi, lo=lo)
    assert (gate.hi, gate.lo) == (6, 2)


def test_new_marks_apply_to_the_present_depth_at_once() -> None:
    """Live: lowering `hi` below the depth holds, raising `lo` above it lets go."""
    gate, _clock, seen = gate_of()
    gate.observe(5)
    gate.set_marks(hi=4, lo=1)
    assert not gate.should_admit()
    gate.set_marks(hi=9, lo=1)
    assert not gate.should_admit(), "between the marks nothing changes"
    gate.set_marks(hi=9, lo=5)
    assert gate.should_admit()
    assert seen == [("watermark", True, 5), ("watermark", False, 5)]


def test_holding_twice_is_holding_once() -> None:
    """A second hold or release changes nothing and is told to nobody."""
    gate, _clock, seen = gate_of()
    gate.release(HoldCause.USER)
    gate.hold(HoldCause.USER)
    gate.hold(HoldCause.USER)
    gate.release(HoldCause.USER)
    gate.release(HoldCause.USER)
    assert seen == [("user", True, 0), ("user", False, 0)]


def test_the_gate_opens_when_the_last_cause_ends() -> None:
    """One object for every cause: all of them must be gone."""
    gate, clock, _seen = gate_of()
    gate.hold(HoldCause.MEMORY)
    clock.advance(3)
    gate.observe(6)
    clock.advance(3)
    gate.hold(HoldCause.USER)
    assert gate.holds == (
        Hold(cause=HoldCause.MEMORY, since_s=5000.0),
        Hold(cause=HoldCause.WATERMARK, since_s=5003.0),
        Hold(cause=HoldCause.USER, since_s=5006.0),
    )
    assert repr(gate) == "<WatermarkGate held by memory, watermark, user, depth 6, marks 2 to 6>"
    gate.release(HoldCause.MEMORY)
    gate.observe(0)
    assert not gate.should_admit()
    assert gate.is_held_by(HoldCause.USER)
    gate.release(HoldCause.USER)
    assert gate.should_admit()
    assert not gate.holds


def test_nobody_sets_the_watermark_by_hand() -> None:
    """It follows the depth alone; set by hand, nothing might ever lift it."""
    gate, _clock, _seen = gate_of()
    for change in (gate.hold, gate.release):
        with pytest.raises(ValueError, match="watermark"):
            change(HoldCause.WATERMARK)


def test_a_failing_listener_does_not_break_the_gate(caplog: pytest.LogCaptureFixture) -> None:
    """The gate holds, the other listeners are told, and the failure is logged."""
    gate, _clock, seen = gate_of()

    def fail(_change: GateChange) -> None:
        raise RuntimeError("listener")

    gate.on_change.insert(0, fail)
    with caplog.at_level(logging.ERROR):
        gate.hold(HoldCause.USER)
        gate.release(HoldCause.USER)
    assert seen == [("user", True, 0), ("user", False, 0)]
    assert len(caplog.records) == 2


def test_a_listener_that_changes_the_gate_does_not_disturb_the_order() -> None:
    """Every listener is told of the changes in the order in which they happened."""
    gate, _clock, seen = gate_of()

    def add_memory(change: GateChange) -> None:
        if change.cause is HoldCause.USER and change.held:
            gate.hold(HoldCause.MEMORY)

    gate.on_change.insert(0, add_memory)
    gate.hold(HoldCause.USER)
    assert seen == [("user", True, 0), ("memory", True, 0)]


async def test_an_open_gate_lets_pass_at_once_and_a_held_one_when_it_opens() -> None:
    """Waiters go on when the last cause ends, and not before."""
    gate, _clock, _seen = gate_of()
    at_once(gate.wait_open())
    gate.hold(HoldCause.USER)
    gate.hold(HoldCause.DISK)
    waiting = [asyncio.ensure_future(gate.wait_open()) for _ in range(3)]
    await settle()
    gate.release(HoldCause.USER)
    await settle()
    assert not any(task.done() for task in waiting)
    gate.release(HoldCause.DISK)
    await asyncio.gather(*waiting)


async def test_a_woken_waiter_looks_again() -> None:
    """A gate that opened and was held again before the waiter's turn does not let it pass."""
    gate, _clock, _seen = gate_of()
    gate.hold(HoldCause.USER)
    waiting = asyncio.ensure_future(gate.wait_open())
    await settle()
    gate.release(HoldCause.USER)
    gate.hold(HoldCause.MEMORY)
    await settle()
    assert not waiting.done()
    gate.release(HoldCause.MEMORY)
    await waiting


async def test_work_that_the_watermark_does_not_concern_goes_on() -> None:
    """`wait_clear` waits for the causes that it names, and for no other."""
    gate, _clock, _seen = gate_of()
    gate.observe(6)
    at_once(gate.wait_clear(STANDING))
    gate.hold(HoldCause.USER)
    waiting = asyncio.ensure_future(gate.wait_clear(STANDING))
    await settle()
    assert not waiting.done()
    gate.release(HoldCause.USER)
    await waiting
    assert not gate.should_admit()


async def test_a_cancelled_wait_takes_no_one_with_it() -> None:
    """One waiter that is cancelled, even in the step in which the gate opens, leaves the others waiting or passing."""
    gate, _clock, _seen = gate_of()
    gate.hold(HoldCause.USER)
    first, second, third = (asyncio.ensure_future(gate.wait_open()) for _ in range(3))
    await settle()
    await cancelled(first)
    assert not second.done()
    gate.release(HoldCause.USER)
    await cancelled(second)
    await third


async def test_a_wait_can_be_given_up_by_its_owner() -> None:
    """`unless` ends a wait at a held gate when the gate is nudged."""
    gate, _clock, _seen = gate_of()
    gate.hold(HoldCause.USER)
    over = False
    waiting = asyncio.ensure_future(gate.wait_open(unless=lambda: over))
    await settle()
    gate.nudge()
    await settle()
    assert not waiting.done()
    over = True
    gate.nudge()
    await waiting
    assert not gate.should_admit()
