"""The case file: creating, opening and closing it, and what can be asked of it and told to it.

It is the pipeline's `CaseStore`. `commit` is called on one thread; reading is possible from any thread, beside it, as
of the last commit. Every call blocks. How a transaction is made is the business of `writer`.

Nothing is written before the checks of `inspection` were passed. From then on a flag in the file says that it is in
use; a clean close takes it back, so that the next opening knows whether to look closer.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import apsw

from engine.case.checkpoints import CheckpointKeeper
from engine.case.disks import require_local_disk
from engine.case.identity import CaseIdentity
from engine.case.inspection import TAIL, check_chain_end, check_checkpoint, check_file
from engine.case.lock import CaseLock
from engine.case.logframes import LogFinding, look_at_log
from engine.case.places import require_place
from engine.case.reader import CaseReader
from engine.case.schema import VERSION, apply_steps, check_tables, insert_header, is_blank, migrate, too_new, version_of
from engine.case.state import CaseState
from engine.case.storage import (
    SQLITE_MAGIC,
    connect_reader,
    connect_writer,
    is_cut_short,
    log_is_damaged,
    log_is_gone,
    mark_in_use,
    not_a_case,
    opening_errors,
    renew_log,
    roll_back,
    shown,
    sync_folder,
    transaction,
)
from engine.case.writer import CaseClock, CaseWriter
from engine.errors import CaseDamagedError, CaseError, NotACaseError
from engine.models.document import DocumentRef, OpenDocument, PageUnit, Strikes
from engine.models.facts import Fact, Receipt
from engine.models.run import CaseInfo, Counts

RECOVERED = (
    "The program ended without closing this case last time. The file and the end of its audit log were checked, and "
    "everything that was acknowledged is there."
)


class CaseFile:
    """One case file, open in this process; use `create` or `open`."""

    def __init__(
        self,
        path: Path,
        *,
        reader: CaseReader,
        writer: CaseWriter | None,
        note: str,
    ) -> None:
        self.path = path
        self._reader = reader
        self._writer = writer
        self._note = note

    @staticmethod
    def is_new(path: Path) -> bool:
        """Whether there is no case at a path yet: no file, or one whose creation was cut short.

        Raises:
            NotACaseError: When something else is there, such as a folder.
            CaseError: When something is there and cannot be read, or its name cannot be that of a case.
        """
        require_place(path)
        beginning = _beginning(path)
        if beginning not in (b"", SQLITE_MAGIC) and is_cut_short(path):
            # The power failed while the file was being made, and of its first page only a part is on disk.
            with opening_errors(path):
                _roll_back(path)
            beginning = _beginning(path)
        if beginning and beginning != SQLITE_MAGIC:  # SQLite itself takes a file of a few bytes for an empty database
            raise not_a_case(path)
        return not beginning or _version(path) is None

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        request_id: str,
        ledger: CheckpointKeeper | None = None,
        clock: CaseClock | None = None,
        mounts: bytes | None = None,
    ) -> Self:
        """Create a case and open it for writing.

        Args:
            path: The file; its folder must exist.
            request_id: What the work is for; part of every record and of every idempotency key.
            ledger: Keeps checkpoints elsewhere.
            clock: What tells the time.
            mounts: The system's table of mounts, for tests.

        Raises:
            CaseError: When there is something at that path, or a case cannot be there.
            CaseInUseError: When another process is just creating it.
        """
        clock = clock or CaseClock()
        identity = CaseIdentity.new(request_id, clock.utc())
        require_place(path)
        require_local_disk(path, mounts)
        if not cls.is_new(path):
            raise CaseError(f"There is something at {shown(path)} already. Open it, or choose another name.")

        def prepare(connection: apsw.Connection) -> None:
            if not is_blank(connection):
                raise CaseError(f"A case was just created at {shown(path)} by another program. Open it instead.")
            with transaction(connection):
                apply_steps(connection)
                insert_header(connection, identity.line)
                CaseState(head=identity.digest).save(connection)
            try:
                sync_folder(path.absolute().parent)
            except OSError as error:
                raise CaseError(
                    f"{shown(path)} was created, and nothing is in it yet; but that a power failure would not take it "
                    f"could not be made sure of ({error.strerror}). Check the disk and try again."
                ) from error

        return cls._open_for_writing(path, prepare, ledger, clock)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        ledger: CheckpointKeeper | None = None,
        clock: CaseClock | None = None,
        mounts: bytes | None = None,
    ) -> Self:
        """Open a case.

        Args:
            path: The file.
            read_only: Whether to only read it: beside another process that has it, or where writing is impossible.
            ledger: Where checkpoints were kept, to be compared with; further ones are kept there.
            clock: What tells the time.
            mounts: The system's table of mounts, for tests.

        Raises:
            CaseError: When it does not exist or cannot be used where it is.
            NotACaseError: When it is something else.
            CaseInUseError: When another process has it open for writing.
            CaseTooNewError: When a newer program wrote it; it can be opened read-only.
            CaseDamagedError: When it is damaged; nothing was written to it.
        """
        clock = clock or CaseClock()
        require_place(path)
        if not path.exists():
            raise CaseError(f"There is no case at {shown(path)}. Check the name, or begin a new case.")
        # Looked at without writing: a file of another program must not even get another journal mode.
        version = None if cls.is_new(path) else _version(path)
        if version is None:
            raise NotACaseError(
                f"{shown(path)} holds nothing: its creation was cut short. Begin the case anew at the same place."
            )
        if read_only:
            return cls._open_for_reading(path, ledger)
        if version > VERSION:
            raise too_new(shown(path), version)
        require_local_disk(path, mounts)

        return cls._open_for_writing(path, migrate, ledger, clock, inspect=lambda: _inspect(path, ledger))

    @classmethod
    def _open_for_writing(
        cls,
        path: Path,
        prepare: Callable[[apsw.Connection], object],
        ledger: CheckpointKeeper | None,
        clock: CaseClock,
        inspect: Callable[[], str] = lambda: "",
    ) -> Self:
        with contextlib.ExitStack() as undo, opening_errors(path):
            lock = CaseLock(path)
            undo.callback(lock.release)
            note = inspect()
            connection = connect_writer(path)
            undo.callback(connection.close)
            # Until everything was checked, not even closing may move anything into the file; and later only a clean
            # close may.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            prepare(connection)
            if note:
                renew_log(path)
            mark_in_use(connection, died=lock.died)
            lock.settle()
            reader = CaseReader(path)
            undo.callback(reader.close)
            writer = CaseWriter(
                path,
                connection=connection,
                lock=lock,
                identity=reader.identity,
                ledger=ledger,
                clock=clock,
            )
            undo.pop_all()
        return cls(path, reader=reader, writer=writer, note=note)

    @classmethod
    def _open_for_reading(cls, path: Path, ledger: CheckpointKeeper | None) -> Self:
        reader = CaseReader(path)
        notes = []
        try:
            if reader.version > VERSION:
                notes.append(str(too_new(shown(path), reader.version)))
            point = None if ledger is None else ledger.last(reader.identity.case_id)
            if point is not None:
                reader.check_checkpoint(point)
        except CaseDamagedError as error:  # to look at what is left is why one opens it like this
            notes.append(str(error))
        except BaseException:  # a cancellation, too: no reader stays open
            reader.close()
            raise
        return cls(path, reader=reader, writer=None, note=" ".join(notes))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = "read-only" if self._writer is None else f"records={self._writer.state.records}"
        return f"<CaseFile {self.path.name} {kind}>"

    def info(self) -> CaseInfo:
        """Return what identifies the case, as of the last commit."""
        info = self._reader.info(read_only=self._writer is None, note=self._note)
        return replace(info, recovered=self._note == RECOVERED)

    def counts(self) -> Counts:
        """Return the reconciliation as of the last commit."""
        return self._reader.counts() if self._writer is None else self._writer.state.counts()

    def reader(self) -> CaseReader:
        """Open another reader of this case, to be closed by whoever asked.

        Raises:
            CaseError: When it cannot be opened.
        """
        return CaseReader(self.path)

    def commit(self, facts: Sequence[Fact]) -> Receipt:
        """Commit facts, with their audit records, in one transaction.

        Raises:
            StorageError: When it could not be written; then nothing of it was.
            CaseDamagedError: When the file turned out to be damaged; nothing of it was written.
            ContradictionError: When a fact contradicts what the case holds: a fault of the program; as above.
        """
        return self._open_writer().book(facts)

    def reopen(self) -> Receipt | None:
        """Make the case writable again after a StorageError, by opening its file anew and checking it.

        Nobody else can take the case meanwhile. Readers go on beside it.

        Returns:
            The receipt of the commit that failed, where its facts turned out to be on disk, since only the
            acknowledgement had failed: they must not be committed again. None: nothing of them is there.

        Raises:
            StorageError: When the case still cannot be written; it can be tried again.
            CaseDamagedError: When what is on disk is not what was acknowledged, or was found damaged before.
        """
        return self._open_writer().reopen()

    def checkpoint(self) -> None:
        """Record a CHECKPOINT, and keep it elsewhere, unless nothing was recorded since the last one.

        Raises:
            StorageError: When it could not be written.
        """
        self._open_writer().book((), checkpoint=True)

    def pending_documents(self, after: int, limit: int) -> Sequence[DocumentRef]:
        """Return documents that are pending (not yet probed), by number, those above `after`."""
        return self._reader.pending_documents(after, limit)

    def open_documents(self, after: int, limit: int) -> Sequence[OpenDocument]:
        """Return documents that were probed and have pages without terminal record, by number."""
        return self._reader.open_documents(after, limit)

    def pending_pages(self, doc_id: int, after: int, limit: int) -> Sequence[int]:
        """Return page numbers of an open document that have no terminal record, those above `after`."""
        return self._reader.pending_pages(doc_id, after, limit)

    def strikes(self, after: PageUnit, limit: int) -> Sequence[Strikes]:
        """Return what has strikes and no terminal record, in order; page 0 stands for a document."""
        return self._reader.strikes(after, limit)

    def close(self) -> None:
        """Close the case cleanly and let go of it; a second call does nothing.

        Raises:
            StorageError: When the last checkpoints could not be kept elsewhere; the case is closed all the same.
        """
        self._reader.close()
        if self._writer is not None:
            self._writer.close()

    def _open_writer(self) -> CaseWriter:
        if self._writer is None:
            raise CaseError(f"{shown(self.path)} is open read-only, so that nothing can be written to it.")
        return self._writer


def _beginning(path: Path) -> bytes:
    """Return the first bytes of a file, as many as a database begins with; none where it is not there."""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE_MAGIC))
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise CaseError(f"{shown(path)} cannot be read ({error.strerror}). Choose another file.") from error


def _roll_back(path: Path) -> None:
    lock = CaseLock(path)
    try:
        roll_back(path)
    finally:
        lock.release()


def _version(path: Path) -> int | None:
    """Return the version of the case at a path, read without writing anything; None where there is none yet."""
    with opening_errors(path):
        try:
            connection = connect_reader(path)
        except apsw.ReadOnlyError:
            # A transaction of the file's first moments was cut short, and only a writer may roll it back.
            _roll_back(path)
            connection = connect_reader(path)
        with contextlib.closing(connection):
            return None if is_blank(connection) else version_of(connection, shown(path))


def _inspect(path: Path, ledger: CheckpointKeeper | None) -> str:
    """Check a case before it is written to, as it stands on disk; return a sentence to show.

    Everything is only read: a case that is refused must look the same to the next one who judges it.
    """
    try:
        log = look_at_log(path)  # as it is, since SQLite takes of it what it likes
    except OSError as error:
        raise CaseError(
            f"{shown(path)}-wal cannot be read ({error.strerror}). Nothing was changed in the case. Check the disk and "
            "try again."
        ) from error
    if log is LogFinding.DAMAGED:
        raise log_is_damaged(path)
    with contextlib.closing(connect_reader(path)) as connection:
        check_tables(connection, shown(path))
        identity = CaseIdentity.of_line(connection.execute("SELECT line FROM header").get, path)
        state = CaseState.load(connection)
        is_clean = connection.execute("SELECT clean FROM state").get == 1
        if not is_clean and log is LogFinding.EMPTY:
            raise log_is_gone(path)
        if not is_clean:
            check_file(connection, path)
        check_chain_end(connection, path, identity, state, records=1 if is_clean else TAIL)
        point = None if ledger is None else ledger.last(identity.case_id)
        if point is not None:
            check_checkpoint(connection, path, point)
    return "" if is_clean else RECOVERED
