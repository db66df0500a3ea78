"""The tables of a case file, their version, and how an older file becomes a newer one.

Covers identity (`application_id`, `user_version`), the tables with their indexes and triggers, and migrations. Which
rows are written when is the business of `booking` and its neighbours; opening files is that of `casefile`.

A page, or a document as a whole, is addressed by one integer, its place: the document's number in the upper bits and
the page number in the lower 32, page 0 being the document itself. So one B-tree keeps the pages of a document
together, and one unique index makes a second terminal record of a page or a document impossible.

Nothing is kept twice: what an audit record says (outcome, method, reason, hash of the text) is read from its line.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import apsw

from engine.case.storage import REPAIR, Value, transaction
from engine.errors import CaseDamagedError, CaseTooNewError, NotACaseError

APPLICATION_ID = 0x534C5543
"""`SLUC`: what makes an SQLite file a case, in the header of the file."""

LARGEST_DOCUMENT = 2**31 - 1
"""Highest document number and highest page number that a place can hold."""

_TABLES = """
CREATE TABLE header (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    line BLOB NOT NULL -- first line of the audit log: case id, request id, created
) STRICT;

CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    clean INTEGER NOT NULL, -- 1 while nobody has the case open for writing
    paused INTEGER NOT NULL,
    run INTEGER NOT NULL, -- number of the last run
    records INTEGER NOT NULL, -- number of audit records
    head BLOB NOT NULL, -- SHA-256 of the last line of the log
    checkpointed INTEGER NOT NULL, -- number of the last CHECKPOINT record
    dead_letters INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    waiting INTEGER NOT NULL, -- documents that wait for what becomes of the same bytes
    unfinished_sources INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    documents_extracted INTEGER NOT NULL,
    documents_dead INTEGER NOT NULL,
    documents_duplicate INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    pages_extracted INTEGER NOT NULL,
    pages_dead INTEGER NOT NULL,
    pages_duplicate INTEGER NOT NULL
) STRICT;

CREATE TABLE reasons (
    reason TEXT PRIMARY KEY,
    count INTEGER NOT NULL -- dead letters for this reason
) STRICT, WITHOUT ROWID;

CREATE TABLE roots (
    root_id INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE sources (
    number INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE, -- a folder or file that was asked for, absolute
    finished INTEGER NOT NULL -- 1 once it was looked through to the end
) STRICT;

CREATE TABLE runs (
    run INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL -- its RUN_STARTED record
) STRICT;

CREATE TABLE manifest (
    doc_id INTEGER PRIMARY KEY, -- dense from 1, over all that was met
    root_id INTEGER NOT NULL REFERENCES roots,
    path BLOB NOT NULL, -- below the root
    version INTEGER NOT NULL, -- from 1; a file that changed after it was looked into is met as a new version
    size_bytes INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT,
    reason TEXT, -- of a dead letter, or why the file was left out
    sha256 BLOB, -- of the bytes, once they were looked into
    page_count INTEGER,
    pages_done INTEGER NOT NULL DEFAULT 0, -- pages with their terminal record
    pages_dead INTEGER NOT NULL DEFAULT 0, -- dead letters among them
    repaired INTEGER NOT NULL DEFAULT 0,
    source_fault INTEGER NOT NULL DEFAULT 0, -- a dead letter blames the file as found, not its bytes
    duplicate_of INTEGER,
    last_record BLOB -- SHA-256 of this document's last audit record
) STRICT;

CREATE UNIQUE INDEX manifest_path ON manifest (root_id, path, version);
CREATE INDEX manifest_pending ON manifest (doc_id) WHERE state = 'pending';
CREATE INDEX manifest_open ON manifest (doc_id) WHERE state = 'open';
CREATE INDEX manifest_waiting ON manifest (duplicate_of) WHERE state = 'waiting';
CREATE UNIQUE INDEX manifest_original ON manifest (sha256)
    WHERE sha256 IS NOT NULL AND duplicate_of IS NULL AND source_fault = 0 AND state IN ('open', 'done');

CREATE TABLE texts (
    place INTEGER PRIMARY KEY,
    text TEXT NOT NULL -- of an extracted page that has any
) STRICT;

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    line BLOB NOT NULL, -- the record's bytes, without the newline
    place INTEGER -- what it is the terminal record of
) STRICT;

CREATE UNIQUE INDEX audit_terminal ON audit (place) WHERE place IS NOT NULL;

CREATE TABLE dead_letters (
    number INTEGER PRIMARY KEY, -- dense from 1
    seq INTEGER NOT NULL -- its audit record, which holds the envelope
) STRICT;

CREATE TABLE strikes (
    place INTEGER PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_is_never_updated BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER header_is_never_updated BEFORE UPDATE ON header
BEGIN SELECT RAISE(ABORT, 'the header of the case is final'); END;
CREATE TRIGGER header_is_never_deleted BEFORE DELETE ON header
BEGIN SELECT RAISE(ABORT, 'the header of the case is final'); END;
"""

_SECOND = """
CREATE TABLE suspects (
    place INTEGER PRIMARY KEY -- in work for long: struck once, should the application die before a run has ended
) STRICT;

CREATE TABLE deaths (
    place INTEGER PRIMARY KEY,
    count INTEGER NOT NULL -- strikes for having been in work when the application died
) STRICT;

CREATE TABLE header_copy (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    line BLOB NOT NULL -- as in header, on another page: without it nothing of a damaged case can be repaired
) STRICT;

INSERT INTO header_copy SELECT id, line FROM header;
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from the previous version to `version`; it runs inside the transaction of the whole migration."""

    version: int
    apply: Callable[[apsw.Connection], object]


def _create_tables(connection: apsw.Connection) -> None:
    connection.execute(_TABLES)


def _add_second(connection: apsw.Connection) -> None:
    connection.execute(_SECOND)


MIGRATIONS: tuple[Migration, ...] = (Migration(1, _create_tables), Migration(2, _add_second))
"""All steps, from an empty file on; the last one's version is this program's."""

VERSION = MIGRATIONS[-1].version
"""Version of the tables that this program writes."""


def place_of(doc_id: int, page: int = 0) -> int:
    """Return the place of a page, or of a document as a whole (page 0)."""
    return doc_id << 32 | page


def doc_and_page(place: int) -> tuple[int, int]:
    """Return the document's number and the page number (0: the whole document) of a place."""
    return place >> 32, place & 0xFFFFFFFF


def is_blank(connection: apsw.Connection) -> bool:
    """Whether the database holds nothing at all: a new file, or one whose creation was cut short."""
    return (
        connection.pragma("application_id") == 0
        and version_in(connection) == 0
        and connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    )


def version_of(connection: apsw.Connection, name: str) -> int:
    """Return the version of the tables in a case file.

    Args:
        connection: A connection to the file.
        name: What to call the file in a sentence.

    Raises:
        NotACaseError: When it is some other SQLite file.
    """
    if connection.pragma("application_id") != APPLICATION_ID:
        raise NotACaseError(
            f"{name} is not a Sluicegate case, though it is a database of some other program. Nothing was changed in "
            "it. Choose a case file, or another name for a new one."
        )
    return version_in(connection)


def version_in(connection: apsw.Connection) -> int:
    """Return the version of the tables in a database, 0 where none were ever made."""
    version: int = connection.pragma("user_version")
    return version


def too_new(name: str, version: int) -> CaseTooNewError:
    """Return the error for a case that a newer program wrote."""
    return CaseTooNewError(
        f"{name} was written by a newer version of Sluicegate (its tables have version {version}, this program "
        f"knows {VERSION}). It can be opened read-only here; to go on with it, install the newer program."
    )


def migrate(connection: apsw.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring a file to the newest version: all missing steps in one transaction, so that a crash leaves the old file.

    Args:
        connection: A writing connection without open transaction.
        migrations: The steps, by rising version.
    """
    if version_in(connection) < migrations[-1].version:
        with transaction(connection):
            apply_steps(connection, migrations)


def apply_steps(connection: apsw.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Take the missing steps inside the caller's transaction.

    Args:
        connection: A writing connection inside a transaction.
        migrations: The steps, by rising version.
    """
    current = version_in(connection)
    for step in migrations:
        if step.version > current:
            step.apply(connection)
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", migrations[-1].version)


def insert_header(connection: apsw.Connection, line: bytes) -> None:
    """Write the header line of a new case, and its copy."""
    connection.execute("INSERT INTO header VALUES (1, ?)", (line,))
    connection.execute("INSERT INTO header_copy VALUES (1, ?)", (line,))


def check_tables(connection: apsw.Connection, name: str) -> None:
    """Check that tables, indexes and triggers are exactly those that this program makes, or made in the file's version.

    A file without its triggers would take changes to its audit log; one with others could do anything on a write.

    Raises:
        CaseDamagedError: When they are not.
    """
    version = version_in(connection)
    reference = apsw.Connection(":memory:")
    try:
        apply_steps(reference, [step for step in MIGRATIONS if step.version <= version] or MIGRATIONS)
        expected = _objects(reference)
    finally:
        reference.close()
    if _objects(connection) != expected:
        raise CaseDamagedError(
            f"The tables of {name} are not as Sluicegate makes them: another program has changed the file. Nothing "
            f"is written to it any more. Go on with a copy from a backup, or {REPAIR}."
        )


def _objects(connection: apsw.Connection) -> set[tuple[Value, ...]]:
    return set(connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))
