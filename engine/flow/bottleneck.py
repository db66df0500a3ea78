"""The bottleneck: one plain sentence about what a stage is waiting for and what would help.

Covers judging a stage's figures at one moment (`judge`), wording the result (`explain`), and remembering how long it
has been so (`Bottleneck`). The figures come from `engine.flow.stage`; where the sentence is shown is not known here.
"""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from engine.models.flow import StageStatistics
from engine.models.outcome import HoldCause

WINDOW_S = 5.0
"""How far back moments are counted: a queue swings between its marks, and one moment alone would mislead."""

_CAUSES = (HoldCause.USER, HoldCause.STORAGE, HoldCause.DISK, HoldCause.UPSTREAM, HoldCause.MEMORY)
"""Causes that explain everything else, the one to name first in front."""


class Verdict(StrEnum):
    """What a stage is waiting for."""

    USER = "user"  # Held by the user.
    DISK = "disk"  # Held, because the disk is nearly full.
    UPSTREAM = "upstream"  # Held, because the source is away.
    STORAGE = "storage"  # Held, because results could not be stored.
    MEMORY = "memory"  # Held by the memory budget.
    FINISHED = "finished"  # Nothing is left, neither to admit nor in flight.
    DRAINING = "draining"  # Nothing is left to admit; the rest is in flight.
    IDLE = "idle"  # Nothing has come in yet.
    COMMITS = "commits"  # Results are not taken over as fast as they are made.
    RATE = "rate"  # Producers wait for tokens.
    PERMITS = "permits"  # Producers wait for permits while workers have nothing to do.
    WORKERS = "workers"  # Producers wait, and the workers are busy.
    SOURCE = "source"  # Workers wait, and no producer does.
    BALANCED = "balanced"  # Nobody waits for long.


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Nouns of the one who uses the stage, for the sentence."""

    items: str = "items"
    """What is counted, in the plural."""
    taker: str = "whatever takes them over"
    """Where results go, such as "the disk"."""


_PLAIN = Words()


def judge(statistics: StageStatistics, *, exhausted: bool) -> Verdict:
    """Return what a stage is waiting for at one moment.

    Args:
        statistics: The stage's figures.
        exhausted: Whether nothing more is going to be admitted.
    """
    now = statistics
    causes = {hold.cause for hold in now.holds}
    for cause in _CAUSES:
        if cause in causes:
            return Verdict(cause.value)
    if exhausted and now.blocked_on is None:
        return Verdict.DRAINING if now.permits_held else Verdict.FINISHED
    if not now.admitted and now.blocked_on is None:
        return Verdict.IDLE
    most_workers_deliver = 2 * now.workers_delivering > now.workers_busy
    most_permits_uncommitted = now.blocked_on == "permit" and 2 * now.uncommitted > now.permits
    if most_workers_deliver or most_permits_uncommitted:
        return Verdict.COMMITS
    return _judge_admission(now)


def _judge_admission(now: StageStatistics) -> Verdict:
    workers_wait = now.queue_depth == 0 and now.workers_busy < now.workers
    match now.blocked_on:
        case "token":
            return Verdict.RATE
        case "permit":
            return Verdict.PERMITS if workers_wait else Verdict.WORKERS
        case "gate" | "queue":
            return Verdict.WORKERS
        case _ if now.holds:  # the watermark: whoever came next would wait
            return Verdict.WORKERS
        case _:
            return Verdict.SOURCE if workers_wait else Verdict.BALANCED


def explain(verdict: Verdict, statistics: StageStatistics, *, for_s: float, words: Words = _PLAIN) -> str:
    """Return the sentence for a verdict.

    Args:
        verdict: What the stage is waiting for.
        statistics: Its figures now.
        for_s: How long it has been so.
        words: Nouns to use.
    """
    in_flight = f"{statistics.permits_held:,} {words.items}"
    return _SENTENCES[verdict].format(
        time=_duration(for_s),
        items=words.items,
        taker=words.taker,
        in_flight=in_flight,
        finishing=f" What is in flight ({in_flight}) is being finished." if statistics.permits_held else "",
        permits=f"{statistics.permits:,}",
        fullness=_fullness(statistics),
    )


_SENTENCES = {
    Verdict.USER: "Paused for {time}: nothing new is admitted until you resume.{finishing}",
    Verdict.DISK: "Held for {time} because the disk is nearly full. Free some space to go on.",
    Verdict.STORAGE: "Held for {time} because results could not be stored. Set that right, then resume.",
    Verdict.UPSTREAM: "Held for {time} because the source cannot be reached. Connect it again to go on.",
    Verdict.MEMORY: (
        "Held for {time} because memory has reached its budget. Fewer workers or a larger budget would help; a "
        "larger queue would not."
    ),
    Verdict.FINISHED: "Finished: nothing is left to admit and nothing is in flight.",
    Verdict.DRAINING: "Nothing is left to admit: the last {in_flight} are being finished.",
    Verdict.IDLE: "No {items} have come in yet.",
    Verdict.COMMITS: (
        "Taking over results is the bottleneck: finished {items} have been waiting for {taker} for {time}. Something "
        "faster there would help; more workers would not."
    ),
    Verdict.RATE: (
        "The rate limit is the bottleneck: all tokens have been used up for {time}. A higher rate would help; more "
        "workers would not."
    ),
    Verdict.PERMITS: (
        "Permits are the bottleneck: all {permits} have been held for {time} while workers had nothing to do. More "
        "permits would help; more workers would not."
    ),
    Verdict.WORKERS: (
        "Workers are the bottleneck: {fullness} for {time}. More workers would help; a larger queue would not."
    ),
    Verdict.SOURCE: (
        "The source is the bottleneck: the queue has been empty and workers have had nothing to do for {time}. More "
        "workers would not help."
    ),
    Verdict.BALANCED: "Nothing stands in the way: the workers keep up with the {items} that come in.",
}


def _fullness(now: StageStatistics) -> str:
    if now.permits_held >= now.permits:
        return (
            "the queue has been full and all permits held"
            if now.queue_depth >= now.hi
            else "all permits have been held"
        )
    return "the queue has kept reaching its high mark" if now.holds else "producers have been waiting"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "a moment"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class Bottleneck:
    """Remembers verdicts for a few seconds and tells the most frequent one, and since when it has been that.

    What is certain at once (a hold, the end) is told at once.

    Args:
        now: The monotonic clock.
        words: Nouns to use.
    """

    _CERTAIN = frozenset(
        {Verdict.USER, Verdict.STORAGE, Verdict.DISK, Verdict.UPSTREAM, Verdict.MEMORY}
        | {Verdict.FINISHED, Verdict.DRAINING, Verdict.IDLE}
    )

    # Mutable state: `_moments`, `_verdict` and `_since_s`; it changes in `observe`.

    def __init__(self, now: Callable[[], float], *, words: Words = _PLAIN) -> None:
        self._now = now
        self._words = words
        self._moments: deque[tuple[float, Verdict]] = deque(maxlen=100)
        self._verdict = Verdict.IDLE
        self._since_s = now()

    def __repr__(self) -> str:
        return f"<Bottleneck {self._verdict} for {self._now() - self._since_s:.1f} s>"

    def observe(self, statistics: StageStatistics, *, exhausted: bool) -> tuple[Verdict, float]:
        """Take note of a moment; return the verdict and for how many seconds it has stood.

        Args:
            statistics: The stage's figures now.
            exhausted: Whether nothing more is going to be admitted.
        """
        now_s = self._now()
        unseen = not self._moments or now_s - self._moments[-1][0] > WINDOW_S
        self._moments.append((now_s, judge(statistics, exhausted=exhausted)))
        while self._moments[0][0] < now_s - WINDOW_S:
            self._moments.popleft()
        verdict = self._prevailing()
        if verdict is not self._verdict or unseen:
            self._verdict = verdict
            self._since_s = next(at_s for at_s, seen in self._moments if seen is verdict)
        for hold in statistics.holds:
            if hold.cause.value == verdict.value:
                self._since_s = hold.since_s
        return verdict, now_s - self._since_s

    def explain(self, statistics: StageStatistics, *, exhausted: bool) -> str:
        """Take note of a moment and return the sentence.

        Args:
            statistics: The stage's figures now.
            exhausted: Whether nothing more is going to be admitted.
        """
        verdict, for_s = self.observe(statistics, exhausted=exhausted)
        return explain(verdict, statistics, for_s=for_s, words=self._words)

    def _prevailing(self) -> Verdict:
        newest = self._moments[-1][1]
        if newest in self._CERTAIN:
            self._moments.clear()
            self._moments.append((self._now(), newest))
            return newest
        counted = Counter(verdict for _at_s, verdict in self._moments if verdict not in self._CERTAIN)
        most = max(counted.values())
        return newest if counted[newest] == most else counted.most_common(1)[0][0]
