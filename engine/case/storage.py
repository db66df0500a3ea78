"""Connections to a case file, and what SQLite's errors mean for the person in front of it.

One writing connection and any number of read-only ones, each with the settings that the promises need. Whether a
file may be opened at all (local disk, not in use, a case) is decided in `casefile`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import apsw

from engine.case.suspects import judge
from engine.errors import CaseDamagedError, CaseError, EngineError, NotACaseError, StorageError
from engine.models.names import display_name

SQLITE_MAGIC = b"SQLite format 3\0"
"""How every database begins."""

_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""How every rollback journal begins (https://www.sqlite.org/fileformat.html#the_rollback_journal)."""

Value = int | float | str | bytes | None
"""What SQLite keeps in a column."""

PAGE_BYTES = 16384
"""Size of a page of the database: texts of a few thousand characters then share pages instead of overflowing them."""

BUSY_MS = 10_000
"""How long a connection waits for another one, such as a reader for the recovery of the log after a crash."""

WAL_PAGES = 512
"""Pages in the write-ahead log after which SQLite moves them into the file: 8 MiB."""

WAL_KEPT_BYTES = 64 * 1024 * 1024
"""Size to which the write-ahead log is cut back after one large transaction."""

REPAIR = "repair it into a new file (sluicegate repair CASE NEW_CASE)"
"""What to do about a damaged case, for sentences."""

_RENEWED_BYTES = 1024 * 1024
"""How much of the write-ahead log is written again at a time."""

CACHE_KIB = 8 * 1024
"""Memory for pages of the database, a connection; what a larger transaction changes is written out early."""


class ContradictionError(RuntimeError):
    """A fact contradicts what the case holds, such as a second outcome for a page: a fault of this program, not of the
    environment, and nothing of the transaction was written.
    """  # noqa: D205  # one sentence, too long for one line


def shown(path: Path) -> str:
    """Return a path for a sentence."""
    try:
        return display_name(str(path).encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return ascii(str(path))


def connect_writer(path: Path, *, create: bool = True) -> apsw.Connection:
    """Open the one connection that writes.

    Args:
        path: The case file.
        create: Whether to make the file where there is none.

    Raises:
        apsw.Error: Mapped by the caller, inside `opening_errors`.
    """
    connection = apsw.Connection(
        str(path.absolute()),  # or ":memory:" would be no file
        flags=apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0),
    )
    try:
        # Means something to a file without tables only. Before the size of the cache, which SQLite counts in pages of
        # the size that it knows at that moment: a new case would keep four times as much (seen with 3.54).
        connection.pragma("page_size", PAGE_BYTES)
        _prepare(connection)
        _require_writable(connection, path)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.pragma("wal_autocheckpoint", WAL_PAGES)
        connection.pragma("journal_size_limit", WAL_KEPT_BYTES)
        connection.pragma("recursive_triggers", True)  # or REPLACE would delete without asking the triggers
        connection.pragma("foreign_keys", True)
        if sys.platform == "darwin":  # there, fsync alone does not reach the disk
            connection.pragma("fullfsync", True)
            connection.pragma("checkpoint_fullfsync", True)
    except BaseException:  # whatever ends it: nothing stays open or half done
        connection.close()
        raise
    return connection


def mark_in_use(connection: apsw.Connection, *, died: bool | None = None, must_move: bool = False) -> None:
    """Write into the file itself that the case is in use, and leave something in the write-ahead log.

    So a case that was not closed has a log that is not empty: where it is missing, somebody has removed it.

    Args:
        connection: The writer.
        died: Whether the application that had the case last died with it; None where that was this process.
        must_move: Whether it is an error that the log cannot be moved into the file for want of room.

    Raises:
        apsw.Error: Mapped by the caller.
    """
    with transaction(connection):
        connection.execute("UPDATE state SET clean = 0")
        if died is not None:
            judge(connection, died=died)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
    except (apsw.FullError, apsw.BusyError):
        if must_move:
            raise


def connect_reader(path: Path) -> apsw.Connection:
    """Open a connection that can only read; it works beside the writer, also from another process.

    Raises:
        apsw.Error: Mapped by the caller, inside `opening_errors`.
    """
    # A case in a folder that may not be written to (a disc, a backup) has no place for the index of a write-ahead log.
    # With nothing in that log, and nobody able to write, the file may be read as it stands.
    for mode in ("mode=ro", "immutable=1"):
        connection = apsw.Connection(
            f"file:{quote(str(path.absolute()))}?{mode}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        try:
            _prepare(connection)
            connection.pragma("query_only", True)
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except apsw.CantOpenError:
            connection.close()
            if mode == "immutable=1" or has_log(path):
                raise
        except BaseException:  # whatever ends it: nothing stays open or half done
            connection.close()
            raise
        else:
            return connection
    raise AssertionError("unreachable")


def is_cut_short(path: Path) -> bool:
    """Whether a rollback journal lies beside a file, so that a transaction was cut off while it was being written.

    A case has one while its tables are made, and never later. It is on disk before the file itself is written to.
    """
    try:
        with Path(os.path.realpath(path) + "-journal").open("rb") as journal:
            return journal.read(len(_JOURNAL_MAGIC)) == _JOURNAL_MAGIC
    except OSError:
        return False


def roll_back(path: Path) -> None:
    """Undo a transaction that a crash left half done in a rollback journal, as SQLite does on the first read.

    Raises:
        apsw.Error: Mapped by the caller, inside `opening_errors`.
    """
    connection = apsw.Connection(str(path.absolute()), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    finally:
        connection.close()


def _require_writable(connection: apsw.Connection, path: Path) -> None:
    if connection.readonly("main"):
        raise CaseError(
            f"{shown(path)} may be read and not written. Open it read-only, or copy it to a place where you may write."
        )


def _prepare(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_MS)
    # A case may come from anybody: nothing that it defines may do more than its own tables allow.
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.pragma("cell_size_check", True)
    connection.pragma("cache_size", -CACHE_KIB)


def has_log(path: Path) -> bool:
    """Whether something stands in the write-ahead log beside a case."""
    log = log_of(path)
    return log.exists() and log.stat().st_size > 0


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the write-ahead log of a case: beside the file itself, whatever link leads to it."""
    return Path(os.path.realpath(path) + "-wal")


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Commit what the block does, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:  # whatever ends it: nothing stays open or half done
        # SQLite itself has rolled back after some errors. Where rolling back fails, too, closing does it.
        if connection.in_transaction:
            with suppress(apsw.Error):
                connection.execute("ROLLBACK")
        raise


@contextmanager
def opening_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors while opening or reading a case into sentences.

    Raises:
        CaseDamagedError: When the file is damaged.
        NotACaseError: When it is no database at all.
        CaseError: When it cannot be opened or read.
    """
    try:
        yield
    except apsw.NotADBError as error:
        raise not_a_case(path) from error
    except apsw.CorruptError as error:
        raise damaged(path) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise CaseError(
            f"{shown(path)} cannot be opened. Check that its folder exists, that you may write there and that the disk "
            "is connected, or choose another place for the case."
        ) from error
    except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError) as error:
        raise CaseError(
            f"Another program keeps {shown(path)} locked. Close what else has it open (a backup, a database tool) and "
            "try again."
        ) from error
    except apsw.FullError as error:
        raise CaseError(
            f"The disk that is to hold {shown(path)} is full, so that the case cannot be opened for writing. What is "
            "in it is kept. Free some space there and try again, or choose another place."
        ) from error
    except (apsw.IOError, apsw.NoMemError) as error:
        if getattr(error, "extendedresult", 0) in _FAILED_WRITES:
            raise CaseError(
                f"{shown(path)} could not be written: {_cause(error)}. What was in it before is kept. Check the disk, "
                "and how large files may become there, and try again."
            ) from error
        raise CaseError(
            f"{shown(path)} cannot be read: {_cause(error)}. Nothing was changed in it. Check the disk and try again."
        ) from error


@contextmanager
def writing_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors during a transaction into sentences; the transaction is rolled back by the caller.

    Raises:
        StorageError: When the disk does not take it.
        CaseDamagedError: When the file turned out to be damaged.
        ContradictionError: When a rule of the tables refuses what is a fault of this program.
    """
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise damaged(path) from error
    except apsw.FullError as error:
        raise StorageError(
            f"The disk that holds {shown(path)} is full. Everything acknowledged so far is kept, and no page counts as "
            "failed for it. Free some space there, then resume."
        ) from error
    except (
        apsw.IOError,
        apsw.ReadOnlyError,
        apsw.CantOpenError,
        apsw.BusyError,
        apsw.LockedError,
        apsw.PermissionsError,
        apsw.ProtocolError,
        apsw.NoMemError,
    ) as error:
        raise StorageError(
            f"{shown(path)} could not be written: {_cause(error)}. Everything acknowledged so far is kept, and no page "
            "counts as failed for it. Check the disk, then resume."
        ) from error
    except apsw.ConstraintError as error:
        raise ContradictionError(f"the case refuses a fact: {error}") from error


def not_a_case(path: Path) -> NotACaseError:
    """Return the error for a file that is no database."""
    return NotACaseError(
        f"{shown(path)} is not a Sluicegate case, or its beginning was overwritten. Nothing was changed in it. Choose "
        "a case file, or another name for a new one."
    )


def damaged(path: Path) -> CaseDamagedError:
    """Return the error for a file that SQLite finds damaged."""
    return CaseDamagedError(
        f"{shown(path)} is damaged. Nothing is written to it any more. Keep the file as it is, and go on with a copy "
        f"from a backup, or {REPAIR}."
    )


def log_is_gone(path: Path) -> CaseDamagedError:
    """Return the error for a case that was not closed and whose write-ahead log is missing."""
    return CaseDamagedError(
        f"The program ended without closing {shown(path)}, and the file {shown(path)}-wal, which held what was "
        "recorded last, is missing: it was deleted, the case was copied without it, or another program opened the case "
        f"and moved it. Nothing is written to the case. Bring that file back, or {REPAIR}."
    )


def log_is_damaged(path: Path) -> CaseDamagedError:
    """Return the error for a case whose write-ahead log lost what SQLite would not miss."""
    return CaseDamagedError(
        f"The program ended without closing {shown(path)}, and the file {shown(path)}-wal, which holds what was "
        "recorded last, is damaged. Nothing is written to the case any more. Keep both files as they are, and go on "
        f"with a copy from a backup, or {REPAIR}."
    )


def is_lasting(error: EngineError) -> bool:
    """Whether a failed write forbids further ones until the case is opened again.

    After a failed fsync the system may have thrown the data away and call the next fsync a success: trying again on
    the same open file proves nothing. A full disk says so before, and going on is safe.
    """
    return isinstance(error, CaseDamagedError) or not isinstance(error.__cause__, apsw.FullError | apsw.BusyError)


_FAILED_WRITES = frozenset(
    {
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_DIR_FSYNC,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_DELETE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_COMMIT_ATOMIC,
    }
)
"""Codes of SQLite that say that something could not be written, and not that it could not be read."""

_CAUSES: dict[type[apsw.Error], str] = {
    apsw.IOError: "the disk reported an error",
    apsw.ReadOnlyError: "the disk or the file no longer takes changes",
    apsw.CantOpenError: "a file beside it cannot be opened",
    apsw.BusyError: "another program keeps it locked",
    apsw.LockedError: "another program keeps it locked",
    apsw.PermissionsError: "the system does not allow it",
    apsw.ProtocolError: "another program keeps it locked",
    apsw.FullError: "the disk is full",
    apsw.NoMemError: "there is no memory left",
}


def _cause(error: apsw.Error) -> str:
    code = getattr(error, "extendedresult", None)
    return _CAUSES[type(error)] + (f" (SQLite code {code})" if code is not None else "")


def renew_log(path: Path) -> None:
    """Write the write-ahead log once more, byte for byte, and sync it; for a case that was not closed cleanly.

    After a failed fsync the system may call pages clean that never reached the disk: they read back as if all were
    well, and the next fsync succeeds without them. What follows in the log would stand on nothing at the next power
    failure, and SQLite, too, would move it into the file on the strength of such an fsync.

    Raises:
        StorageError: When the disk does not take it.
    """
    try:
        with suppress(FileNotFoundError), log_of(path).open("r+b") as log:
            while piece := log.read(_RENEWED_BYTES):
                log.seek(-len(piece), os.SEEK_CUR)
                log.write(piece)
                log.seek(0, os.SEEK_CUR)  # between writing and reading on
            log.flush()
            os.fsync(log.fileno())
    except OSError as error:
        raise StorageError(
            f"{shown(path)} could not be written: the disk reported an error ({error.strerror}). Nothing was changed "
            "in it. Check the disk and try again."
        ) from error


def sync_folder(folder: Path) -> None:
    """Make names created in or moved into a folder outlast a power failure; Windows has no way to ask for that.

    Raises:
        OSError: When the system could not.
    """
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
