"""The knobs of the flow as data: their names, units and what each one does, in words for people."""

from dataclasses import dataclass

LARGEST = 1_000_000
"""Far beyond what makes sense: what is impossible is refused with a sentence, not silently cut off while typing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One limit that can be changed."""

    field: str
    """Its name in `FlowLimits`."""
    title: str
    unit: str
    explanation: str


KNOBS: tuple[Knob, ...] = (
    Knob(
        field="workers",
        title="&Workers",
        unit="processes",
        explanation="How many processes read pages. More than the cores of this computer rarely help.",
    ),
    Knob(
        field="span_pages",
        title="&Span",
        unit="pages",
        explanation="Most pages of one document that a worker takes at a time.",
    ),
    Knob(
        field="max_queue",
        title="&Queue size",
        unit="pages",
        explanation="Most pages that wait for a worker. A longer queue costs memory and makes nothing faster.",
    ),
    Knob(
        field="hi",
        title="Hi&gh mark",
        unit="pages",
        explanation="When so many pages wait, no more are let in.",
    ),
    Knob(
        field="lo",
        title="&Low mark",
        unit="pages",
        explanation="When the queue has drained to this, pages are let in again.",
    ),
    Knob(
        field="permits",
        title="&Permits",
        unit="pages",
        explanation=(
            "Most pages in flight: waiting, being read or being stored. Must be more than the high mark, or the queue "
            "could never reach it."
        ),
    ),
)

RATE = Knob(
    field="rate_per_s",
    title="Limit the ra&te",
    unit="pages/s",
    explanation="Most pages let in per second in the long run, to leave the computer or a network drive to others.",
)
BURST = Knob(
    field="burst",
    title="&Burst",
    unit="pages",
    explanation="How many pages may be let in at once after a quiet time, when the rate is limited.",
)
