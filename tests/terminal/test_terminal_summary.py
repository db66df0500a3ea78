"""How a run ended: the JSON object, the exit code, the final table."""

import io
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import ExitCode
from engine.models.outcome import HoldCause, Reason, RunState
from engine.models.run import CaseInfo, Counts, RunSummary, Tally
from engine.terminal.console import PlainWordsConsole
from engine.terminal.summary import REASON_WORDS, exit_code, print_summary, resume_command, summary_json
from tests.terminal.records import COUNTS, DONE, MIB, case_info, summary

STOPPED = summary(state=RunState.INCOMPLETE, counts=COUNTS)
WITH_DEAD_LETTERS = summary(
    counts=Counts(
        documents=Tally(enumerated=3, extracted=2, dead_letter=1),
        pages=Tally(enumerated=9, extracted=8, dead_letter=1),
        reasons={Reason.ENCRYPTED: 1, Reason.CORRUPT_PAGE: 1},
        audit_records=20,
        audit_head="0123456789abcdef" * 4,
    )
)


def printed(ended: RunSummary, info: CaseInfo | None = None, sources: tuple[Path, ...] = ()) -> str:
    """Return what people get to read."""
    stream = io.StringIO()
    print_summary(PlainWordsConsole(stream), ended, info or case_info(), sources)
    return stream.getvalue()


def test_the_json_object_has_exactly_the_promised_names() -> None:
    """Names, nesting and kinds of values are a contract with scripts."""
    assert summary_json(replace(STOPPED, holds={HoldCause.WATERMARK: 2, HoldCause.MEMORY: 1})) == {
        "documents": {"enumerated": 50, "extracted": 30, "dead_letter": 2, "duplicate": 1, "pending": 17},
        "pages": {"enumerated": 4321, "extracted": 1000, "dead_letter": 3, "duplicate": 20, "pending": 3298},
        "reconciled": False,
        "reasons": {"encrypted": 2, "time_limit": 3},
        "audit_records": 1100,
        "audit_head": "0123456789abcdef" * 4,
        "elapsed_s": 12.346,
        "pages_per_s": 0.729,
        "peak_rss_bytes": {"main": 90 * MIB, "workers": 120 * MIB, "tree": 210 * MIB},
        "max_queue_depth": 9,
        "max_permits_held": 9,
        "holds": {"memory": 1, "watermark": 2},
    }


def test_the_json_object_is_plain_json() -> None:
    """It goes through a strict encoder and comes back the same."""
    made = summary_json(WITH_DEAD_LETTERS)
    assert json.loads(json.dumps(made, allow_nan=False)) == made


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (summary(), ExitCode.ALL_EXTRACTED),
        (WITH_DEAD_LETTERS, ExitCode.DEAD_LETTERS),
        (STOPPED, ExitCode.STOPPED),
        (summary(counts=COUNTS), ExitCode.STOPPED),
        (summary(state=RunState.INCOMPLETE), ExitCode.STOPPED),
        (summary(counts=replace(DONE, reasons={Reason.EMPTY_FILE: 1})), ExitCode.DEAD_LETTERS),
        (summary(counts=Counts()), ExitCode.ALL_EXTRACTED),
    ],
)
def test_the_exit_code_follows_from_the_reconciliation(ended: RunSummary, code: ExitCode) -> None:
    """Success needs a finished run and a reconciled case; a dead letter of any kind is not hidden by it."""
    assert exit_code(ended) is code


def test_every_reason_has_its_explanation() -> None:
    """No dead letter stands in the final table without words."""
    assert set(REASON_WORDS) == set(Reason)
    assert all(words.endswith(".") for words in REASON_WORDS.values())


def test_a_clean_run_says_so_and_what_comes_next() -> None:
    """The table names the numbers, the head, the case and the next commands."""
    text = printed(summary())
    assert "Reconciled: all 3 documents and 9 pages are accounted for, without any dead letter." in text
    assert "15 records, head fedcba9876543210\n" in text
    assert "/cases/an example.sluice (request REQ-1)" in text
    assert "sluicegate text '/cases/an example.sluice' OUT_FOLDER" in text
    assert "sluicegate export '/cases/an example.sluice' --audit OUT.jsonl" in text
    assert "watermark 2 times" in text
    assert "user" not in text
    assert "Dead letters" not in text


def test_dead_letters_are_told_by_reason_with_an_explanation() -> None:
    """Each reason stands there by name, with its number and what it means."""
    text = printed(WITH_DEAD_LETTERS)
    assert "with 2 dead letters" in text
    assert "encrypted" in text
    assert "needs a password" in " ".join(text.split())
    assert "corrupt_page" in text


def test_an_early_end_says_what_is_pending_and_how_to_go_on() -> None:
    """The error comes first, then the numbers; the command names the sources, which may not be known in full yet."""
    text = printed(replace(STOPPED, error="The disk is full."), sources=(Path("/a batch"),))
    assert text.startswith("The disk is full.\n")
    assert "17 documents and 3,298 of the pages known so far are pending" in text
    assert "sluicegate run '/a batch' --case '/cases/an example.sluice'" in text
    assert "sluicegate text" not in text


def test_an_empty_folder_is_told_as_such() -> None:
    """Nothing to do is not dressed up as an achievement."""
    assert "No PDF was found" in printed(summary(counts=Counts()))


def test_a_run_without_work_says_that_nothing_was_done_again() -> None:
    """Running the same case again is a no-op, and told as one."""
    assert "3 documents had been finished by an earlier run" in printed(summary(already_done_documents=3))


def test_names_in_the_table_are_words_and_never_markup() -> None:
    """A case file may be called what it likes: markup and escape sequences come out as harmless text."""
    text = printed(summary(), case_info(path=Path("/cases/[red]x[/red]\x1b[2J\n\udcff.sluice"), request_id="[bold]R"))
    assert "[red]x[/red]\\u{1b}[2J\\u{a}\\xff.sluice (request [bold]R)" in text
    assert "\x1b" not in text


def test_the_resume_command_can_be_pasted() -> None:
    """Words with blanks and quotes survive the way through a shell."""
    command = resume_command(Path("/cases/it's mine.sluice"), [Path("/two words")])
    assert shlex.split(command) == ["sluicegate", "run", "/two words", "--case", "/cases/it's mine.sluice"]
