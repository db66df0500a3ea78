"""An older case becomes one of today, whole or not at all, at whatever moment the migration is cut off."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.reader import CaseReader
from engine.case.schema import VERSION
from engine.case.storage import connect_reader, has_log
from engine.errors import CaseDamagedError
from engine.models.facts import Noted
from tests.case.factory import (
    commit_all,
    dead,
    done,
    first_version,
    found,
    killed,
    probed,
    records,
    retried,
    slow,
    struck,
    with_log,
    without_guard,
)

OPEN = "import sys; from pathlib import Path; from engine.case.casefile import CaseFile; "
OPEN += "CaseFile.open(Path(sys.argv[1])).close()"

KILLED_AT_STATEMENT = """
import os, signal, sys
from pathlib import Path
import apsw
from engine.case.casefile import CaseFile

left = 0

def count(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return True

apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", count))
for line in sys.stdin:
    number, path = line.rstrip("\\n").split(" ", 1)
    child = os.fork()
    if not child:
        left = int(number)
        CaseFile.open(Path(path)).close()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Opens the case of each line in a process of its own, killed before its n-th statement; tells how each ended."""

STEPS = [pytest.param(1, marks=pytest.mark.whole), 4]
"""Every write, and every fourth: each takes the start of a program, twice as slow for being watched."""

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@pytest.fixture
def old(path: Path) -> Path:
    """Give a case as the first version of the tables held it, with something of everything, its owner gone."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(
            case,
            Noted(event="RUN_STARTED", sources=(b"/in",)),
            found("a.pdf", "b.pdf", "c.pdf"),
            probed(1, pages=3),
            done(1, 1, dead(2)),
            retried(1, 3),
        )
    first_version(path)
    return path


def _table_names(path: Path) -> set[str]:
    connection = connect_reader(path)
    try:
        return {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    finally:
        connection.close()


def _version(path: Path) -> int:
    connection = connect_reader(path)
    try:
        version: int = connection.pragma("user_version")
        return version
    finally:
        connection.close()


def test_a_case_of_the_first_version_opens_and_goes_on(old: Path) -> None:
    """Its content is kept to the letter, its tables are those of today, and what is new works in it."""
    assert _version(old) == 1
    assert "suspects" not in _table_names(old)
    with CaseReader(old) as reader:
        before = (reader.counts(), list(reader.audit_lines()), reader.page_text(1, 1))
    with CaseFile.open(old) as case:
        with case.reader() as reader:
            assert (reader.counts(), list(reader.audit_lines()), reader.page_text(1, 1)) == before
        assert struck(case) == {(1, 3): 1}
        commit_all(case, slow(1, 3))
        with CaseFile.open(killed(case)) as after:
            commit_all(after, Noted(event="RUN_STARTED"))
            assert struck(after) == {(1, 3): 2}
            assert records(after)[-1]["event"] == "RETRY"
    assert _version(old) == VERSION


def test_a_case_of_the_first_version_can_be_read_without_being_changed(old: Path) -> None:
    """Looking at an older case does not bring it up to date: nothing is written."""
    before = old.read_bytes()
    with CaseFile.open(old, read_only=True) as case:
        assert case.counts().pages.extracted == 1
        assert struck(case) == {(1, 3): 1}
    assert old.read_bytes() == before
    assert _version(old) == 1


def _copies(old: Path, step: int) -> Iterator[tuple[int, Path]]:
    """Yield numbers from 1, every so many, each with a fresh copy of the old case."""
    for number in range(1, 200, step):
        folder = old.parent / str(number)
        folder.mkdir()
        yield number, Path(shutil.copy(old, folder))


def _kill_everywhere(old: Path, open_and_die: Callable[[Path, int], int], step: int = 1) -> list[int]:
    """Open copies of an old case, killed so much later each time, until one lives; return the versions left behind.

    Each must be whole: old or new, and to be opened with the same content.
    """
    versions = []
    with CaseReader(old) as reader:
        before = (reader.counts(), list(reader.audit_lines()))
    for number, copy in _copies(old, step):
        code = open_and_die(copy, number)
        versions.append(_version(copy))
        assert ("suspects" in _table_names(copy)) == (versions[-1] == VERSION)
        with CaseFile.open(copy) as case:
            assert case.counts() == before[0]
            with case.reader() as reader:
                assert list(reader.audit_lines()) == before[1]
        assert _version(copy) == VERSION
        if code == 0:
            return versions
        assert code == -signal.SIGKILL
    raise AssertionError("it never lived")


def _is_old_then_new(versions: list[int]) -> bool:
    return versions == sorted(versions) and set(versions) == {1, VERSION}


@pytest.mark.slow
@pytest.mark.fault(15, by="SIGKILL before each SQL statement of the opening in turn")
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a thing of POSIX")
def test_a_migration_killed_before_any_statement_leaves_the_old_case_or_the_new_one(old: Path) -> None:
    """Killed before each statement in turn: the version left behind fits the tables, and the case opens as it was."""
    command = [sys.executable, "-c", KILLED_AT_STATEMENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        asked, told = process.stdin, process.stdout
        assert asked is not None
        assert told is not None

        def open_and_die(copy: Path, number: int) -> int:
            print(number, copy, file=asked, flush=True)
            return int(told.readline())

        versions = _kill_everywhere(old, open_and_die)
    assert process.returncode == 0
    assert len(versions) > 20
    assert _is_old_then_new(versions)


@pytest.mark.slow
@pytest.mark.fault(15, by="SIGKILL at each write to the disk of the opening in turn")
@needs_strace
@pytest.mark.parametrize("step", STEPS)
def test_a_migration_killed_at_any_write_leaves_the_old_case_or_the_new_one(old: Path, step: int) -> None:
    """Killed at each write to the disk in turn, so also within the commit: the case opens as it was, old or new."""

    def open_and_die(copy: Path, number: int) -> int:
        inject = f"inject=pwrite64,fdatasync,ftruncate:signal=KILL:when={number}"
        trace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64,fdatasync,ftruncate", "-e", inject]
        command = [*trace, sys.executable, "-c", OPEN, str(copy)]
        return subprocess.run(command, check=False).returncode

    assert _is_old_then_new(_kill_everywhere(old, open_and_die, step))


def _lose_log(old: Path) -> str:
    with_log(old, lambda connection: connection.execute("UPDATE state SET clean = 0"))
    old.with_name(old.name + "-wal").unlink()
    old.with_name(old.name + "-shm").unlink(missing_ok=True)
    return "is missing"


def _miscount(old: Path) -> str:
    without_guard(old, lambda connection: connection.execute("UPDATE state SET records = records + 1"))
    return "broken at record"


def _other_tables(old: Path) -> str:
    without_guard(old, lambda connection: connection.execute("CREATE TABLE more (a)"))
    return "The tables of"


def _other_journal(old: Path) -> str:
    without_guard(old, lambda connection: connection.pragma("journal_mode", "delete"))
    return _miscount(old)


@pytest.mark.parametrize("damage", [_lose_log, _miscount, _other_tables, _other_journal])
@pytest.mark.parametrize("version", [1, VERSION])
def test_a_case_that_is_refused_stays_as_it_is(old: Path, version: int, damage: Callable[[Path], str]) -> None:
    """It is looked at before anything is written, migration or not, and refused for the same reason each time."""
    if version == VERSION:
        CaseFile.open(old).close()
    sentence = damage(old)
    before = old.read_bytes()
    for _ in range(3):
        with pytest.raises(CaseDamagedError, match=sentence):
            CaseFile.open(old)
        assert old.read_bytes() == before
        assert not has_log(old)
    assert _version(old) == version
