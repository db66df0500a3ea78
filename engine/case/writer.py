"""The writing end of an open case: one transaction after the other, and what a failed one means for the next.

All calls are made on one thread. The mutable state (`state`, `_unkept`) changes only after a COMMIT succeeded, or
when a new look at the file shows that one had.
"""

import contextlib
import json
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
from engine.case.inspection import TAIL, check_chain_end
from engine.case.journal import Checkpoint
from engine.case.lock import CaseLock
from engine.case.schema import VERSION, version_of
from engine.case.state import CaseState
from engine.case.storage import (
    REPAIR,
    connect_reader,
    connect_writer,
    is_lasting,
    mark_in_use,
    renew_log,
    shown,
    transaction,
    writing_errors,
)
from engine.case.suspects import forget_unconvicted
from engine.errors import CaseDamagedError, CaseError, NotACaseError, StorageError
from engine.models.facts import LEAST_CLOCK_JUMP_MS, Fact, Noted, Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseClock:
    """The two clocks that a case writes into its records."""

    utc: Callable[[], datetime] = lambda: datetime.now(UTC)
    """The moment, with UTC as its time zone."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds on a clock that never goes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undecided:
    """A transaction whose COMMIT reported an error: it is on disk, or nothing of it is."""

    state: CaseState
    checkpoints: Sequence[Checkpoint]
    receipt: Receipt


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
        self._damage = ""
        self._undecided: _Undecided | None = None
        self._closed = False
        self.state = CaseState.load(connection)
        """The state as of the last commit; never changed in place, so that any thread may read it."""
        self._behind_ms = _behind_ms(connection, clock.utc())

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
        if self._behind_ms:
            # Whoever reads the log must know that dates before and after do not compare.
            facts = [Noted(event="CLOCK_JUMPED", fields={"jump_ms": -self._behind_ms}), *facts]
        receipt: Receipt | None = None
        self._undecided = None
        try:
            with writing_errors(self._path), transaction(self._connection):
                for fact in facts:
                    booking.book(fact)
                if checkpoint:
                    booking.checkpoint()
                receipt = booking.finish()
        except (StorageError, CaseDamagedError) as error:
            if receipt is not None:
                self._undecided = _Undecided(state=booking.state, checkpoints=booking.checkpoints, receipt=receipt)
            self._remember(error)
            raise
        self.state = booking.state
        self._behind_ms = 0
        self._unkept.extend(booking.checkpoints)
        # It is committed, whatever becomes of the checkpoints: where they cannot be kept, the next call says so.
        with contextlib.suppress(StorageError):
            self._keep_checkpoints()
        return receipt

    def reopen(self) -> Receipt | None:
        """Open the file anew after a StorageError, check it, and allow writing again.

        A failed fsync is never tried again on what it failed for: the system may have dropped the data and call the
        next one a success. So the old connection is closed without moving anything, and all that stands in the
        write-ahead log is written once more, and moved into the file itself, before anything follows it.

        Returns:
            The receipt of the commit that failed, where it is on disk; None where nothing of it is.

        Raises:
            StorageError: When the disk does not take it, or the case is not there; it can be tried again.
            CaseDamagedError: When the file does not hold what was acknowledged, or was found damaged before.
        """
        if self._closed:
            raise CaseError(f"{shown(self._path)} is closed, so that nothing can be written to it.")
        if self._damage:
            raise CaseDamagedError(self._damage)
        self._broken = self._broken or f"{shown(self._path)} could not be opened again."
        self._drop_connection()
        try:
            with writing_errors(self._path):
                # A look at it first, with a connection that can only read: another file is not touched.
                with contextlib.closing(connect_reader(self._path)) as connection:
                    kept = self._kept_meanwhile(connection)
                self._connect_again()
            self._keep_checkpoints()
        except (StorageError, CaseDamagedError) as error:
            self._drop_connection()
            self._remember(error)
            raise
        self._broken = ""
        self._undecided = None
        if kept is None:
            return None
        self.state = kept.state
        self._behind_ms = 0
        self._unkept.extend(kept.checkpoints)
        return kept.receipt

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

    def _kept_meanwhile(self, connection: apsw.Connection) -> _Undecided | None:
        """Compare the file with what was acknowledged; return the transaction that is on disk unacknowledged, if any.

        Raises:
            CaseDamagedError: When it holds neither.
        """
        try:
            is_same = version_of(connection, shown(self._path)) == VERSION
            is_same = is_same and connection.execute("SELECT line FROM header").get == self._identity.line
            found = CaseState.load(connection) if is_same else None
        except (NotACaseError, apsw.SQLError) as error:
            raise _other_case(self._path) from error
        undecided = self._undecided
        if found == self.state:
            undecided = None
        elif found is None or undecided is None or found != undecided.state:
            raise _other_case(self._path)
        check_chain_end(connection, self._path, self._identity, found, records=TAIL)
        return undecided

    def _connect_again(self) -> None:
        """Open the file for writing, and leave nothing in the write-ahead log that may never have reached the disk."""
        try:
            self._connection = connect_writer(self._path, create=False)
        except CaseError as error:  # a disk that was mounted read-only after an error, as systems do
            raise StorageError(str(error)) from error
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        renew_log(self._path)
        mark_in_use(self._connection, must_move=True)  # shows that the disk takes writes again

    def _remember(self, error: StorageError | CaseDamagedError) -> None:
        """Take note of what a failure forbids from now on."""
        if is_lasting(error) or self._broken:
            self._broken = str(error)
        if isinstance(error, CaseDamagedError):
            self._damage = str(error)

    def _drop_connection(self) -> None:
        """Close the connection without moving anything from the write-ahead log into the file."""
        with contextlib.suppress(apsw.ConnectionClosedError):
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close()

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
                self._drop_connection()
                return
            try:
                # The log is moved first, so that the flag after it needs no room on a full disk.
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
                with transaction(self._connection):
                    forget_unconvicted(self._connection)
                    self._connection.execute("UPDATE state SET clean = 1")
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            except apsw.Error:
                # Made good by the next opening, which finds the case not cleanly closed, and needs its log for that.
                self._drop_connection()
        finally:
            self._connection.close()
            self._lock.release()


def _behind_ms(connection: apsw.Connection, now: datetime) -> int:
    """Return by how much the wall clock is behind the last record of the log; 0 where it is not, or hardly."""
    line: bytes | None = connection.execute("SELECT line FROM audit ORDER BY seq DESC LIMIT 1").get
    if line is None:
        return 0
    behind_ms = round((datetime.fromisoformat(json.loads(line)["ts"]) - now).total_seconds() * 1000)
    return behind_ms if behind_ms >= LEAST_CLOCK_JUMP_MS else 0


def _other_case(path: Path) -> CaseDamagedError:
    return CaseDamagedError(
        f"{shown(path)} is not as it was when it was last written: an older copy or another file has taken its place, "
        f"or the disk lost what it had confirmed. Nothing is written to it any more. Bring back the newer file, or "
        f"{REPAIR}."
    )
