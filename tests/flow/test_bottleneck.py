"""The sentence about the bottleneck: each case, and how long it has been so."""

from dataclasses import replace

import pytest

from engine.flow.bottleneck import Bottleneck, Verdict, Words, explain, judge
from engine.models.flow import Hold, StageStatistics
from engine.models.outcome import HoldCause
from tests.support.clock import ManualClock

PAGES = Words(items="pages", taker="the disk")

QUIET = StageStatistics(
    queue_depth=100,
    max_queue=256,
    hi=192,
    lo=64,
    permits_held=150,
    permits=300,
    tokens=None,
    workers=4,
    workers_busy=4,
    holds=(),
    producer_blocked_s=0.0,
    blocked_on=None,
    blocked_for_s=0.0,
    consumer_latency_ms=20.0,
    admitted=1000,
    completed=850,
    max_queue_depth=200,
    max_permits_held=280,
)
"""A stage that is busy and held up by nothing."""

FULL = replace(QUIET, queue_depth=256, permits_held=300, blocked_on="permit")
STARVED = replace(QUIET, queue_depth=0, workers_busy=1, permits_held=16)
DONE = replace(QUIET, queue_depth=0, workers_busy=0, permits_held=0, completed=1000)


def held(statistics: StageStatistics, *causes: HoldCause, since_s: float = 5000.0) -> StageStatistics:
    """Return the figures with standing holds."""
    return replace(statistics, holds=tuple(Hold(cause=cause, since_s=since_s) for cause in causes))


@pytest.mark.parametrize(
    ("statistics", "exhausted", "verdict"),
    [
        (QUIET, False, Verdict.BALANCED),
        (FULL, False, Verdict.WORKERS),
        (replace(QUIET, queue_depth=256, blocked_on="queue"), False, Verdict.WORKERS),
        (held(replace(QUIET, blocked_on="gate"), HoldCause.WATERMARK), False, Verdict.WORKERS),
        (held(QUIET, HoldCause.WATERMARK), False, Verdict.WORKERS),
        (held(FULL, HoldCause.WATERMARK, HoldCause.USER), False, Verdict.USER),
        (held(FULL, HoldCause.MEMORY, HoldCause.DISK), False, Verdict.DISK),
        (held(QUIET, HoldCause.MEMORY), False, Verdict.MEMORY),
        (held(QUIET, HoldCause.UPSTREAM), False, Verdict.UPSTREAM),
        (replace(QUIET, blocked_on="token", tokens=0.2), False, Verdict.RATE),
        (replace(STARVED, permits_held=300, blocked_on="permit"), False, Verdict.PERMITS),
        (replace(STARVED, permits_held=300, blocked_on="permit", uncommitted=280), False, Verdict.COMMITS),
        (replace(FULL, workers_delivering=4, uncommitted=40), False, Verdict.COMMITS),
        (replace(FULL, workers_delivering=2, uncommitted=40), False, Verdict.WORKERS),
        (STARVED, False, Verdict.SOURCE),
        (DONE, False, Verdict.SOURCE),
        (replace(DONE, admitted=0, completed=0), False, Verdict.IDLE),
        (DONE, True, Verdict.FINISHED),
        (replace(DONE, admitted=0, completed=0), True, Verdict.FINISHED),
        (STARVED, True, Verdict.DRAINING),
        (held(STARVED, HoldCause.USER), True, Verdict.USER),
    ],
)
def test_each_moment_has_its_verdict(statistics: StageStatistics, exhausted: bool, verdict: Verdict) -> None:  # noqa: FBT001  # a case of the test
    """What a stage waits for follows from its figures alone."""
    assert judge(statistics, exhausted=exhausted) is verdict


def test_workers_as_the_bottleneck_are_explained_with_what_would_help() -> None:
    """The sentence that the program promises, word for word."""
    assert explain(Verdict.WORKERS, FULL, for_s=40.2, words=PAGES) == (
        "Workers are the bottleneck: the queue has been full and all permits held for 40 s. More workers would help; "
        "a larger queue would not."
    )


@pytest.mark.parametrize(
    ("verdict", "statistics", "sentence"),
    [
        (
            Verdict.USER,
            QUIET,
            (
                "Paused for 40 s: nothing new is admitted until you resume. What is in flight (150 pages) is being "
                "finished."
            ),
        ),
        (Verdict.USER, DONE, "Paused for 40 s: nothing new is admitted until you resume."),
        (
            Verdict.COMMITS,
            FULL,
            (
                "Taking over results is the bottleneck: finished pages have been waiting for the disk for 40 s. "
                "Something faster there would help; more workers would not."
            ),
        ),
        (Verdict.DRAINING, STARVED, "Nothing is left to admit: the last 16 pages are being finished."),
        (
            Verdict.WORKERS,
            held(QUIET, HoldCause.WATERMARK),
            (
                "Workers are the bottleneck: the queue has kept reaching its high mark for 40 s. More workers would "
                "help; a larger queue would not."
            ),
        ),
    ],
)
def test_sentences_state_figures_and_what_would_help(
    verdict: Verdict, statistics: StageStatistics, sentence: str
) -> None:
    """The nouns come from the one who asks, the figures from the statistics."""
    assert explain(verdict, statistics, for_s=40, words=PAGES) == sentence


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_a_finished_sentence(verdict: Verdict) -> None:
    """No verdict is without words, and no figure is left unfilled."""
    sentence = explain(verdict, FULL, for_s=3)
    assert sentence.endswith(".")
    assert "{" not in sentence
    assert "None" not in sentence


@pytest.mark.parametrize(
    ("for_s", "words"),
    [(0.3, "a moment"), (1.2, "1 s"), (99.4, "99 s"), (120, "2 min"), (5700, "95 min"), (9000, "2 h 30 min")],
)
def test_times_are_told_in_units_that_fit(for_s: float, words: str) -> None:
    """Seconds, minutes or hours."""
    assert f"for {words}." in explain(Verdict.WORKERS, FULL, for_s=for_s)


def test_a_verdict_stands_since_it_began() -> None:
    """The time grows while the verdict stays, whatever its figures do."""
    clock = ManualClock()
    bottleneck = Bottleneck(clock.monotonic, words=PAGES)
    for _ in range(160):
        clock.advance(0.25)
        bottleneck.observe(FULL, exhausted=False)
    verdict, for_s = bottleneck.observe(FULL, exhausted=False)
    assert (verdict, for_s) == (Verdict.WORKERS, 39.75)
    assert "for 40 s" in bottleneck.explain(FULL, exhausted=False)


def test_one_moment_does_not_overturn_a_verdict() -> None:
    """A queue that swings between its marks is still one story; a lasting change is another, and told in time."""
    clock = ManualClock()
    bottleneck = Bottleneck(clock.monotonic)
    for number in range(40):
        clock.advance(0.25)
        bottleneck.observe(QUIET if number % 4 == 3 else FULL, exhausted=False)
    assert bottleneck.observe(QUIET, exhausted=False) == (Verdict.WORKERS, 9.75)
    for _ in range(12):
        clock.advance(0.25)
        bottleneck.observe(STARVED, exhausted=False)
    verdict, for_s = bottleneck.observe(STARVED, exhausted=False)
    assert verdict is Verdict.SOURCE
    assert for_s == pytest.approx(2.75)


def test_a_hold_is_told_at_once_and_since_it_began() -> None:
    """A press of the Pause button is in the next sentence, with the time of the hold itself."""
    clock = ManualClock()
    bottleneck = Bottleneck(clock.monotonic)
    for _ in range(40):
        clock.advance(0.25)
        bottleneck.observe(FULL, exhausted=False)
    paused = held(FULL, HoldCause.USER, since_s=clock.monotonic() - 2)
    assert bottleneck.observe(paused, exhausted=False) == (Verdict.USER, 2.0)
    clock.advance(1)
    assert bottleneck.observe(FULL, exhausted=False) == (Verdict.WORKERS, 0.0)


def test_time_that_nobody_observed_is_not_claimed() -> None:
    """After a gap the verdict begins anew: what happened in between is not known."""
    clock = ManualClock()
    bottleneck = Bottleneck(clock.monotonic)
    bottleneck.observe(FULL, exhausted=False)
    clock.advance(600)
    assert bottleneck.observe(FULL, exhausted=False) == (Verdict.WORKERS, 0.0)
