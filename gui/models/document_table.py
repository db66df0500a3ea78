"""The table of documents: one row for every entry of the manifest, those left out included."""

from PySide6.QtCore import QObject

from engine import DocumentRow, Outcome, Reason, RowState, document_label
from gui.models.columns import Column, Mark
from gui.models.failure_words import explain
from gui.models.figures import NOTHING, count, counted, size
from gui.models.record_table import RecordTable
from gui.models.words import OUTCOMES, ROW_STATE_SENTENCES, ROW_STATES

_STATE_MARKS = {
    RowState.PENDING: Mark.PENDING,
    RowState.OPEN: Mark.WORKING,
    RowState.WAITING: Mark.PENDING,
    RowState.SKIPPED: Mark.LEFT_OUT,
}
_REBUILT = "Rebuilt; may lack text"
REBUILT_SENTENCE = (
    "The file was damaged and had to be rebuilt, as with one that was cut short: pages or text may be missing. "
    "Compare it with the original."
)


class DocumentTable(RecordTable[DocumentRow]):
    """Documents with their pages, outcome and reason; see `RecordTable` for how rows come.

    Signals:
        requested (int, int): Records are looked at that are not here: number of the first one (from 1), how many.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        """Start with no rows."""
        super().__init__(COLUMNS, parent)


def outcome_words(row: DocumentRow) -> str:
    """Return where a document stands, in a few words."""
    if row.state is not RowState.DONE or row.outcome is None:
        return ROW_STATES[row.state]
    if row.outcome is Outcome.EXTRACTED and row.pages_dead:
        return f"Extracted, {counted(row.pages_dead, 'page')} dead"
    return OUTCOMES[row.outcome].short


def reason_words(row: DocumentRow) -> str:
    """Return why a document has no text, or what is to know about the text it has; empty where all is well."""
    if row.reason is not None:
        return explain(row.reason).short
    if row.duplicate_of is not None:
        return f"Same bytes as {document_label(row.duplicate_of)}"
    return _REBUILT if row.repaired else ""


def _outcome_tip(row: DocumentRow) -> str:
    if row.state is not RowState.DONE or row.outcome is None:
        return ROW_STATE_SENTENCES[row.state]
    return OUTCOMES[row.outcome].text


def _reason_tip(row: DocumentRow) -> str:
    lines = [explain(row.reason).text] if row.reason is not None else []
    if row.duplicate_of is not None:
        lines.append(f"The same bytes are accounted for by {document_label(row.duplicate_of)}.")
    if row.repaired:
        lines.append(REBUILT_SENTENCE)
    return "\n".join(lines)


def _mark(row: DocumentRow) -> Mark:
    if row.state is not RowState.DONE or row.outcome is None:
        return _STATE_MARKS.get(row.state, Mark.PENDING)
    if row.outcome is Outcome.EXTRACTED and (row.pages_dead or row.repaired):
        return Mark.PARTLY
    return Mark(row.outcome.value.lower())


def _path_tip(row: DocumentRow) -> str:
    return f"{row.path}\nin {row.root}\n{size(row.size_bytes)}"


def _done_tip(row: DocumentRow) -> str:
    if row.page_count is None:
        return "Its pages are not known."
    dead = f", {count(row.pages_dead)} of them as dead letters" if row.pages_dead else ""
    return f"{count(row.pages_done)} of {counted(row.page_count, 'page')} accounted for{dead}."


def _pages(row: DocumentRow) -> str:
    return NOTHING if row.page_count is None else count(row.page_count)


def _done(row: DocumentRow) -> str:
    return NOTHING if row.page_count is None else count(row.pages_done)


def _raw_reason(row: DocumentRow) -> str:
    return row.reason.value if isinstance(row.reason, Reason) else str(row.reason or "")


COLUMNS: tuple[Column[DocumentRow], ...] = (
    Column(
        title="Document",
        tooltip="The document's number in the case, as the audit log names it.",
        display=lambda row: document_label(row.doc_id),
        raw=lambda row: row.doc_id,
        typical="D0000000",
    ),
    Column(
        title="Path",
        tooltip="Where it was found, below the folder that was added.",
        display=lambda row: row.path,
        raw=lambda row: row.path,
        tip=_path_tip,
        typical="department/2024/correspondence/letter-000123.pdf",
        stretches=True,
    ),
    Column(
        title="Pages",
        tooltip="How many pages it has; not known before it was looked into.",
        display=_pages,
        raw=lambda row: -1 if row.page_count is None else row.page_count,
        right=True,
        typical="100,000",
    ),
    Column(
        title="Done",
        tooltip="How many of its pages are accounted for.",
        display=_done,
        raw=lambda row: row.pages_done,
        tip=_done_tip,
        right=True,
        typical="100,000",
    ),
    Column(
        title="Outcome",
        tooltip="What became of it, or where it stands.",
        display=outcome_words,
        raw=lambda row: str(row.outcome or row.state),
        tip=_outcome_tip,
        mark=_mark,
        typical="Extracted, 10 pages dead",
    ),
    Column(
        title="Reason",
        tooltip="Why it has no text, or what is to know about the text it has.",
        display=reason_words,
        raw=_raw_reason,
        tip=_reason_tip,
        typical="Recognition not installed",
    ),
)
