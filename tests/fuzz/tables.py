"""What a series of batches showed, as lines of text: outcomes by kind of damage, what workers suffered, and reasons."""

from collections import Counter
from collections.abc import Iterator, Sequence

from engine.models.outcome import Outcome, Reason
from tests.fuzz.mutants import kind_of
from tests.fuzz.trial import Fate

_STRIKES = (Reason.TIME_LIMIT, Reason.MEMORY_LIMIT, Reason.WORKER_CRASHED, Reason.WORKER_LOST, Reason.OUT_OF_MEMORY)
_SHORT = {
    Reason.TIME_LIMIT: "time-outs",
    Reason.MEMORY_LIMIT: "memory",
    Reason.WORKER_CRASHED: "crashes",
    Reason.WORKER_LOST: "lost",
    Reason.OUT_OF_MEMORY: "no room",
}


def outcome_lines(fates: Sequence[Fate]) -> Iterator[str]:
    """Yield a table: a row for each kind of damage, and one for all of them."""
    heads = ("documents", "extracted", "dead", "duplicate", "pages", "with text", "dead pages")
    yield _row("damage", heads) + "".join(f"{_SHORT[reason]:>11}" for reason in _STRIKES)
    kinds = {kind_of(fate.path) for fate in fates}
    for kind in (*sorted(kinds), ""):
        mine = [fate for fate in fates if not kind or kind_of(fate.path) == kind]
        outcomes = Counter(fate.outcome for fate in mine)
        pages: Counter[str] = sum((fate.pages for fate in mine), Counter())
        strikes: Counter[str] = sum((fate.strikes for fate in mine), Counter())
        extracted, duplicate = pages[Outcome.EXTRACTED], pages[Outcome.DUPLICATE]
        figures = (
            *(len(mine), outcomes[Outcome.EXTRACTED], outcomes[Outcome.DEAD_LETTER], outcomes[Outcome.DUPLICATE]),
            *(pages.total(), extracted, pages.total() - extracted - duplicate),
        )
        yield _row(kind or "all", figures) + "".join(f"{strikes[reason]:>11,}" for reason in _STRIKES)


def reason_lines(fates: Sequence[Fate]) -> Iterator[str]:
    """Yield a table of reasons: for how many documents and pages each stands."""
    documents = Counter(fate.reason for fate in fates if fate.reason is not None)
    pages: Counter[str] = sum((fate.pages for fate in fates), Counter())
    reasons = {*documents, *pages} - {Outcome.EXTRACTED, Outcome.DUPLICATE}
    yield f"{'reason':<20}{'documents':>11}{'pages':>11}"
    for reason in sorted(reasons, key=lambda word: (-documents[word], -pages[word], word)):
        yield f"{reason:<20}{documents[reason]:>11,}{pages[reason]:>11,}"


def _row(head: str, cells: Sequence[object]) -> str:
    return f"{head:<12}" + "".join(f"{cell:>11,}" if isinstance(cell, int) else f"{cell:>11}" for cell in cells)
