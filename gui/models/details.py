"""Everything about one row, for reading and triage: in sentences first, then the recorded fields.

Covers what is said about a record; the short words in cells stand with the tables.
"""

from dataclasses import dataclass

from engine import DeadLetterRow, DocumentRow, FailureClass, Outcome, RowState, document_label
from gui.models.dead_letter_table import ended_by, when
from gui.models.document_table import REBUILT_SENTENCE, outcome_words
from gui.models.failure_words import CLASS_SENTENCES, explain
from gui.models.figures import NOTHING, count, counted, size
from gui.models.words import OUTCOMES, ROW_STATE_SENTENCES, Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """One record, spelled out."""

    title: str
    """What it is about, such as a path."""
    headline: str
    """Where it stands, in a few words."""
    sentences: tuple[tuple[str, str], ...]
    """Each a question with its answer."""
    fields: tuple[tuple[str, str], ...]
    """Recorded values with their names, as the audit log has them."""

    @property
    def text(self) -> str:
        """All of it as plain text, to be copied."""
        lines = [self.title, self.headline, ""]
        lines.extend(f"{question}: {answer}" for question, answer in self.sentences)
        lines.append("")
        lines.extend(f"{name}: {value}" for name, value in self.fields)
        return "\n".join(lines) + "\n"


def dead_letter_details(row: DeadLetterRow) -> Details:
    """Return a dead letter with its whole envelope."""
    where = "whole file" if row.page is None else f"page {count(row.page)}"
    words = explain(row.reason)
    return Details(
        title=row.path,
        headline=f"{words.short}, {where}",
        sentences=(*_answers(words), ("Again?", CLASS_SENTENCES[FailureClass(row.failure_class)])),
        fields=(
            ("Document", document_label(row.doc_id)),
            ("Page", NOTHING if row.page is None else count(row.page)),
            ("Reason", row.reason.value),
            ("Class", row.failure_class),
            ("Attempts", count(row.attempts)),
            ("Ended by", ended_by(row)),
            ("When (UTC)", when(row)),
            ("Run", count(row.run)),
            ("Trace", row.trace_id),
            ("Request", row.request_id or NOTHING),
            ("Worker", row.posture or NOTHING),
        ),
    )


def document_details(row: DocumentRow) -> Details:
    """Return a row of the manifest with everything known about it."""
    sentences: list[tuple[str, str]] = []
    if row.reason is not None:
        sentences.extend(_answers(explain(row.reason)))
    elif row.state is RowState.DONE and row.outcome is not None:
        sentences.extend(_answers(OUTCOMES[row.outcome]))
    else:
        sentences.append(("Where it stands", ROW_STATE_SENTENCES[row.state]))
    if row.outcome is Outcome.EXTRACTED and row.pages_dead:
        dead = counted(row.pages_dead, "page")
        sentences.append(("But", f"{dead} could not be processed; see the list of dead letters."))
    if row.repaired:
        sentences.append(("But", REBUILT_SENTENCE))
    return Details(
        title=row.path,
        headline=outcome_words(row),
        sentences=tuple(sentences),
        fields=(
            ("Document", document_label(row.doc_id)),
            ("Folder", row.root),
            ("Size", size(row.size_bytes)),
            ("Pages", NOTHING if row.page_count is None else count(row.page_count)),
            ("Done", NOTHING if row.page_count is None else count(row.pages_done)),
            ("Dead letters", count(row.pages_dead)),
            ("State", row.state.value),
            ("Outcome", NOTHING if row.outcome is None else row.outcome.value),
            ("Reason", NOTHING if row.reason is None else row.reason.value),
            ("Same bytes as", NOTHING if row.duplicate_of is None else document_label(row.duplicate_of)),
        ),
    )


def _answers(words: Explanation) -> tuple[tuple[str, str], ...]:
    return (
        ("What happened", words.happened),
        ("What it means", words.meaning),
        ("What to do", words.advice),
    )
