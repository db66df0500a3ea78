"""What a snapshot says: states, honest progress, and sums that add up."""

from dataclasses import replace

import pytest

from engine import Counts, HoldCause, Reason, RunState, Tally
from gui.models.progress import headline, percent_done, progress, reconciliation, speed, subline
from tests.support.window_records import HALF_WAY, RECONCILED, snapshot


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("state", "counts", "words"),
    [
        (RunState.IDLE, Counts(), "Ready: add a folder to begin"),
        (RunState.IDLE, HALF_WAY, "Ready: 604 pages pending"),
        (RunState.IDLE, RECONCILED, "Everything in this case is accounted for"),
        (RunState.RUNNING, HALF_WAY, "Running"),
        (RunState.PAUSING, HALF_WAY, "Pausing, 37 in flight"),
        (RunState.PAUSED, HALF_WAY, "Paused"),
        (RunState.STOPPING, HALF_WAY, "Stopping, 37 in flight"),
        (RunState.FINISHED, RECONCILED, "Finished: every page is accounted for"),
        (RunState.FINISHED, HALF_WAY, "Finished, but not accounted for: 604 pages"),
        (RunState.INCOMPLETE, HALF_WAY, "Incomplete: 604 pages pending, resume to go on"),
        (
            RunState.INCOMPLETE,
            Counts(documents=Tally(enumerated=3)),
            "Incomplete: 3 documents pending, resume to go on",
        ),
    ],
)
def test_every_state_has_its_headline(state: RunState, counts: Counts, words: str) -> None:
    """The headline says where the run stands, and what is missing where something is."""
    assert _plain(headline(snapshot(state, counts))) == words


def test_a_lasting_hold_is_named_and_the_usual_one_is_not() -> None:
    """The watermark comes and goes and is no news; a lack of memory is, with what to do about it."""
    assert headline(snapshot(holds=[HoldCause.WATERMARK])) == "Running"
    held = snapshot(holds=[HoldCause.WATERMARK, HoldCause.MEMORY])
    assert headline(held) == "Running, held for now: memory"
    assert "fewer workers" in subline(held)


def test_an_error_comes_before_everything_else() -> None:
    """The sentence of an error is shown, whatever the state."""
    assert subline(snapshot(RunState.INCOMPLETE, error="The disk is full.")) == "The disk is full."


def test_the_end_says_what_to_do_next() -> None:
    """After the end the dead letters are named, or that there are none."""
    assert _plain(subline(snapshot(RunState.FINISHED, RECONCILED))).startswith("56 dead letters to look through")
    assert subline(snapshot(RunState.FINISHED, replace(RECONCILED, reasons={}))).startswith("There are no dead letters")
    assert "report" in subline(snapshot(RunState.FINISHED, HALF_WAY))


def test_there_is_no_percentage_while_files_are_still_found() -> None:
    """While no total is known there are counts, and neither a percentage nor a forecast."""
    done = progress(snapshot(enumerating=True))
    assert done.percent is None
    assert "%" not in done.text
    assert "to go" not in done.text
    assert "1,204" in done.text


def test_the_percentage_counts_unopened_documents_too() -> None:
    """A folder of unopened files never looks nearly done: the smaller share is shown."""
    counts = Counts(documents=Tally(enumerated=1000, extracted=10), pages=Tally(enumerated=100, extracted=99))
    assert percent_done(counts) == 1


def test_a_hundred_percent_is_shown_only_when_everything_is_accounted_for() -> None:
    """One pending page of a million leaves 99 %; a document that is pending does too."""
    nearly = Counts(documents=Tally(enumerated=1, extracted=1), pages=Tally(enumerated=1_000_000, extracted=999_999))
    assert percent_done(nearly) == 99
    assert (
        percent_done(Counts(documents=Tally(enumerated=2, extracted=1), pages=Tally(enumerated=1, extracted=1))) == 50
    )
    assert percent_done(RECONCILED) == 100
    # Documents that cannot be opened have no pages; a case of only these is done nevertheless.
    assert percent_done(Counts(documents=Tally(enumerated=2, dead_letter=2), reasons={Reason.ENCRYPTED: 2})) == 100


def test_the_forecast_is_a_lower_bound_and_only_for_a_run_that_runs() -> None:
    """A forecast is said to be a lower bound; a pause or a young run has none."""
    assert "at least 50 s to go" in _plain(progress(snapshot()).text)
    assert "to go" not in progress(snapshot(RunState.PAUSED)).text
    assert "to go" not in progress(replace(snapshot(), active_s=5.0)).text
    assert "to go" not in progress(replace(snapshot(), mean_pages_per_s=0.0)).text


def test_an_empty_case_says_so() -> None:
    """Nothing enumerated is neither done nor a percentage of something."""
    done = progress(snapshot(RunState.IDLE, Counts()))
    assert (done.percent, done.text) == (0, "No documents yet")


def test_the_reconciliation_names_every_term_of_the_sum() -> None:
    """The sum shows all four terms, with nouns that agree."""
    assert _plain(reconciliation(RECONCILED.pages, "page")) == (
        "600 pages enumerated = 540 extracted + 50 dead letters + 10 duplicates + 0 pending"
    )
    assert _plain(reconciliation(Tally(enumerated=3, dead_letter=1, duplicate=1), "document")) == (
        "3 documents enumerated = 0 extracted + 1 dead letter + 1 duplicate + 1 pending"
    )


def test_the_speed_now_is_shown_only_while_something_moves() -> None:
    """After the end only the average is left."""
    assert _plain(speed(snapshot())) == "12.4 pages/s now, 11.9 pages/s on average"
    assert _plain(speed(snapshot(RunState.FINISHED, RECONCILED))) == "11.9 pages/s on average"
    assert speed(replace(snapshot(RunState.IDLE, Counts()), mean_pages_per_s=0.0)) == ""
