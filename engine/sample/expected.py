"""What a run makes of the sample batch: the outcome of every file and page, and the counts, with OCR off.

Covers the expectation alone, derived from the plan in `documents`; tests compare it with what MuPDF says and with a
whole run, and the documentation takes its figures from here.
"""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from engine.models.outcome import Method, Outcome, Reason, SkipReason
from engine.models.run import Counts, Tally
from engine.sample.documents import (
    NOTE,
    SKIPPED_FOLDERS,
    Finish,
    Kind,
    SampleCopy,
    SampleDocument,
    SampleFile,
    SampleLink,
    SamplePage,
    SampleRaw,
    files,
)

_PAGE_REASONS = {Kind.SCAN: Reason.NO_TEXT, Kind.BROKEN: Reason.CORRUPT_PAGE}
_DOCUMENT_REASONS = {Finish.LOCKED: Reason.ENCRYPTED, Finish.CUT_IN_MIDDLE: Reason.CORRUPT_DOCUMENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPage:
    """What becomes of one page."""

    outcome: Outcome
    method: Method
    reason: Reason | None = None
    damaged: bool = False
    """Whether part of it cannot be read."""
    lines: tuple[str, ...] = ()
    """Lines that its text holds, spaces aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFile:
    """What becomes of one file or, where it is listed, of a folder."""

    path: bytes
    """Path below the sample folder, as the file system spells it."""
    skip: SkipReason | None = None
    """Why it is left out."""
    outcome: Outcome | None = None
    """None where it is left out. Of two equal documents, whichever comes second is a duplicate of the other."""
    reason: Reason | None = None
    pages: tuple[ExpectedPage, ...] = ()
    """Its pages; none where it cannot be opened."""
    repaired: bool = False
    copy_of: bytes | None = None
    """Path of the document with the same bytes."""


def expected_files(folder: Path) -> tuple[ExpectedFile, ...]:
    """Return what becomes of each file of the batch that is in a folder, the note and listed folders included."""
    batch = {file.path: file for file in files() if os.path.lexists(folder / file.path)}
    note = ExpectedFile(path=_spelled(NOTE), skip=SkipReason.NOT_SELECTED)
    folders = [ExpectedFile(path=_spelled(path), skip=skip) for path, skip in SKIPPED_FOLDERS.items()]
    listed = [_expected(file, batch) for path, file in batch.items() if not _is_inside_junk(path)]
    return (note, *folders, *listed)


def expected_counts(folder: Path) -> Counts:
    """Return the counts that a run over the folder ends with; those of the audit log are left at nothing."""
    documents, pages, reasons = Counter[Outcome](), Counter[Outcome](), Counter[Reason]()
    expected = expected_files(folder)
    for file in expected:
        if file.outcome is None:
            continue
        outcome = file.outcome if file.copy_of is None else Outcome.DUPLICATE
        documents[outcome] += 1
        pages.update(outcome if file.copy_of is not None else page.outcome for page in file.pages)
        if not file.pages and file.reason is not None:
            reasons[file.reason] += 1
        reasons.update(page.reason for page in file.pages if page.reason is not None and file.copy_of is None)
    return Counts(
        documents=_tally(documents),
        pages=_tally(pages),
        skipped=sum(file.skip is not None for file in expected),
        reasons=dict(reasons),
    )


def _expected(file: SampleFile, batch: dict[str, SampleFile]) -> ExpectedFile:
    path = _spelled(file.path)
    match file:
        case SampleLink():
            return ExpectedFile(path=path, skip=SkipReason.SYMBOLIC_LINK)
        case SampleRaw():
            outcome = None if file.reason is None else Outcome.DEAD_LETTER
            return ExpectedFile(path=path, skip=file.skip, outcome=outcome, reason=file.reason)
        case SampleCopy():
            original = _expected(batch[file.of], batch)
            return ExpectedFile(path=path, outcome=original.outcome, pages=original.pages, copy_of=original.path)
        case SampleDocument():
            return _expected_document(path, file)


def _expected_document(path: bytes, document: SampleDocument) -> ExpectedFile:
    reason = _DOCUMENT_REASONS.get(document.finish)
    if reason is not None:
        return ExpectedFile(path=path, outcome=Outcome.DEAD_LETTER, reason=reason)
    pages = tuple(map(_expected_page, document.pages))
    if all(page.outcome is Outcome.DEAD_LETTER for page in pages):
        return ExpectedFile(path=path, outcome=Outcome.DEAD_LETTER, reason=pages[0].reason, pages=pages)
    repaired = document.finish is Finish.CUT_AT_END
    return ExpectedFile(path=path, outcome=Outcome.EXTRACTED, pages=pages, repaired=repaired)


def _expected_page(page: SamplePage) -> ExpectedPage:
    reason = _PAGE_REASONS.get(page.kind)
    if reason is not None:
        damaged = page.kind is Kind.BROKEN
        return ExpectedPage(outcome=Outcome.DEAD_LETTER, method=Method.NONE, reason=reason, damaged=damaged)
    if page.kind is Kind.BLANK:
        return ExpectedPage(outcome=Outcome.EXTRACTED, method=Method.BLANK)
    damaged = page.kind is Kind.TORN
    return ExpectedPage(outcome=Outcome.EXTRACTED, method=Method.TEXT, damaged=damaged, lines=page.lines)


def _is_inside_junk(path: str) -> bool:
    return SKIPPED_FOLDERS.get(path.partition("/")[0]) is SkipReason.HIDDEN_JUNK


def _spelled(path: str) -> bytes:
    return os.fsencode(path.replace("/", os.sep))


def _tally(outcomes: Counter[Outcome]) -> Tally:
    return Tally(
        enumerated=outcomes.total(),
        extracted=outcomes[Outcome.EXTRACTED],
        dead_letter=outcomes[Outcome.DEAD_LETTER],
        duplicate=outcomes[Outcome.DUPLICATE],
    )
