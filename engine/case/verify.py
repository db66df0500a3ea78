"""Verification of an exported audit log, by anybody: `python -m engine.case.verify AUDIT.jsonl [--expect-head HEX]`.

Needs nothing but the standard library, reads the file once, some lines at a time, and trusts nothing in it. What a
record must be, and how the chain is checked, stands in `chaincheck`. What the file alone cannot tell is in the notes.
"""

import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from engine.case.chaincheck import ChainCheck
from engine.case.checkedlog import Tallies
from engine.errors import CaseError
from engine.models.names import display_name
from engine.models.outcome import Outcome, Reason
from engine.models.run import Counts, Tally, VerifyReport

LONGEST_LINE: Final = 4 * 1024 * 1024
"""Bytes; a record is far shorter, and a file of one endless line must not fill the memory."""

_BLOCK_BYTES: Final = 128 * 1024
"""How much is read and checked at a time; larger ones take longer, since they do not stay in the processor's cache."""

NO_CHECKPOINT: Final = (
    "No checkpoint kept elsewhere was compared. Whether later records were cut off, or the whole log was made anew, "
    "cannot be told from the file alone: give the head that was noted when it was exported."
)
NOT_COMPARED: Final = "Texts and source files were not compared with the hashes in the log."


def verify_file(path: Path, expect_head: str | None = None) -> VerifyReport:
    """Verify an exported audit log.

    Args:
        path: The exported file.
        expect_head: The SHA-256 of some line that was noted elsewhere, such as a checkpoint's, or None. The log may
            have grown since; it must contain that line.

    Returns:
        What was found; `ok` only where nothing is wrong.

    Raises:
        CaseError: When the file cannot be read.
    """
    wanted = None if expect_head is None else expect_head.strip().lower().encode(errors="replace")
    expected_at = None
    name = display_name(str(path).encode("utf-8", "surrogateescape"))
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # to open a pipe would wait for its other end
            raise CaseError(f"{name} cannot be read: it is no ordinary file. Give the exported log as a file.")
        with path.open("rb") as file:
            header = file.readline(LONGEST_LINE)
            check = ChainCheck(header.removesuffix(b"\n"))
            if check.head.encode() == wanted:
                expected_at = 0
            is_whole = header.endswith(b"\n")
            for text, are_whole in _texts(file) if is_whole else ():
                is_whole = are_whole
                hashes = check.take_text(text)
                if wanted is not None and wanted in hashes:
                    expected_at = check.records - hashes[::-1].index(wanted)
            if not is_whole:
                check.problem("the line is cut off, or longer than any record: nothing after it was checked")
    except OSError as error:
        raise CaseError(f"{name} cannot be read ({error.strerror}). Check the name of the exported log.") from error
    check.finish()
    problems, notes = list(check.problems), _notes(check)
    if wanted is None:
        notes.append(NO_CHECKPOINT)
    elif expected_at is None:
        problems.append(
            "The log does not contain the line with the expected head: its end was cut off, or it is another log."
        )
    elif expected_at < check.records:
        notes.append(
            f"The expected head is that of record {expected_at:,}; {check.records - expected_at:,} records follow it."
        )
    notes.append(NOT_COMPARED)
    return VerifyReport(
        ok=not problems,
        records=check.records,
        head=check.head,
        problems=tuple(problems),
        notes=tuple(notes),
        counts=_counts(check.tallies, check.open_documents),
    )


def _texts(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of a file, many at a time, and whether they are whole; nothing follows one that is not."""
    while block := file.read(_BLOCK_BYTES):
        text = block if block.endswith(b"\n") else block + file.readline(LONGEST_LINE)
        last = text.rfind(b"\n", 0, -1) + 1  # the others are shorter than a block
        if text.endswith(b"\n") and len(text) - last <= LONGEST_LINE:
            yield text, True
            continue
        if last:
            yield text[:last], True
        yield text[last:][:LONGEST_LINE] + b"\n", False
        return


def _notes(check: ChainCheck) -> list[str]:
    notes = []
    if check.open_documents:
        notes.append(
            f"{check.open_documents:,} documents have records and no terminal one: the log was exported before they "
            "were done."
        )
    if not check.tallies.is_reconciled:
        notes.append("The log does not state that everything enumerated was accounted for.")
    return notes


def _counts(tallies: Tallies, open_documents: int) -> Counts:
    known = {reason.value: reason for reason in Reason}
    return Counts(
        documents=_tally(tallies.documents, max(tallies.documents_stated, tallies.documents.total() + open_documents)),
        pages=_tally(tallies.pages, max(tallies.pages_stated, tallies.pages.total())),
        skipped=tallies.skipped,
        reasons={known[word]: number for word, number in tallies.reasons.items() if word in known},
    )


def _tally(counted: dict[str, int], enumerated: int) -> Tally:
    return Tally(
        enumerated=enumerated,
        extracted=counted.get(Outcome.EXTRACTED.value, 0),
        dead_letter=counted.get(Outcome.DEAD_LETTER.value, 0),
        duplicate=counted.get(Outcome.DUPLICATE.value, 0),
    )


def main(arguments: Sequence[str]) -> int:
    """Verify the file that is named and say what was found.

    Returns:
        0 where nothing is wrong, 1 where something is, 2 where the call is impossible or the file cannot be read.
    """
    match list(arguments):
        case [file]:
            expect_head = None
        case [file, "--expect-head", expect_head] | ["--expect-head", expect_head, file]:
            pass
        case _:
            sys.stderr.write("usage: python -m engine.case.verify AUDIT.jsonl [--expect-head HEX]\n")
            return 2
    try:
        report = verify_file(Path(file), expect_head)
    except CaseError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for sentence in (*report.problems, *report.notes):
        sys.stdout.write(f"{sentence}\n")
    sys.stdout.write(f"{report.records} records, head {report.head}: {'verified' if report.ok else 'NOT verified'}\n")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
