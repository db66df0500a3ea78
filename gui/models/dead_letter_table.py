"""The table of dead letters: every page or document that could not be processed, with its envelope."""

import signal
from datetime import datetime

from PySide6.QtCore import QObject

from engine import DeadLetterRow, FailureClass, document_label
from gui.models.columns import Column, Mark
from gui.models.failure_words import CLASS_SENTENCES, CLASSES, explain
from gui.models.figures import NOTHING, count
from gui.models.record_table import RecordTable


class DeadLetterTable(RecordTable[DeadLetterRow]):
    """Dead letters with reason, attempts and what ended them; see `RecordTable` for how rows come.

    Signals:
        requested (int, int): Records are looked at that are not here: number of the first one (from 1), how many.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        """Start with no rows."""
        super().__init__(COLUMNS, parent)


def ended_by(row: DeadLetterRow) -> str:
    """Return the signal or error number that is known, such as `SIGKILL (9)` or `error 12`."""
    if row.signal is not None:
        try:
            return f"{signal.Signals(row.signal).name} ({row.signal})"
        except ValueError:  # this system has no such signal; the case may come from another one
            return f"signal {row.signal}"
    return NOTHING if row.code is None else f"error {row.code}"


def when(row: DeadLetterRow) -> str:
    """Return the time to the second, in UTC as the audit log has it."""
    try:
        return datetime.fromisoformat(row.at).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:  # shown as it stands rather than not at all
        return row.at


def _class(row: DeadLetterRow) -> str:
    return CLASSES[FailureClass(row.failure_class)]


def _class_tip(row: DeadLetterRow) -> str:
    return CLASS_SENTENCES[FailureClass(row.failure_class)]


def _reason_tip(row: DeadLetterRow) -> str:
    return f"{explain(row.reason).text}\nRecorded as {row.reason.value}, trace {row.trace_id}"


def _page(row: DeadLetterRow) -> str:
    return "whole file" if row.page is None else count(row.page)


COLUMNS: tuple[Column[DeadLetterRow], ...] = (
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
        typical="department/2024/correspondence/letter-000123.pdf",
        stretches=True,
    ),
    Column(
        title="Page",
        tooltip="Which page, counted from 1, or the whole file where it could not be opened.",
        display=_page,
        raw=lambda row: row.page or 0,
        right=True,
        typical="whole file",
    ),
    Column(
        title="Reason",
        tooltip="Why it has no text; the tooltip of the cell says what to do.",
        display=lambda row: explain(row.reason).short,
        raw=lambda row: row.reason.value,
        tip=_reason_tip,
        mark=lambda _: Mark.DEAD_LETTER,
        typical="Recognition not installed",
    ),
    Column(
        title="Due to",
        tooltip="Whether circumstances failed, so that another time may succeed, or the file itself.",
        display=_class,
        raw=lambda row: row.failure_class,
        tip=_class_tip,
        typical="Circumstances",
    ),
    Column(
        title="Attempts",
        tooltip="How often it was tried.",
        display=lambda row: count(row.attempts),
        raw=lambda row: row.attempts,
        right=True,
        typical="Attempts",
    ),
    Column(
        title="Ended by",
        tooltip="The signal that ended the worker, or the number of the error, if there was one.",
        display=ended_by,
        raw=lambda row: row.signal or row.code or 0,
        typical="SIGKILL (9)",
    ),
    Column(
        title="When (UTC)",
        tooltip="When it was recorded, in universal time.",
        display=when,
        raw=lambda row: row.at,
        typical="2024-12-31 23:59:59",
    ),
)
