"""The writing end of an open case: one transaction after the other, and what a failed one means for the next.

All calls are made on one thread. The mutable state (`state`, `_unkept`) changes only after a COMMIT succeeded.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from engine.case.audit import PageForm
from engine.case.booking import Booking, Moment
from engine.case.checkpoints import CheckpointKeeper
from engine.case.identity import CaseIdentity
from engine.case.journal import Checkpoint
from engine.case.lock import CaseLock
from engine.case.state import CaseState
from engine.case.storage import is_lasting, shown, transaction, writing_errors
from engine.errors import CaseDamagedError, CaseError, StorageError
from engine.models.facts import Fact, Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseClock:
    """The two clocks that a case writes into its records."""

    utc: Callable[[], datetime] = lambda: datetime.now(UTC)
    """The moment, with UTC as its time zone."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds on a clock that never goes back."""


class CaseWriter:
    """Writes to one case.

    Args:
        path: The case file, for sentences.
        connection: The writing connection; the writer closes it.
        lock: What keeps others away; the writer releases it.
        identity: The case.
        ledger: Keeps checkpoints elsewhere, or None.
        clock: What tells the time.
    """

    def __init__(
        self,
        path: Path,
        *,
        connection: apsw.Connection,
        lock: CaseLock,
        identity: CaseIdentity,
        ledger: CheckpointKeeper | None,
        clock: CaseClock,
    ) -> None:
        self._path = path
        self._connection = connection
        self._lock = lock
        self._identity = identity
        self._ledger = ledger
        self._clock = clock
        self._started_s = clock.monotonic()
        self._form = PageForm(identity.request_id)
        self._unkept: list[Checkpoint] = []
        self._broken = ""
        self._closed = False
        self.state = CaseState.load(connection)
        """The state as of the last commit; never changed in place, so that any thread may read it."""

    def book(self, facts: Sequence[Fact], *, checkpoint: bool = False) -> Receipt:
        """Commit facts, with their audit records, in one transaction.

        Args:
            facts: What happened, in order.
            checkpoint: Whether a CHECKPOINT is to follow, where anything was recorded since the last one.

        Raises:
            StorageError: When it could not be written; then nothing of it was.
            CaseDamagedError: When the file turned out to be damaged; nothing of it was written.
            ContradictionError: When a fact contradicts what the case holds; nothing of it was written.
        """
        if self._closed:
            raise CaseError(f"{shown(self._path)} is closed, so that nothing can be written to it.")
        if self._broken:
            raise StorageError(self._broken)
        if not facts and not checkpoint:
            return Receipt(counts=self.state.counts())
        # Before anything new: a checkpoint that could not be kept must not be overtaken by more records.
        self._keep_checkpoints()
        booking = self._booking()
        try:
            with writing_errors(self._path), transaction(self._connection):
                for fact in facts:
                    booking.book(fact)
                if checkpoint:
                    booking.checkpoint()
                receipt = booking.finish()
        except (StorageError, CaseDamagedError) as error:
            if is_lasting(error):
                self._broken = str(error)
            raise
        self.state = booking.state
        self._unkept.extend(booking.checkpoints)
        # It is committed, whatever becomes of the checkpoints: where they cannot be kept, the next call says so.
        with contextlib.suppress(StorageError):
            self._keep_checkpoints()
        return receipt

    def close(self) -> None:
        """Mark the case as cleanly closed, close it and let go of it; a second call does nothing.

        Raises:
            StorageError: When the last checkpoints could not be kept elsewhere; the case is closed all the same.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._keep_checkpoints()
        finally:
            self._close()

    def _booking(self) -> Booking:
        moment = Moment(utc=self._clock.utc(), mono_ms=round((self._clock.monotonic() - self._started_s) * 1000))
        return Booking(self._connection, identity=self._identity, before=self.state, form=self._form, moment=moment)

    def _keep_checkpoints(self) -> None:
        if self._ledger is not None and self._unkept:
            self._ledger.keep(self._identity.case_id, self._unkept)
        self._unkept.clear()

    def _close(self) -> None:
        try:
            if self._broken:
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                return
            # What fails here is made good by the next opening, which finds the case not cleanly closed.
            with contextlib.suppress(apsw.Error):
                self._connection.execute("UPDATE state SET clean = 1")
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            self._connection.close()
            self._lock.release()
