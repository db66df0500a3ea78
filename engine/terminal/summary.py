"""How a run ended, for machines and for people: the JSON object, the table and the exit code.

Covers what is said once, at the end. The names in the JSON object are a contract: they are added to, never changed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from engine.errors import ExitCode
from engine.models.outcome import Reason, RunState
from engine.models.run import CaseInfo, RunSummary, Tally
from engine.terminal.console import PlainWordsConsole, command_line, shown
from engine.terminal.progress import mib, span_words

HEAD_DIGITS = 16
"""How many hexadecimal digits of the chain's head are shown to people; the JSON object holds them all."""

REASON_WORDS: dict[Reason, str] = {
    Reason.READ_FAILED: "The file could not be read, in several tries. Check the disk or the share, then run again.",
    Reason.SOURCE_UNREACHABLE: "The whole source was away, such as a network share that is not connected.",
    Reason.WORKER_LOST: "The worker process was ended from outside, again and again.",
    Reason.OUT_OF_MEMORY: "The machine had no memory left for it, even alone.",
    Reason.EMPTY_FILE: "The file has no bytes.",
    Reason.NOT_A_PDF: "The content is not a PDF, whatever the name says.",
    Reason.ENCRYPTED: "It needs a password or a certificate. Ask the owner for an open copy.",
    Reason.CORRUPT_DOCUMENT: "The document is damaged and cannot be opened.",
    Reason.CORRUPT_PAGE: "The page is damaged; the other pages of its document may be fine.",
    Reason.NO_TEXT: "The page shows something, such as a scan, and holds no text.",
    Reason.TIME_LIMIT: "It took longer than its clock allows (see the clocks in --help).",
    Reason.MEMORY_LIMIT: "It needed more memory than a worker may have (see --worker-kill-rss).",
    Reason.SIZE_LIMIT: "Its text or its file is larger than allowed (see --worker-max-text).",
    Reason.WORKER_CRASHED: "It crashed the PDF reader, each time it was tried.",
    Reason.SOURCE_VANISHED: "The file was no longer there.",
    Reason.SOURCE_CHANGED: "The file changed while it was being processed.",
    Reason.SOURCE_UNREADABLE: "The file may not be read: check its permissions.",
    Reason.OCR_UNAVAILABLE: "OCR was asked for and is not installed.",
    Reason.OCR_FAILED: "OCR did not work on this page.",
    Reason.INTERNAL_ERROR: "A fault of this program: please report it.",
}


def exit_code(summary: RunSummary) -> ExitCode:
    """Return the code with which the program ends after a run."""
    if summary.state is not RunState.FINISHED or not summary.counts.reconciled:
        return ExitCode.STOPPED
    counts = summary.counts
    if counts.pages.dead_letter or counts.documents.dead_letter or any(counts.reasons.values()):
        return ExitCode.DEAD_LETTERS
    return ExitCode.ALL_EXTRACTED


def summary_json(summary: RunSummary) -> dict[str, Any]:
    """Return the summary as the JSON object that `--json` prints."""
    counts, peak = summary.counts, summary.peak_rss_bytes
    return {
        "documents": _tally_json(counts.documents),
        "pages": _tally_json(counts.pages),
        "reconciled": counts.reconciled,
        "reasons": {str(reason): number for reason, number in sorted(counts.reasons.items())},
        "audit_records": counts.audit_records,
        "audit_head": counts.audit_head,
        "elapsed_s": round(summary.elapsed_s, 3),
        "pages_per_s": round(summary.pages_per_s, 3),
        "peak_rss_bytes": {"main": peak.main, "workers": peak.workers, "tree": peak.tree},
        "max_queue_depth": summary.max_queue_depth,
        "max_permits_held": summary.max_permits_held,
        "holds": {str(cause): number for cause, number in sorted(summary.holds.items())},
    }


def _tally_json(tally: Tally) -> dict[str, int]:
    return {
        "enumerated": tally.enumerated,
        "extracted": tally.extracted,
        "dead_letter": tally.dead_letter,
        "duplicate": tally.duplicate,
        "pending": tally.pending,
    }


def head_sentence(summary: RunSummary) -> str:
    """Return the one sentence that says how the run ended."""
    documents, pages = summary.counts.documents, summary.counts.pages
    if exit_code(summary) is ExitCode.STOPPED:
        return (
            f"Ended early: {documents.pending:,} documents and {pages.pending:,} of the pages known so far are pending."
        )
    if not documents.enumerated:
        return "No PDF was found, so that there was nothing to do."
    total = f"all {documents.enumerated:,} documents and {pages.enumerated:,} pages are accounted for"
    if exit_code(summary) is ExitCode.DEAD_LETTERS:
        return f"Reconciled: {total}, with {sum(summary.counts.reasons.values()):,} dead letters."
    return f"Reconciled: {total}, without any dead letter."


def resume_command(case: Path, sources: Sequence[Path]) -> str:
    """Return the command that goes on with a case.

    The sources stand in it again, because a run that ended early may not have found all of their files yet.
    """
    return command_line(["sluicegate", "run", *sources, "--case", case])


def print_summary(console: PlainWordsConsole, summary: RunSummary, info: CaseInfo, sources: Sequence[Path]) -> None:
    """Print how a run ended and what can be done next.

    Args:
        console: Where to.
        summary: How it ended.
        info: The case.
        sources: What was given to run, for the command that goes on with it.
    """
    code, counts = exit_code(summary), summary.counts
    if summary.error:
        console.write_line(summary.error, style="bold red")
    console.write_line(head_sentence(summary), style="bold" if code is not ExitCode.STOPPED else "bold yellow")
    if summary.already_done_documents:
        console.write_line(
            f"{summary.already_done_documents:,} documents had been finished by an earlier run, and nothing was done "
            "again."
        )
    console.print(_reconciliation(summary))
    if counts.reasons:
        console.print(_dead_letters(summary))
    for label, words in _closing(summary, info):
        console.write_line(f"{label:<12}{words}")
    console.write_line()
    for label, command in _next_commands(code, info, sources):
        console.write_line(f"{label:<12}{command}")


def print_trouble(console: PlainWordsConsole, summary: RunSummary, info: CaseInfo, sources: Sequence[Path]) -> None:
    """Print only what somebody must know who asked for quiet: an error, and how to go on after an early end.

    Args:
        console: Where to.
        summary: How the run ended.
        info: The case.
        sources: What was given to run, for the command that goes on with it.
    """
    if summary.error:
        console.write_line(summary.error)
    if exit_code(summary) is ExitCode.STOPPED:
        console.write_line(f"{head_sentence(summary)} Go on with: {resume_command(info.path, sources)}")


def _reconciliation(summary: RunSummary) -> Table:
    table = Table(title="Reconciliation of the case", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("")
    for heading in ("enumerated", "extracted", "dead letter", "duplicate", "pending"):
        table.add_column(heading, justify="right")
    for label, tally in (("documents", summary.counts.documents), ("pages", summary.counts.pages)):
        numbers = (tally.enumerated, tally.extracted, tally.dead_letter, tally.duplicate, tally.pending)
        table.add_row(label, *(f"{number:,}" for number in numbers))
    return table


def _dead_letters(summary: RunSummary) -> Table:
    table = Table(title="Dead letters", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("reason", no_wrap=True)
    table.add_column("number", justify="right")
    table.add_column("meaning")
    for reason, number in sorted(summary.counts.reasons.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(Text(reason), f"{number:,}", Text(REASON_WORDS[reason]))
    return table


def _closing(summary: RunSummary, info: CaseInfo) -> list[tuple[str, str]]:
    counts, peak = summary.counts, summary.peak_rss_bytes
    lines = [
        ("Audit log", f"{counts.audit_records:,} records, head {counts.audit_head[:HEAD_DIGITS] or 'none'}"),
        ("Time", f"{span_words(summary.elapsed_s)}, {summary.pages_per_s:,.1f} pages/s"),
        ("Memory", f"at most {mib(peak.tree)} (main process {mib(peak.main)}, workers {mib(peak.workers)})"),
        ("Flow", f"at most {summary.max_queue_depth:,} pages queued and {summary.max_permits_held:,} permits held"),
    ]
    if counts.skipped:
        lines.insert(
            0,
            (
                "Left out",
                f"{counts.skipped:,} entries (other files, links, what could not be listed); the audit log names each",
            ),
        )
    held = ", ".join(f"{cause} {number:,} times" for cause, number in sorted(summary.holds.items()) if number)
    if held:
        lines.append(("Held", held))
    return [*lines, ("Case", f"{shown(info.path)} (request {shown(info.request_id)})")]


def _next_commands(code: ExitCode, info: CaseInfo, sources: Sequence[Path]) -> list[tuple[str, str]]:
    if code is ExitCode.STOPPED:
        return [("Go on", resume_command(info.path, sources))]
    return [
        ("Texts", command_line(["sluicegate", "text", info.path, "OUT_FOLDER"])),
        ("Evidence", command_line(["sluicegate", "export", info.path, "--audit", "OUT.jsonl"])),
    ]
