"""Tables of a case file: identity, append-only log, one terminal record, migrations."""

import signal
import struct
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from engine.case.casefile import CaseFile
from engine.case.schema import APPLICATION_ID, MIGRATIONS, VERSION, Migration, migrate, place_of
from engine.case.storage import connect_writer
from engine.errors import CaseDamagedError, NotACaseError
from tests.case.factory import commit_all, done, found, probed, without_guard


def test_the_file_says_what_it_is(path: Path) -> None:
    """Application id and version stand in the SQLite header, where `file` and others look for them."""
    CaseFile.create(path, request_id="R").close()
    header = path.read_bytes()[:100]
    assert struct.unpack(">I", header[68:72]) == (APPLICATION_ID,)
    assert struct.unpack(">I", header[60:64]) == (VERSION,)
    assert header[68:72] == b"SLUC"


def _filled(path: Path) -> None:
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, found("a.pdf"), probed(1, pages=2), done(1, 1, 2))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET line = x'00' WHERE seq = 1",
        "UPDATE audit SET place = NULL",
        "DELETE FROM audit WHERE seq = 2",
        "INSERT OR REPLACE INTO audit VALUES (1, x'00', NULL)",
        "REPLACE INTO audit VALUES (99, x'00', (SELECT place FROM audit WHERE seq = 1))",
        "INSERT INTO audit VALUES (1, x'00', NULL) ON CONFLICT DO UPDATE SET line = x'00'",
        "UPDATE header SET line = x'00'",
        "DELETE FROM header",
        "INSERT OR REPLACE INTO header VALUES (1, x'00')",
    ],
)
def test_the_log_only_grows(path: Path, statement: str) -> None:
    """No statement on the writer's own connection changes or removes what is in the log, REPLACE included."""
    _filled(path)
    connection = connect_writer(path)
    try:
        before = connection.execute("SELECT seq, line, place FROM audit").fetchall()
        with pytest.raises(apsw.ConstraintError, match=r"append-only|final"):
            connection.execute(statement)
        assert connection.execute("SELECT seq, line, place FROM audit").fetchall() == before
    finally:
        connection.close()


@pytest.mark.parametrize("page", [0, 1])
def test_a_second_terminal_record_is_impossible(path: Path, page: int) -> None:
    """The table refuses a second terminal record of a page and of a document, whoever writes it."""
    _filled(path)
    connection = connect_writer(path)
    try:
        with pytest.raises(apsw.ConstraintError, match=r"audit\.place"):
            connection.execute("INSERT INTO audit VALUES (99, x'00', ?)", (place_of(1, page),))
    finally:
        connection.close()


def test_two_documents_cannot_both_account_for_the_same_bytes(path: Path) -> None:
    """The table refuses a second original of the same content."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, found("a.pdf", "b.pdf"), probed(1), probed(2))
    connection = connect_writer(path)
    try:
        with pytest.raises(apsw.ConstraintError, match=r"manifest\.sha256"):
            connection.execute("UPDATE manifest SET sha256 = (SELECT sha256 FROM manifest WHERE doc_id = 1)")
    finally:
        connection.close()


def test_a_missing_trigger_is_noticed(path: Path) -> None:
    """A file whose guards another program took away is not written to."""
    _filled(path)
    without_guard(path, lambda connection: connection.execute("DROP TRIGGER audit_is_never_updated"))
    with pytest.raises(CaseDamagedError, match="another program has changed"):
        CaseFile.open(path)


def test_a_foreign_trigger_is_noticed(path: Path) -> None:
    """A file to which somebody added something that acts on every write is not written to."""
    _filled(path)
    statement = "CREATE TRIGGER extra AFTER INSERT ON audit BEGIN DELETE FROM texts; END"
    without_guard(path, lambda connection: connection.execute(statement))
    with pytest.raises(CaseDamagedError, match="another program has changed"):
        CaseFile.open(path)


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    """An SQLite file that is no case is refused and not changed by a byte."""
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE songs (title)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotACaseError, match="some other program"):
        CaseFile.open(path)
    assert path.read_bytes() == before


STEPS = (
    *MIGRATIONS,
    Migration(VERSION + 1, lambda connection: connection.execute("ALTER TABLE strikes ADD COLUMN kind TEXT")),
    Migration(VERSION + 2, lambda connection: connection.execute("CREATE TABLE tags (name TEXT)")),
)

KILLED = """
import os, signal, sys
from pathlib import Path
from engine.case.schema import MIGRATIONS, VERSION, Migration, migrate
from engine.case.storage import connect_writer

def first(connection):
    connection.execute("ALTER TABLE strikes ADD COLUMN kind TEXT")
    connection.execute("UPDATE state SET run = 77")

def second(connection):
    connection.execute("CREATE TABLE tags (name TEXT)")
    connection.cache_flush()  # what was done so far reaches the log on disk, without a commit
    os.kill(os.getpid(), signal.SIGKILL)

connection = connect_writer(Path(sys.argv[1]))
migrate(connection, (*MIGRATIONS, Migration(VERSION + 1, first), Migration(VERSION + 2, second)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a thing of POSIX")
def test_a_migration_that_is_killed_leaves_the_old_file(path: Path) -> None:
    """A crash between two steps of a migration leaves version, tables and content as they were."""
    _filled(path)
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    with CaseFile.open(path) as case:
        assert case.counts().pages.extracted == 2
        connection = connect_writer(path)
        assert connection.pragma("user_version") == VERSION
        assert connection.execute("SELECT run FROM state").get == 0
        assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'tags'").get == 0
        connection.close()


def test_a_migration_takes_all_missing_steps(path: Path) -> None:
    """An older file gets every later step, in order, and the newest version; a second call does nothing."""
    _filled(path)
    connection = connect_writer(path)
    migrate(connection, STEPS)
    migrate(connection, STEPS)
    assert connection.pragma("user_version") == VERSION + 2
    assert connection.execute("SELECT count(*) FROM pragma_table_info('strikes') WHERE name = 'kind'").get == 1
    assert connection.execute("SELECT count(*) FROM tags").get == 0
    connection.close()
