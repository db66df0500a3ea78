"""The running state of a case: counters, run number, and the end of its audit chain.

It is one row in the file, changed in the same transaction as whatever it counts, so that opening a case of millions
of pages reads one row. The writer works on a copy and keeps it only when the transaction was committed.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Self

import apsw

from engine.models.outcome import Outcome, Reason
from engine.models.run import Counts, Tally


@dataclass(slots=True)
class CaseState:
    """Everything about a case that is a number or a flag; mutable, owned by one transaction at a time."""

    head: str
    """SHA-256 of the last line of the log, the header included."""
    paused: bool = False
    run: int = 0
    records: int = 0
    """Audit records; the last one's `seq`."""
    checkpointed: int = 0
    """`seq` of the last CHECKPOINT record."""
    dead_letters: int = 0
    skipped: int = 0
    waiting: int = 0
    """Documents that wait for what becomes of the same bytes."""
    unfinished_sources: int = 0
    """Sources that were asked for and not yet looked through to the end."""
    documents: int = 0
    documents_extracted: int = 0
    documents_dead: int = 0
    documents_duplicate: int = 0
    pages: int = 0
    pages_extracted: int = 0
    pages_dead: int = 0
    pages_duplicate: int = 0
    reasons: dict[Reason, int] = field(default_factory=dict)
    files_known: int = field(default=0, compare=False)
    """Files met again unchanged in this run; not in the file, since a run ends with its process."""

    def copy(self) -> Self:
        """Return an independent copy."""
        return replace(self, reasons=dict(self.reasons))

    @property
    def last_doc_id(self) -> int:
        """The highest number in the manifest."""
        return self.documents + self.skipped

    def counts(self) -> Counts:
        """Return the counts as people see them."""
        return Counts(
            documents=Tally(
                enumerated=self.documents,
                extracted=self.documents_extracted,
                dead_letter=self.documents_dead,
                duplicate=self.documents_duplicate,
            ),
            pages=Tally(
                enumerated=self.pages,
                extracted=self.pages_extracted,
                dead_letter=self.pages_dead,
                duplicate=self.pages_duplicate,
            ),
            skipped=self.skipped,
            reasons=dict(self.reasons),
            unfinished_sources=self.unfinished_sources,
            audit_records=self.records,
            audit_head=self.head,
        )

    def count_document(self, outcome: Outcome) -> None:
        """Count a document's terminal record."""
        match outcome:
            case Outcome.EXTRACTED:
                self.documents_extracted += 1
            case Outcome.DEAD_LETTER:
                self.documents_dead += 1
            case Outcome.DUPLICATE:
                self.documents_duplicate += 1

    def count_dead_letter(self, reason: Reason) -> int:
        """Count a dead letter; return its number."""
        self.dead_letters += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        return self.dead_letters

    def save(self, connection: apsw.Connection, before: Self | None = None) -> None:
        """Write the state into its row.

        Args:
            connection: The writer, inside a transaction.
            before: What is in the file now, or None where there is no row yet.
        """
        values = [getattr(self, name) for name in _COLUMNS]
        row = (*values, bytes.fromhex(self.head))
        if before is None:
            connection.execute(_INSERT, row)
        else:
            connection.execute(_UPDATE, row)
        for reason, number in self.reasons.items():
            if before is None or before.reasons.get(reason) != number:
                connection.execute("INSERT OR REPLACE INTO reasons VALUES (?, ?)", (reason.value, number))

    @classmethod
    def load(cls, connection: apsw.Connection) -> Self:
        """Read the state; also of a case that a newer program wrote, as far as this one knows its words."""
        row = connection.execute(_SELECT).fetchone()
        assert row is not None  # noqa: S101  # the tables are created with it
        values = dict(zip(_COLUMNS, row[:-1], strict=True))
        values["paused"] = bool(values["paused"])
        known = {reason.value: reason for reason in Reason}
        reasons = {
            known[reason]: number
            for reason, number in connection.execute("SELECT reason, count FROM reasons")
            if reason in known
        }
        return cls(head=row[-1].hex(), reasons=reasons, **values)


_COLUMNS = tuple(item.name for item in fields(CaseState) if item.name not in ("head", "reasons", "files_known"))
_SELECT = f"SELECT {', '.join(_COLUMNS)}, head FROM state"  # noqa: S608  # names of our own fields
_UPDATE = f"UPDATE state SET {', '.join(f'{name} = ?' for name in _COLUMNS)}, head = ?"  # noqa: S608  # as above
_INSERT = (
    f"INSERT INTO state (id, clean, {', '.join(_COLUMNS)}, head) "  # noqa: S608  # as above
    f"VALUES (1, 1, {', '.join('?' * len(_COLUMNS))}, ?)"
)
