"""The clocks' time: only time in which a worker could work counts."""

import pytest

from engine.settings import Clocks
from engine.work.slot import Mark, Phase
from engine.work.watch import LONGEST_STEP_S, DocumentTimes, Watch, overdue

PAGE = Mark(1, Phase.PAGE, 5)
CLOCKS = Clocks(start_s=20, open_s=60, page_s=30, document_s=3600)


def test_time_adds_up_while_nothing_changes() -> None:
    """Regular ticks count in full."""
    watch = Watch(100.0, PAGE)
    for tick in range(1, 121):
        watch.advance(100.0 + tick / 4, PAGE)
    assert watch.total_s == pytest.approx(30)
    assert watch.still_s == pytest.approx(30)


def test_a_change_in_the_slot_starts_the_page_clock_anew() -> None:
    """A new page begins with no time, while the time in all goes on."""
    watch = Watch(0.0, PAGE)
    for tick in range(1, 101):
        watch.advance(tick / 4, PAGE)
    watch.advance(25.25, Mark(2, Phase.PAGE, 6))
    assert watch.still_s == 0
    assert watch.total_s == pytest.approx(25.25)


def test_a_suspended_machine_costs_a_worker_one_step() -> None:
    """An hour between two ticks (suspend, everything stopped, a blocked event loop) counts as one step."""
    watch = Watch(0.0, PAGE)
    watch.advance(0.25, PAGE)
    watch.advance(3600.0, PAGE)
    assert watch.still_s == pytest.approx(0.25 + LONGEST_STEP_S)
    assert not overdue(watch, PAGE, CLOCKS, watch.total_s)


def test_many_short_sleeps_cost_little() -> None:
    """A page that needs 18 of its 30 seconds outlives a machine that goes to sleep every second of it."""
    watch, now_s = Watch(0.0, PAGE), 0.0
    for _ in range(18):
        for step_s in (0.25, 0.25, 0.25, 0.25, 12.0):
            now_s += step_s
            watch.advance(now_s, PAGE)
    assert watch.still_s == pytest.approx(18 + 18 * LONGEST_STEP_S)
    assert not overdue(watch, PAGE, CLOCKS, watch.total_s)


def test_ticks_that_come_late_count_in_full() -> None:
    """Where the watchdog manages only every second tick, a worker that hangs is caught on time."""
    watch = Watch(0.0, PAGE)
    for tick in range(1, 62):
        watch.advance(tick / 2, PAGE)
    assert overdue(watch, PAGE, CLOCKS, watch.total_s)


def test_a_clock_that_goes_back_counts_nothing() -> None:
    """Time never shrinks."""
    watch = Watch(10.0, PAGE)
    assert watch.advance(5.0, PAGE) == 0
    assert watch.total_s == 0


def test_each_phase_has_its_own_clock() -> None:
    """A page may take 30 s, opening 60 s, and an unknown phase is treated like opening."""
    watch = Watch(0.0, PAGE)
    watch.still_s = 31
    assert overdue(watch, PAGE, CLOCKS, 31)
    assert not overdue(watch, Mark(1, Phase.OPENING, 0), CLOCKS, 31)
    assert not overdue(watch, Mark(1, 200, 0), CLOCKS, 31)
    watch.still_s = 61
    assert overdue(watch, Mark(1, 200, 0), CLOCKS, 61)


def test_a_worker_that_always_shows_something_new_runs_into_the_documents_clock() -> None:
    """However the slot changes, the document's time is what is counted here, not what the worker says."""
    watch = Watch(0.0, PAGE)
    assert overdue(watch, PAGE, CLOCKS, 3600.5)


def test_the_times_of_documents_are_bounded_and_the_oldest_fall_out() -> None:
    """A hundred thousand documents take no more room than the last few; a document in use stays."""
    times = DocumentTimes(most=3)
    for doc_id in range(100_000):
        times.add(0, 1.0)
        times.add(doc_id, 1.0)
    assert len(times._spent_s) == 3
    assert times.spent_s(0) == 100_001
    assert times.spent_s(5) == 0
