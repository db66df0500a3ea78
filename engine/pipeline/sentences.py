"""What a run says of itself where it ends early or waits for something that its stage does not see."""

from engine.models.document import Posture
from engine.models.run import Counts

OPENING = (
    "Opening and hashing documents is the bottleneck: all workers are busy with it. More workers or a faster disk "
    "would help; a larger queue would not."
)

NOT_STARTED = Posture(limits=(), sandbox="no worker was started", parser="none")

FAULT = (
    "The run ended because of a fault in the program; please report it. Everything acknowledged before it is kept, "
    "and the case can be resumed."
)

BUDGET_TOO_SMALL = (
    "The memory budget does not even carry the program and idle workers, so that nothing could go on. Set a larger "
    "budget or fewer workers, then resume."
)


def stuck(page_clock_s: float) -> str:
    """Return what a run says while every worker is at a page that takes long.

    Args:
        page_clock_s: How long a page may take.
    """
    return (
        f"All workers are at pages that take long. Each such page is given up after {page_clock_s:g} seconds and tried "
        "once more; everything else waits for a free worker. More workers would help."
    )


def settling(documents: int) -> str:
    """Return what a run says that has nothing left but files that may still be written to.

    Args:
        documents: How many.
    """
    which = "One document was" if documents == 1 else f"{documents:,} documents were"
    return (
        f"{which} written to a moment ago, and what is there so far looks damaged: perhaps somebody is still copying. "
        "It is looked at again until it stands still, so that half a file is not taken for the whole."
    )


def unfinished(counts: Counts) -> str:
    """Return why a run that nobody stopped ended without everything accounted for."""
    if counts.unfinished_sources:
        return (
            f"{counts.unfinished_sources} of the folders and files that were asked for earlier cannot be found, so "
            "that it is not known what is in them. Connect them again and resume. Everything else is accounted for."
        )
    return (
        f"{counts.pages.pending:,} pages of {counts.documents.pending:,} documents have no terminal record although "
        "nothing is left to do. This is a fault in the program; please report it. Resume the case to try these pages "
        "again."
    )
