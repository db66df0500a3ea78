"""What is taken out of a case and checked: the audit log, the texts, a verification, and the sample batch to try it on.

Covers what the terminal prints about each. How an export is written and what a verification looks at is the business of
`engine.case`.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from engine.case.verify import verify_file
from engine.errors import CaseError, EngineError, ExitCode, StorageError
from engine.models.run import VerifyReport
from engine.sample.batch import write_sample_batch_now
from engine.sample.expected import expected_counts
from engine.session.directories import Directories
from engine.session.opening import open_case
from engine.session.session import Session
from engine.settings import Settings
from engine.terminal.console import command_line, messages, output, shown

CHECKED = (
    "Checked: the form of every line, its link to the line before and to its document's own history, numbers without "
    "gaps, one outcome for every page and document, the documents' keys, the checkpoints and the stated totals."
)

T = TypeVar("T")


def export(case: Path, audit: Path, operator: str | None, *, as_it_is: bool = False) -> ExitCode:
    """Write the audit log of a case to a file, verified.

    Args:
        case: The case file.
        audit: The file to write.
        operator: Who does it, or None for the login name.
        as_it_is: Whether to write a log that does not verify all the same.

    Returns:
        0, or 1 where the written file does not verify.

    Raises:
        EngineError: When the case cannot be opened or the file cannot be written.
    """
    report = _with_case(case, operator, lambda session: session.export_audit(audit, as_it_is=as_it_is))
    console = output()
    console.write_line(f"Wrote {shown(report.path)}: {report.records:,} records.")
    console.write_line(f"Head of the chain: {report.head}")
    _print_findings(report.verified)
    console.write_line("Keep the head somewhere else, and anybody can check the file against it:")
    console.write_line(command_line(["sluicegate", "verify", report.path, "--expect-head", report.head]))
    return ExitCode.ALL_EXTRACTED if report.verified.ok else ExitCode.DEAD_LETTERS


def text(case: Path, folder: Path, operator: str | None) -> ExitCode:
    """Write the texts of a case to a folder.

    Args:
        case: The case file.
        folder: The folder to write.
        operator: Who does it, or None for the login name.

    Raises:
        EngineError: When the case cannot be opened or the texts cannot be written.
    """
    report = _with_case(case, operator, lambda session: session.export_text(folder))
    output().write_line(
        f"Wrote the texts of {report.pages:,} pages of {report.documents:,} documents to {shown(report.folder)}."
    )
    return ExitCode.ALL_EXTRACTED


def verify(file: Path, expect_head: str | None) -> ExitCode:
    """Verify an exported audit log.

    Args:
        file: The exported log.
        expect_head: The head that was kept elsewhere, or None.

    Returns:
        0 where everything is as it should be, 1 where there are problems.

    Raises:
        EngineError: When the file cannot be read as a log at all.
    """
    report = verify_file(file, expect_head=expect_head)
    console = output()
    console.write_line(f"{shown(file)}: {report.records:,} records, head {report.head or 'none'}")
    console.write_line(CHECKED)
    if expect_head is not None and report.ok:
        console.write_line("Compared with the head that was given: the log contains it.")
    if report.counts is not None:
        for label, tally in (("documents", report.counts.documents), ("pages", report.counts.pages)):
            console.write_line(
                f"Recounted {label}: {tally.enumerated:,} enumerated, {tally.extracted:,} extracted, "
                f"{tally.dead_letter:,} dead letters, {tally.duplicate:,} duplicates, {tally.pending:,} pending."
            )
    _print_findings(report)
    return ExitCode.ALL_EXTRACTED if report.ok else ExitCode.DEAD_LETTERS


def sample(folder: Path) -> ExitCode:
    """Write the sample batch to a folder and say what is in it.

    Args:
        folder: The folder to write; made if it is not there.

    Raises:
        EngineError: When it cannot be written.
    """
    written = write_sample_batch_now(folder)
    counts, console = expected_counts(folder), output()
    console.write_line(f"The sample batch is in {shown(folder)}: {written:,} files.")
    console.write_line(
        f"A run finds {counts.documents.enumerated:,} documents with {counts.pages.enumerated:,} pages, among them "
        f"{counts.documents.duplicate:,} copies, and leaves {counts.skipped:,} entries out."
    )
    bad = ", ".join(f"{reason} {number:,}" for reason, number in sorted(counts.reasons.items()))
    console.write_line(f"Dead letters to expect, from what is bad on purpose: {bad}.")
    console.write_line("Try it:")
    console.write_line(command_line(["sluicegate", "run", folder]))
    return ExitCode.ALL_EXTRACTED


def _print_findings(report: VerifyReport) -> None:
    console = output()
    for problem in report.problems:
        console.write_line(f"Problem: {shown(problem)}", style="red")
    for note in report.notes:
        console.write_line(f"Note: {shown(note)}")
    console.write_line("Verified." if report.ok else "NOT verified.", style="bold" if report.ok else "bold red")


def _with_case(case: Path, operator: str | None, act: Callable[[Session], Awaitable[T]]) -> T:
    """Open an existing case, do something with it and close it."""
    if not case.exists():
        raise CaseError(f"There is no case file {shown(case)}. Check its name.")

    async def opened() -> T:
        session = await _open(case, operator)
        try:
            if session.info.note:
                messages().write_line(session.info.note)
            return await act(session)
        finally:
            await session.close()

    return asyncio.run(opened())


async def _open(case: Path, operator: str | None) -> Session:
    """Open a case as well as it can be: what is taken out of it is recorded in it, unless it can only be read."""
    open_it = functools.partial(open_case, case, settings=Settings(), directories=Directories.default())
    try:
        return await open_it(operator=operator)
    except (CaseError, StorageError) as error:
        # Whatever is against writing (another process has it, a disc, a share, a full disk, damage), what is there can
        # still be looked at and taken out, with a word about what is wrong with it.
        with suppress(EngineError):  # where it cannot be read either, the first sentence is the one to show
            session = await open_it(read_only=True)
            messages().write_line(f"{error} It is only read now, and this is not recorded in it.")
            return session
        raise
