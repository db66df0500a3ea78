"""Repair of a damaged case in the terminal: what was kept, what was left behind, and how to go on.

How a case is repaired is the business of `engine.case`.
"""

from pathlib import Path

from engine.case.checkpoints import CheckpointLedger
from engine.case.repair import RepairReport, repair
from engine.errors import ExitCode
from engine.session.directories import Directories
from engine.terminal.console import command_line, messages, output, shown
from engine.terminal.signals import interrupted_by_end


def repair_case(damaged: Path, out: Path, *, ignore_checkpoint: bool) -> ExitCode:
    """Repair a damaged case into a new file and say what became of it.

    Args:
        damaged: The damaged case; it is not changed.
        out: The new case.
        ignore_checkpoint: Whether a log that contradicts the last known checkpoint is repaired all the same.

    Returns:
        0, or 3 where somebody asked for an end before there was a new case.

    Raises:
        EngineError: When the case cannot be repaired, or not into that file, or nothing is wrong with it.
    """
    ledger = CheckpointLedger(Directories.default().checkpoints)
    try:
        with interrupted_by_end():
            report = repair(damaged, out, ledger=ledger, ignore_checkpoint=ignore_checkpoint)
    except KeyboardInterrupt:
        messages().write_line(
            f"Interrupted when {shown(out)} was complete. Check it: sluicegate run goes on with it."
            if out.exists()
            else "Interrupted. There is no new case, and the damaged one is as it was."
        )
        return ExitCode.STOPPED
    console = output()
    for sentence in sentences(report):
        console.write_line(sentence)
    folders = [] if report.sources else ["FOLDER"]
    console.write_line("Go on with it:")
    console.write_line(command_line(["sluicegate", "run", *folders, "--case", report.path]))
    return ExitCode.ALL_EXTRACTED


def sentences(report: RepairReport) -> list[str]:
    """Return what a repair kept and what it left behind, in sentences."""
    documents, pages = report.counts.documents, report.counts.pages
    done = f"{pages.extracted:,} pages extracted, {pages.dead_letter:,} dead letters, {pages.duplicate:,} duplicates"
    said = [
        f"The repaired case is {shown(report.path)}. The damaged one was not changed: keep it.",
        f"Kept: {report.kept:,} audit records as they were; {done}; {documents.terminal:,} documents are done.",
    ]
    if report.mended:
        said.append(
            f"In {report.mended:,} records or texts one bit had turned, and was turned back: their hashes prove it."
        )
    if report.left:
        said.append(
            f"Left behind: {report.left:,} audit records that could not be read, or that follow one that could not, or "
            "whose page's text is lost. What they tell of is pending again."
        )
    else:
        said.append("Left behind: no audit record that is known of.")
    said.append(
        f"To be done: {documents.pending:,} documents and {pages.pending:,} pages that are known, and whatever is "
        "found when "
        + (
            f"what was given as sources ({report.sources:,} in all) is looked through once more."
            if report.sources
            else "you name the folders again: which ones they were is lost."
        )
    )
    return said
