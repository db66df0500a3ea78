"""Holds as bands on a time axis: clipped to what is shown, and averaged where the eye could not tell them apart."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from engine import HoldCause, HoldMark

MOST_BANDS = 120
"""Most bands drawn of one cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Admission was held for one cause, from one time to another."""

    cause: HoldCause
    start_s: float
    end_s: float
    share: float = 1.0
    """Which share of this time it was held; less than 1 only where single holds are too short to be told apart."""


def bands(marks: Iterable[HoldMark], start_s: float, end_s: float) -> tuple[Band, ...]:
    """Return the bands that show within a time window, at most `MOST_BANDS` of each cause.

    Args:
        marks: Holds, past and standing.
        start_s: Where the window begins.
        end_s: Where it ends; a standing hold reaches to it.
    """
    by_cause: defaultdict[HoldCause, list[tuple[float, float]]] = defaultdict(list)
    for mark in marks:
        start, end = max(mark.started_s, start_s), min(end_s if mark.ended_s is None else mark.ended_s, end_s)
        if end > start_s and start < end_s:
            by_cause[mark.cause].append((start, end))
    found: list[Band] = []
    for cause, spells in by_cause.items():
        joined = _joined(sorted(spells))
        if len(joined) <= MOST_BANDS:
            found.extend(Band(cause=cause, start_s=start, end_s=end) for start, end in joined)
        else:
            found.extend(_averaged(cause, joined, start_s, end_s))
    return tuple(found)


def share_held(marks: Iterable[HoldMark], start_s: float, end_s: float) -> dict[HoldCause, float]:
    """Return for each cause which share of a time window it held admission."""
    totals: defaultdict[HoldCause, float] = defaultdict(float)
    for mark in marks:
        held_s = min(end_s if mark.ended_s is None else mark.ended_s, end_s) - max(mark.started_s, start_s)
        if held_s > 0:
            totals[mark.cause] += held_s
    length_s = end_s - start_s
    return {cause: min(1.0, held_s / length_s) for cause, held_s in totals.items()} if length_s > 0 else {}


def causes_at(marks: Iterable[HoldMark], at_s: float) -> list[HoldCause]:
    """Return what held admission at a time."""
    return [mark.cause for mark in marks if mark.started_s <= at_s and (mark.ended_s is None or at_s <= mark.ended_s)]


def _joined(spells: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return rising spells with those joined that touch or overlap."""
    joined: list[tuple[float, float]] = []
    for start, end in spells:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _averaged(cause: HoldCause, spells: list[tuple[float, float]], start_s: float, end_s: float) -> Iterable[Band]:
    """Yield `MOST_BANDS` bands of equal width, each with the share of its time that the spells cover."""
    width_s = (end_s - start_s) / MOST_BANDS
    held_s = [0.0] * MOST_BANDS
    for start, end in spells:
        first = min(MOST_BANDS - 1, int((start - start_s) / width_s))
        last = min(MOST_BANDS - 1, int((end - start_s) / width_s))
        for place in range(first, last + 1):
            left_s = start_s + place * width_s
            held_s[place] += max(0.0, min(end, left_s + width_s) - max(start, left_s))
    for place, held in enumerate(held_s):
        if held > 0:
            left_s = start_s + place * width_s
            yield Band(cause=cause, start_s=left_s, end_s=left_s + width_s, share=min(1.0, held / width_s))
