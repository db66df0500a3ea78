"""The audit chain as it grows: numbers each line, links it to the one before, and puts CHECKPOINT records in between.

One journal serves one transaction. Lines collect here and go to the table in groups; `flush` before reading them
back. What is written in a line is the business of `audit` and `booking`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import apsw

from engine.case.audit import RECORD_VERSION, Fields, canonical, digest, timestamp
from engine.case.state import CaseState

CHECKPOINT_EVERY: Final = 1000
"""Records between two CHECKPOINT records."""

_GROUP: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The log as it stood: so many records, and the hash of the last one's line."""

    count: int
    head: str
    """SHA-256 of line `count`, 64 hexadecimal digits."""


class Journal:
    """Appends records within one transaction.

    The mutable state is `state` (head, records, checkpointed) and the lines not yet flushed.

    Args:
        connection: The writer, inside a transaction.
        state: The transaction's copy of the case's state.
        request_id: The case's request id.
        now: The moment that all records of the transaction carry, in UTC.
        mono_ms: The same moment on the monotonic clock, since the case was opened.
    """

    def __init__(
        self, connection: apsw.Connection, state: CaseState, *, request_id: str, now: datetime, mono_ms: int
    ) -> None:
        self._connection = connection
        self._state = state
        self._request_id = request_id
        self._lines: list[tuple[int, bytes, int | None]] = []
        self.ts = timestamp(now)
        self.mono_ms = mono_ms
        self.checkpoints: list[Checkpoint] = []
        """Checkpoints recorded in this transaction, to be kept elsewhere after its COMMIT."""

    def record(self, event: str, fields: Fields, place: int | None = None) -> str:
        """Append a record.

        Args:
            event: What happened.
            fields: What belongs to it, the common fields left out.
            place: What it is the terminal record of, if it is one.

        Returns:
            The SHA-256 of its line.
        """
        state = self._state
        common: Fields = {
            "v": RECORD_VERSION,
            "seq": state.records + 1,
            "ts": self.ts,
            "mono_ms": self.mono_ms,
            "event": event,
            "run": state.run,
            "request_id": self._request_id,
            "prev": state.head,
        }
        return self.append(canonical(fields | common), place)

    def append(self, line: bytes, place: int | None) -> str:
        """Append a line that was made with the journal's next number and head; return its SHA-256."""
        state, lines = self._state, self._lines
        state.records = seq = state.records + 1
        state.head = head = digest(line)
        lines.append((seq, line, place))
        if len(lines) >= _GROUP:
            self.flush()
        if seq - state.checkpointed >= CHECKPOINT_EVERY:
            self.checkpoint()
        return head

    def checkpoint(self) -> None:
        """Append a CHECKPOINT record, unless nothing was recorded since the last one."""
        state = self._state
        if state.records == state.checkpointed:
            return
        state.checkpointed = state.records + 1  # before the record, which would otherwise ask for another
        point = Checkpoint(count=state.records, head=state.head)
        self.checkpoints.append(point)
        self.record("CHECKPOINT", {"count": point.count, "head": point.head})

    def flush(self) -> None:
        """Write the collected lines into the table.

        Raises:
            apsw.ConstraintError: When one is a second terminal record.
        """
        self._connection.executemany("INSERT INTO audit (seq, line, place) VALUES (?, ?, ?)", self._lines)
        self._lines.clear()
