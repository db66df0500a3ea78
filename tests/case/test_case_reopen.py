"""A case goes on after its disk failed: opened anew and checked, with nothing lost, nothing doubled, nothing believed
of a disk that had said no.
"""  # noqa: D205  # one sentence, too long for one line

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from engine.case.casefile import CaseFile
from engine.case.checkpoints import CheckpointLedger
from engine.case.export import export_audit
from engine.case.verify import verify_file
from engine.errors import CaseDamagedError, CaseError, CaseInUseError, StorageError
from engine.models.facts import Fact, Noted
from tests.case.factory import commit_all, done, extracted, found, outcomes, probed

BIG = "text that fills the disk " * 4000


class Disk:
    """A disk that reports errors while a test says so, below SQLite and above the real one."""

    def __init__(self) -> None:
        self.fails_to = ""
        """The call of SQLite that fails: `sync`, `write`, or none."""

    def check(self, call: str) -> None:
        """Fail where that is wanted."""
        if self.fails_to == call:
            raise apsw.IOError


class FailingFile(apsw.VFSFile):
    """A file on such a disk."""

    def __init__(self, base: str, name: Any, flags: list[int], disk: Disk) -> None:
        self._disk = disk
        super().__init__(base, name, flags)

    def xLock(self, level: int) -> None:  # noqa: N802  # SQLite's name
        """Override: a lock that a read-only file cannot have counts as taken by another.

        SQLite tries for one when such a connection closes, and goes on without it; APSW would report the refusal.
        """
        try:
            super().xLock(level)
        except apsw.IOError as error:
            raise apsw.BusyError from error

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        """Override: write through to the disk, or fail."""
        self._disk.check("sync")
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  # SQLite's name
        """Override: write, or fail."""
        self._disk.check("write")
        super().xWrite(data, offset)


class FailingFiles(apsw.VFS):
    """What SQLite takes for the system's files."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._base = apsw.vfs_names()[0]
        super().__init__("failing", self._base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> FailingFile:  # noqa: N802  # SQLite's name
        """Override: open a file on the disk that can fail."""
        return FailingFile(self._base, name, flags, self._disk)


@pytest.fixture
def disk() -> Iterator[Disk]:
    """Give the disk that all cases of the test lie on; it works until told otherwise."""
    disk = Disk()
    files = FailingFiles(disk)
    yield disk
    files.unregister()


def _verify(case: CaseFile, out: Path) -> None:
    with case.reader() as reader:
        _, head = export_audit(reader, out)
    report = verify_file(out, expect_head=head)
    assert report.ok, report.problems


def _begun(path: Path, ledger: CheckpointLedger | None = None) -> CaseFile:
    case = CaseFile.create(path, request_id="R", ledger=ledger)
    commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf"), probed(1, pages=20), done(1, 1, 2))
    return case


@pytest.mark.parametrize("call", ["sync", "write"])
def test_after_an_error_of_the_disk_the_case_goes_on_once_it_is_opened_anew(
    path: Path, tmp_path: Path, disk: Disk, call: str
) -> None:
    """What failed is committed again, once; readers beside it go on; the log and the file are those of a calm run."""
    with _begun(path) as case, case.reader() as beside:
        before = case.counts()
        disk.fails_to = call
        with pytest.raises(StorageError, match="the disk reported an error"):
            case.commit([done(1, 3)])
        with pytest.raises(StorageError):
            case.reopen()  # it still fails
        with pytest.raises(StorageError, match="the disk reported an error"):
            case.commit([done(1, 3)])
        assert beside.counts() == case.counts() == before
        disk.fails_to = ""
        with pytest.raises(StorageError):
            case.commit([done(1, 3)])  # a disk that says yes again proves nothing about what it said no to
        assert case.reopen() is None
        assert case.counts() == before
        case.commit([done(1, 3)])
        case.commit([done(1, *range(4, 21))])
        assert beside.counts() == case.counts()
        assert case.counts().reconciled
        _verify(case, tmp_path / "log.jsonl")
    with CaseFile.open(path) as again:
        assert again.info().note == ""


def test_what_was_on_disk_though_its_commit_failed_is_told_and_not_written_twice(
    path: Path, tmp_path: Path, disk: Disk
) -> None:
    """Only the acknowledgement failed: the receipt comes late, the checkpoint is kept, and the log goes on."""
    ledger = CheckpointLedger(tmp_path / "kept")
    case = _begun(path, ledger)
    disk.fails_to = "sync"
    facts: list[Fact] = [found("b.pdf", "c.pdf"), probed(2), done(1, 3), Noted(event="HELD", checkpoint=True)]
    with pytest.raises(StorageError):
        case.commit(facts)
    disk.fails_to = ""
    before = case.counts()
    case._reader.close()  # with no reader left, SQLite reads the log anew, and finds all of the group in it
    receipt = case.reopen()
    assert receipt is not None
    assert receipt.counts == case.counts() != before
    assert receipt.new_pending == 2
    assert [decision.doc_id for decision in receipt.decisions] == [2]
    assert case.reopen() is None
    case.commit([done(1, *range(4, 21)), done(2, 1)])
    kept = ledger.last(case.reader().identity.case_id)
    assert kept is not None
    assert kept.count == receipt.counts.audit_records - 1
    _verify(case, tmp_path / "log.jsonl")
    case.close()
    with CaseFile.open(path, ledger=ledger) as again:
        assert again.counts().pages.extracted == 21


def test_a_receipt_that_came_late_still_comes_when_opening_anew_failed_in_between(path: Path, disk: Disk) -> None:
    """The first look finds the group, the disk fails once more, and the second look still tells of it."""
    case = _begun(path)
    disk.fails_to = "sync"
    with pytest.raises(StorageError):
        case.commit([done(1, 3)])
    case._reader.close()
    with pytest.raises(StorageError):
        case.reopen()
    disk.fails_to = ""
    receipt = case.reopen()
    assert receipt is not None
    assert receipt.counts.pages.extracted == 3
    case.commit([done(1, 4)])
    case.close()


def test_a_case_without_trouble_can_be_opened_anew(case: CaseFile, tmp_path: Path) -> None:
    """Nothing changes by it, however often."""
    commit_all(case, found("a.pdf"), probed(1, pages=2), done(1, 1))
    before = outcomes(case)
    assert case.reopen() is None
    assert case.reopen() is None
    assert outcomes(case) == before
    commit_all(case, done(1, 2))
    _verify(case, tmp_path / "log.jsonl")


def test_nobody_else_gets_the_case_while_it_is_in_trouble(path: Path, disk: Disk) -> None:
    """The lock is held from the failure through every attempt, and let go by the close."""
    case = _begun(path)
    disk.fails_to = "sync"
    with pytest.raises(StorageError):
        case.commit([done(1, 3)])
    with pytest.raises(StorageError):
        case.reopen()
    with pytest.raises(CaseInUseError):
        CaseFile.open(path)
    disk.fails_to = ""
    case.close()
    with CaseFile.open(path) as again:
        assert again.counts().pages.extracted >= 2


def test_an_older_copy_in_its_place_is_not_gone_on_with(path: Path, tmp_path: Path, disk: Disk) -> None:
    """A file that does not hold what was acknowledged is refused, left as it is, and refused from then on."""
    _begun(path).close()
    older = Path(shutil.copy(path, tmp_path / "older"))
    case = CaseFile.open(path)
    commit_all(case, done(1, 3))
    disk.fails_to = "sync"
    with pytest.raises(StorageError):
        case.commit([done(1, 4)])
    disk.fails_to = ""
    case._reader.close()
    for name in tmp_path.glob("matter.sluice-*"):
        name.unlink()
    older.replace(path)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(CaseDamagedError, match=r"not as it was.*sluicegate repair"):
            case.reopen()
    with pytest.raises(StorageError, match="not as it was"):
        case.commit([done(1, 4)])
    case.close()
    assert path.read_bytes() == before


def test_a_case_that_went_away_is_not_made_anew(path: Path, tmp_path: Path, disk: Disk) -> None:
    """A drive that was unplugged leaves no file: none is created in its place, and with the drive back it goes on."""
    case = _begun(path)
    disk.fails_to = "sync"
    with pytest.raises(StorageError):
        case.commit([done(1, 3)])
    disk.fails_to = ""
    case._reader.close()
    away = tmp_path / "away"
    away.mkdir()
    files = [name for name in tmp_path.glob("matter.sluice*") if not name.name.endswith(".lock")]
    for name in files:
        name.rename(away / name.name)
    with pytest.raises(StorageError):
        case.reopen()
    assert not path.exists()
    for name in files:
        (away / name.name).rename(name)
    receipt = case.reopen() or case.commit([done(1, 3)])
    assert receipt.counts.pages.extracted == 3
    case.close()


def test_what_is_closed_is_not_opened_anew(case: CaseFile) -> None:
    """A closed case says so."""
    case.close()
    with pytest.raises(CaseError, match="closed"):
        case.reopen()


LIMITED = """
import resource, sys
from pathlib import Path
from engine.case.casefile import CaseFile
from engine.errors import StorageError
from tests.case.factory import commit_all, done, extracted, found, probed

case = CaseFile.create(Path(sys.argv[1]), request_id="R")
commit_all(case, found("a.pdf"), probed(1, pages=200))
troubles = failed = page = 0
room = 1_000_000
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
for page in range(1, 201):
    facts = [done(1, extracted(page, "x" * 20_000))]
    try:
        case.commit(facts)
    except StorageError:
        troubles += 1
        while True:
            try:
                case.reopen() or case.commit(facts)
            except StorageError:
                failed += 1
                room += 200_000
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
            else:
                break
case.close()
print(troubles, failed)
"""


def _assert_whole(path: Path, pages: int, out: Path) -> None:
    with CaseFile.open(path) as case:
        assert case.counts().pages.extracted == pages
        assert case.counts().reconciled
        assert len(outcomes(case)) == pages
        _verify(case, out)


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are a thing of POSIX")
def test_a_case_that_may_not_grow_goes_on_each_time_that_it_may_again(path: Path, tmp_path: Path) -> None:
    """Under a limit on the size of files, raised bit by bit: every page ends up in the case, once."""
    ended = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    troubles, failed = map(int, ended.stdout.split())
    assert troubles > 3
    assert failed > 3
    _assert_whole(path, 200, tmp_path / "log.jsonl")


FLUSHED = """
import sys
from pathlib import Path
from engine.case.casefile import CaseFile
from engine.errors import StorageError
from tests.case.factory import commit_all, done, found, probed

case = CaseFile.create(Path(sys.argv[1]), request_id="R")
commit_all(case, found("a.pdf"), probed(1, pages=20))
troubles = 0
for page in range(1, 21):
    facts = [done(1, page)]
    try:
        case.commit(facts)
    except StorageError:
        troubles += 1
        if sys.argv[2] == "alone":
            case._reader.close()
        case.reopen() or case.commit(facts)
case.close()
print(troubles)
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("readers", ["beside", "alone"])
@pytest.mark.parametrize("at", [15, 20, 27])
def test_a_flush_that_the_system_refuses_costs_nothing(path: Path, tmp_path: Path, at: int, readers: str) -> None:
    """The system itself fails one flush with EIO: the case is opened anew, and every page is in it, once."""
    trace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=fdatasync", "-e"]
    command = [*trace, f"inject=fdatasync:error=EIO:when={at}", sys.executable, "-c", FLUSHED, str(path), readers]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "1"
    _assert_whole(path, 20, tmp_path / "log.jsonl")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a folder on a disk of its own, of 2 MiB."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root on Linux")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=False)  # noqa: S607  # wherever it is
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)  # noqa: S607  # as above


def test_a_full_disk_that_grows_is_gone_on_with(small_disk: Path, tmp_path: Path) -> None:
    """Full, still full, then larger: no commit is acknowledged that is not there, and all pages end up in the case."""
    path = small_disk / "matter.sluice"
    size_mib, refused = 2, 0
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, found("a.pdf"), probed(1, pages=120))
        for page in range(1, 121):
            facts = [done(1, extracted(page, BIG))]
            try:
                case.commit(facts)
            except StorageError as error:
                assert "is full" in str(error)  # noqa: PT017  # the sentence is what is looked at
                with pytest.raises(StorageError):
                    case.reopen() or case.commit(facts)
                assert case.counts().pages.extracted == page - 1
                refused += 1
                size_mib += 8
                remount = f"remount,size={size_mib}m"
                subprocess.run(["mount", "-o", remount, small_disk], check=True)  # noqa: S607  # as above
                assert (case.reopen() or case.commit(facts)).counts.pages.extracted == page
        subprocess.run(["mount", "-o", f"remount,size={2 * size_mib}m", small_disk], check=True)  # noqa: S607  # as above
    assert refused > 1
    _assert_whole(path, 120, tmp_path / "log.jsonl")
