"""What a snapshot says in sentences: where the run stands, how far it is, and how the counts add up.

Covers the rules of honest progress: no percentage while files are still being found, and 100 % only when everything
is accounted for. Single words are explained in `words`; how it looks is the business of the header.
"""

from dataclasses import dataclass

from engine import Counts, HoldCause, RunState, Snapshot, Tally
from gui.models.figures import count, counted, rate, rough_duration
from gui.models.words import HOLDS

_FORECAST_AFTER_S = 15.0
"""Active time below which a rate is not worth a forecast."""
_LASTING_HOLDS = (HoldCause.MEMORY, HoldCause.DISK, HoldCause.UPSTREAM)
"""Holds that a running run's headline names; the watermark's come and go several times a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a case is."""

    percent: int | None
    """From 0 to 100, or None while no total is known."""
    text: str


def headline(snapshot: Snapshot) -> str:
    """Return where the run stands, in a few words."""
    in_flight = count(snapshot.in_flight)
    words = {
        RunState.IDLE: _idle(snapshot.counts),
        RunState.RUNNING: _running(snapshot),
        RunState.PAUSING: f"Pausing, {in_flight} in flight",
        RunState.PAUSED: "Paused: the case cannot be written" if _is_unwritable(snapshot) else "Paused",
        RunState.STOPPING: f"Stopping, {in_flight} in flight",
        RunState.FINISHED: _finished(snapshot.counts),
        RunState.INCOMPLETE: f"Incomplete: {_pending(snapshot.counts)} pending, resume to go on",
    }
    return words[snapshot.state]


def subline(snapshot: Snapshot) -> str:
    """Return the sentence below the headline: an error, a hold, or what to do next; it may be empty."""
    if snapshot.error:
        return snapshot.error
    words = {
        RunState.RUNNING: " ".join(HOLDS[cause].text for cause in _lasting_holds(snapshot)),
        RunState.PAUSED: "Everything that was done is stored. The pause survives a restart; press Resume to go on.",
        RunState.FINISHED: _after_the_end(snapshot.counts),
        RunState.INCOMPLETE: "What was done is stored and will not be done twice.",
    }
    return words.get(snapshot.state, "")


def progress(snapshot: Snapshot) -> Progress:
    """Return how far the case is: pages with their terminal record over pages enumerated."""
    counts, pages, documents = snapshot.counts, snapshot.counts.pages, snapshot.counts.documents
    if snapshot.enumerating:
        found = f"{counted(documents.enumerated, 'document')} found so far, with {counted(pages.enumerated, 'page')}"
        return Progress(percent=None, text=f"Still finding files: {found}; {count(pages.terminal)} accounted for")
    if documents.enumerated == 0:
        return Progress(percent=0, text="No documents yet")
    parts = [
        f"{count(pages.terminal)} of {counted(pages.enumerated, 'page')} accounted for",
        f"{count(documents.terminal)} of {counted(documents.enumerated, 'document')}",
    ]
    if forecast := _forecast(snapshot):
        parts.append(forecast)
    percent = percent_done(counts)
    return Progress(percent=percent, text=" · ".join([f"{percent}\u00a0%", *parts]))


def percent_done(counts: Counts) -> int:
    """Return the share that is accounted for, rounded down; 100 only when nothing is pending.

    Pages are known only when their document has been looked into. The share of documents therefore counts as well:
    the smaller one is shown, so that a folder of unopened files never looks nearly done.
    """
    if counts.reconciled:
        return 100
    shares = [tally.terminal / tally.enumerated for tally in (counts.pages, counts.documents) if tally.enumerated]
    return min(99, int(min(shares, default=0.0) * 100))


def reconciliation(tally: Tally, noun: str) -> str:
    """Return the sum that must hold: `600 pages enumerated = 540 extracted + 50 dead letters + ...`."""
    return (
        f"{counted(tally.enumerated, noun)} enumerated = {count(tally.extracted)} extracted + "
        f"{counted(tally.dead_letter, 'dead letter')} + {counted(tally.duplicate, 'duplicate')} + "
        f"{count(tally.pending)} pending"
    )


def speed(snapshot: Snapshot) -> str:
    """Return the throughput now and on average."""
    if snapshot.state in (RunState.RUNNING, RunState.PAUSING, RunState.STOPPING):
        return f"{rate(snapshot.pages_per_s)} now, {rate(snapshot.mean_pages_per_s)} on average"
    return f"{rate(snapshot.mean_pages_per_s)} on average" if snapshot.mean_pages_per_s else ""


def _lasting_holds(snapshot: Snapshot) -> list[HoldCause]:
    return [hold.cause for hold in snapshot.stage.holds if hold.cause in _LASTING_HOLDS]


def _is_unwritable(snapshot: Snapshot) -> bool:
    return any(hold.cause is HoldCause.STORAGE for hold in snapshot.stage.holds)


def _running(snapshot: Snapshot) -> str:
    causes = _lasting_holds(snapshot)
    return f"Running, held for now: {HOLDS[causes[0]].short}" if causes else "Running"


def _finished(counts: Counts) -> str:
    if counts.reconciled:
        return "Finished: every page is accounted for"
    return f"Finished, but not accounted for: {_pending(counts)}"


def _after_the_end(counts: Counts) -> str:
    if not counts.reconciled:
        return "Please report this, with the log; resuming the case tries again what is pending."
    dead = sum(counts.reasons.values())
    if not dead:
        return "There are no dead letters. Export the audit log as evidence."
    return f"{counted(dead, 'dead letter')} to look through; then export the audit log as evidence."


def _idle(counts: Counts) -> str:
    if counts.documents.enumerated == 0:
        return "Ready: add a folder to begin"
    return "Everything in this case is accounted for" if counts.reconciled else f"Ready: {_pending(counts)} pending"


def _pending(counts: Counts) -> str:
    """Return what is pending; documents only where no page is, since their pages are not known yet."""
    if counts.pages.pending or not counts.documents.pending:
        return counted(counts.pages.pending, "page")
    return counted(counts.documents.pending, "document")


def _forecast(snapshot: Snapshot) -> str:
    """Return how long the pages known so far will take at the mean rate: a lower bound, and said to be one."""
    if snapshot.state is not RunState.RUNNING or snapshot.active_s < _FORECAST_AFTER_S:
        return ""
    pending, per_s = snapshot.counts.pages.pending, snapshot.mean_pages_per_s
    return f"at least {rough_duration(pending / per_s)} to go" if pending and per_s > 0 else ""
