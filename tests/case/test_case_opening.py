"""Opening a case: who has it, what it is, where it lies, and whether it is sound."""

import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from engine.case.casefile import RECOVERED, CaseFile
from engine.case.disks import network_type
from engine.case.repair import repair
from engine.case.schema import VERSION
from engine.errors import (
    CaseDamagedError,
    CaseError,
    CaseInUseError,
    CaseTooNewError,
    NotACaseError,
)
from engine.models.facts import Noted
from tests.case.factory import commit_all, done, found, probed, with_log, without_guard

GUARDS = ("audit_is_never_updated", "audit_is_never_deleted", "header_is_never_updated", "header_is_never_deleted")

HOLDER = """
import os, sys
from collections.abc import Callable
from pathlib import Path
from engine.case.casefile import CaseFile
case = CaseFile.open(Path(sys.argv[1]))
print(os.getpid(), flush=True)
sys.stdin.read()
"""


def _fill(path: Path, *, crash: bool = False) -> None:
    """Make a case with some content; a crash leaves it marked as in use."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf"), probed(1, pages=2), done(1, 1, 2))
    if crash:
        with_log(path, lambda connection: connection.execute("UPDATE state SET clean = 0"))


def test_a_case_is_as_it_was_left(path: Path) -> None:
    """Identity and counts are read back; a clean close leaves one file and nothing to say."""
    _fill(path)
    assert os.listdir(path.parent) == [path.name]  # noqa: PTH208  # names are what is compared
    with CaseFile.open(path) as case:
        info = case.info()
        assert (info.request_id, info.note, info.read_only, info.roots) == ("R", "", False, (b"/in",))
        assert case.counts().pages.extracted == 2
        again = case.info()
    with CaseFile.open(path) as case:
        assert case.info().case_id == again.case_id


def test_a_second_instance_is_told_who_has_it(path: Path) -> None:
    """Another process that has the case is named by its number; reading beside it works; then it is free."""
    _fill(path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        pid = int(holder.stdout.readline())
        with pytest.raises(CaseInUseError, match=f"process {pid} on this computer"):
            CaseFile.open(path)
        with CaseFile.open(path, read_only=True) as reading:
            assert reading.info().read_only
            assert reading.counts().pages.extracted == 2
        holder.communicate("")
    CaseFile.open(path).close()


def test_one_process_does_not_open_a_case_twice(case: CaseFile) -> None:
    """The lock holds within one program, too, and ends with the close."""
    with pytest.raises(CaseInUseError, match="this very program"):
        CaseFile.open(case.path)
    case.close()
    CaseFile.open(case.path).close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_a_link_to_a_case_is_no_second_way_in(case: CaseFile) -> None:
    """The lock belongs to the file, whatever path leads to it."""
    link = case.path.with_name("link.sluice")
    link.symlink_to(case.path)
    with pytest.raises(CaseInUseError):
        CaseFile.open(link)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a thing of POSIX")
def test_a_crashed_owner_does_not_block(path: Path) -> None:
    """A lock file that a killed process left behind means nothing, whatever number stands in it."""
    _fill(path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.send_signal(signal.SIGKILL)
    assert path.with_name(path.name + ".lock").exists()
    with CaseFile.open(path) as case:
        assert case.info().note == RECOVERED


@pytest.mark.parametrize("content", ["", "garbage", "[" * 399, '{"pid": "x"}', '{"pid": 1}'])
def test_a_strange_lock_file_is_no_obstacle(path: Path, content: str) -> None:
    """What stands in a lock file that nobody holds is not read."""
    _fill(path)
    path.with_name(path.name + ".lock").write_text(content)
    CaseFile.open(path).close()


@pytest.mark.parametrize("content", ["", "garbage", "[" * 399, '{"pid": "x"}'])
def test_a_lock_that_does_not_say_whose_it_is_holds_all_the_same(case: CaseFile, content: str) -> None:
    """Only the operating system's lock counts; the sentence then names nobody."""
    case.path.with_name(case.path.name + ".lock").write_text(content)
    with pytest.raises(CaseInUseError, match="in another process"):
        CaseFile.open(case.path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_a_lock_file_that_is_a_link_is_not_followed(path: Path) -> None:
    """A link in place of the lock file must not get another file emptied."""
    _fill(path)
    other = path.with_name("precious")
    other.write_text("content")
    path.with_name(path.name + ".lock").symlink_to(other)
    with pytest.raises(CaseError, match="no lock file"):
        CaseFile.open(path)
    assert other.read_text() == "content"


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no Unicode text are a thing of Linux")
@pytest.mark.parametrize("name", [b"\xff\xfe.sluice", b"f\xfclder/case.sluice"])
def test_a_name_that_is_no_text_cannot_be_that_of_a_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: bytes
) -> None:
    """SQLite takes names as Unicode text: said in a sentence for whatever is done, and nothing is made."""
    path = tmp_path / os.fsdecode(name)
    path.parent.mkdir(exist_ok=True)
    monkeypatch.chdir(path.parent)
    other = tmp_path / "other.sluice"
    _fill(other)
    before = sorted(tmp_path.rglob("*"))
    for place in (path, Path(path.name)):
        with pytest.raises(CaseError, match="must be Unicode text"):
            CaseFile.create(place, request_id="R")
        with pytest.raises(CaseError, match="must be Unicode text"):
            repair(other, place)
    assert sorted(tmp_path.rglob("*")) == before
    path.touch()
    for read_only in (False, True):
        with pytest.raises(CaseError, match="must be Unicode text"):
            CaseFile.open(path, read_only=read_only)
    with pytest.raises(CaseError, match="must be Unicode text"):
        repair(path, tmp_path / "new.sluice")
    assert path.stat().st_size == 0


def test_a_newer_case_can_only_be_read(path: Path) -> None:
    """A file of a later version is refused for writing, not changed, and can be opened read-only with a sentence."""
    _fill(path)
    without_guard(path, lambda connection: connection.pragma("user_version", VERSION + 1))
    before = path.read_bytes()
    with pytest.raises(CaseTooNewError, match="newer version"):
        CaseFile.open(path)
    with CaseFile.open(path, read_only=True) as case:
        assert case.counts().pages.extracted == 2
        assert "newer version" in case.info().note
        with pytest.raises(CaseError, match="read-only"):
            case.commit([found("b.pdf")])
        with pytest.raises(CaseError, match="read-only"):
            case.checkpoint()
    assert path.read_bytes() == before


def test_a_newer_case_with_other_tables_says_so(path: Path) -> None:
    """Where this program cannot even read it, the sentence is the same and no traceback."""
    _fill(path)

    def renew(connection: apsw.Connection) -> None:
        connection.execute("ALTER TABLE state RENAME TO condition")
        connection.pragma("user_version", VERSION + 1)

    without_guard(path, renew)
    with CaseFile.open(path, read_only=True) as case, pytest.raises(CaseTooNewError):
        case.counts()


@pytest.mark.parametrize("content", [b"%PDF-1.7\n" * 500, b"x", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_case_is_left_alone(path: Path, content: bytes) -> None:
    """Any other file is refused with a sentence and stays as it was; nothing appears beside it."""
    path.write_bytes(content)
    with pytest.raises(NotACaseError):
        CaseFile.open(path)
    with pytest.raises(NotACaseError):
        CaseFile.create(path, request_id="R")
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]  # noqa: PTH208  # names are what is compared


def test_a_case_that_is_not_there_is_not_created_by_opening(path: Path) -> None:
    """A wrong name gives a sentence, not an empty case."""
    for read_only in (False, True):
        with pytest.raises(CaseError, match="no case"):
            CaseFile.open(path, read_only=read_only)
    assert not path.exists()


def _only_empty(path: Path) -> None:
    path.touch()


def _only_header(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.close()


@pytest.mark.parametrize("begin", [_only_empty, _only_header])
def test_a_file_torn_at_its_creation_is_new(path: Path, begin: Callable[[Path], None]) -> None:
    """A crash before the first commit leaves a file without tables: creating goes on there, opening says so."""
    begin(path)
    assert CaseFile.is_new(path)
    with pytest.raises(NotACaseError, match="cut short"):
        CaseFile.open(path)
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, found("a.pdf"))
    assert not CaseFile.is_new(path)
    with CaseFile.open(path) as case:
        assert case.counts().documents.enumerated == 1


def test_an_existing_case_is_not_created_anew(path: Path) -> None:
    """Creating over a case is refused, and it keeps its content."""
    _fill(path)
    with pytest.raises(CaseError, match="already"):
        CaseFile.create(path, request_id="other")
    with CaseFile.open(path) as case:
        assert case.info().request_id == "R"


@pytest.mark.parametrize("request_id", ["", "  ", "a\nb", "x" * 201, "\ud800"])
def test_a_request_id_must_be_able_to_stand_in_a_record(path: Path, request_id: str) -> None:
    """An impossible request id is refused before anything is created."""
    with pytest.raises(CaseError, match="request id"):
        CaseFile.create(path, request_id=request_id)
    assert not path.exists()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    """A case in a missing folder gives a sentence and creates nothing."""
    with pytest.raises(CaseError, match="cannot be used there"):
        CaseFile.create(tmp_path / "missing" / "a.sluice", request_id="R")
    assert not list(tmp_path.iterdir())


MOUNTS = b"""\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 27 0:40 / /mnt/share rw,relatime shared:1 - cifs //server/share rw
31 27 0:41 / /mnt/my\\040disk rw,relatime - nfs4 host:/x rw
32 27 0:42 / /mnt/share/local rw,relatime - ext4 /dev/sdb1 rw
33 27 0:43 / /data rw,relatime - ext4 /dev/sdc1 rw
34 27 0:44 / /data rw,relatime - fuse.sshfs me@host: rw
not a line of the table
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the table of mounts is a thing of Linux")
@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/home/me/a.sluice", None),
        ("/mnt/share/a.sluice", "cifs"),
        ("/mnt/share/deep/er/a.sluice", "cifs"),
        ("/mnt/shared/a.sluice", None),
        ("/mnt/my disk/a.sluice", "nfs4"),
        ("/mnt/share/local/a.sluice", None),
        ("/data/a.sluice", "fuse.sshfs"),
        ("/mnt/share", "cifs"),
    ],
)
def test_network_file_systems_are_told_by_the_mounts(place: str, kind: str | None) -> None:
    """The longest mount point counts, of two at one point the later, and escapes in the table are read."""
    assert network_type(Path(place), MOUNTS) == kind


@pytest.mark.skipif(sys.platform == "win32", reason="the table of mounts is a thing of Linux")
def test_a_case_on_a_network_drive_is_refused_with_another_place(path: Path) -> None:
    """Creating and opening there are refused with a sentence; reading is not."""
    _fill(path)
    remote = b"1 1 0:1 / / rw - nfs host:/ rw\n"
    with pytest.raises(CaseError, match=r"network file system.*disk of this computer"):
        CaseFile.open(path, mounts=remote)
    other = path.with_name("other.sluice")
    with pytest.raises(CaseError, match="network file system"):
        CaseFile.create(other, request_id="R", mounts=remote)
    assert not other.exists()
    CaseFile.open(path, read_only=True, mounts=remote).close()


def test_a_crash_is_noticed_checked_and_said_once(path: Path) -> None:
    """After an unclean end the case is checked, opens with a sentence, and is as any other after the next close."""
    _fill(path, crash=True)
    with CaseFile.open(path) as case:
        assert case.info().note == RECOVERED
    with CaseFile.open(path) as case:
        assert case.info().note == ""


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET line = CAST(replace(CAST(line AS TEXT), '\"page\":1', '\"page\":3') AS BLOB) WHERE seq = 2",
        "DELETE FROM audit WHERE seq = 3",
        "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
        "INSERT INTO audit VALUES (5, x'7b7d', NULL)",
        "UPDATE audit SET line = x'ff' WHERE seq = 4",
        "UPDATE state SET records = records - 1",
    ],
)
def test_a_broken_chain_is_found_after_a_crash(path: Path, change: str) -> None:
    """A record that was changed, removed or put in at the end of the log stops the opening; nothing is written."""
    _fill(path, crash=True)
    without_guard(path, lambda connection: connection.execute(change), triggers=GUARDS)
    before = path.read_bytes()
    with pytest.raises(CaseDamagedError, match="broken at record"):
        CaseFile.open(path)
    assert path.read_bytes() == before
    assert not path.with_name(path.name + ".lock").exists()


def test_a_log_that_lost_its_end_is_found_after_a_clean_close_too(path: Path) -> None:
    """The last record is always compared with the counters."""
    _fill(path)
    last = "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)"
    without_guard(path, lambda connection: connection.execute(last), triggers=GUARDS)
    with pytest.raises(CaseDamagedError, match="broken at record 4"):
        CaseFile.open(path)


def test_a_header_of_another_kind_is_damage(path: Path) -> None:
    """The header names a file elsewhere: nothing but a true one is believed."""
    _fill(path)
    evil = 'UPDATE header SET line = CAST(replace(CAST(line AS TEXT), \'"case_id":"\', \'"case_id":"../\') AS BLOB)'
    without_guard(path, lambda connection: connection.execute(evil), triggers=GUARDS)
    with pytest.raises(CaseDamagedError):
        CaseFile.open(path)


@pytest.mark.parametrize("crash", [False, True])
def test_a_damaged_file_is_not_written_to(path: Path, crash: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """Pages of the database overwritten with rubbish: the case is refused, or read with an error, never changed."""
    _fill(path, crash=crash)
    content = bytearray(path.read_bytes())
    for start in range(16384, len(content), 16384):
        content[start : start + 200] = b"\xa5" * 200
    path.write_bytes(content)
    with pytest.raises(CaseDamagedError):
        CaseFile.open(path)
    assert path.read_bytes() == bytes(content)


def test_a_case_can_be_read_where_nothing_can_be_written(path: Path) -> None:
    """On a disc or in a backup there is no place for SQLite's side files: a closed case is read as it stands."""
    _fill(path)
    path.with_name(path.name + "-shm").mkdir()  # stands in for a folder that takes no files: root is refused nothing
    before = path.read_bytes()
    with CaseFile.open(path, read_only=True) as case:
        assert case.counts().pages.extracted == 2
    assert path.read_bytes() == before


def test_readers_on_other_threads_see_each_commit(case: CaseFile) -> None:
    """A reader on its own connection and thread sees what was committed when it asked, and nothing half."""
    seen: list[tuple[int, int]] = []
    stop = threading.Event()

    def read() -> None:
        with case.reader() as reader:
            while not stop.is_set():
                counts = reader.counts()
                seen.append((counts.documents.enumerated, counts.audit_records))
                assert len(reader.document_rows(1, 1000)) >= counts.documents.enumerated

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(40):
        case.commit([found(f"{number}.pdf"), Noted(event="HELD")])
    stop.set()
    thread.join()
    assert seen == sorted(seen)
    assert all(documents == lines for documents, lines in seen)


def test_what_is_closed_says_so(case: CaseFile) -> None:
    """A second close does nothing; writing afterwards is refused."""
    case.close()
    case.close()
    with pytest.raises(CaseError, match="closed"):
        case.commit([found("a.pdf")])


def test_a_creation_cut_short_within_its_first_transaction_is_undone(tmp_path: Path) -> None:
    """A rollback journal that a crash left is rolled back, and the case can be created at the same place."""
    case = tmp_path / "c.sluice"
    script = (
        "import apsw, os, sys\n"
        "connection = apsw.Connection(sys.argv[1])\n"
        "connection.execute('PRAGMA page_size = 16384; PRAGMA cache_size = 1; PRAGMA synchronous = FULL')\n"
        "connection.execute('BEGIN IMMEDIATE; CREATE TABLE a (x); INSERT INTO a VALUES (1); COMMIT')\n"
        "connection.execute('BEGIN IMMEDIATE; DROP TABLE a; PRAGMA user_version = 7')\n"
        "connection.execute('CREATE TABLE b (x)')\n"
        "connection.execute('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) '\n"
        "                   'INSERT INTO b SELECT randomblob(9000) FROM n')\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script, case], check=False)
    assert case.with_name("c.sluice-journal").exists()
    with pytest.raises(CaseError, match=r"not a Sluicegate case|holds nothing"):
        CaseFile.open(case)
    assert not case.with_name("c.sluice-journal").exists()


def test_a_case_whose_first_page_was_torn_while_it_was_made_can_be_made_anew(path: Path) -> None:
    """The power failed in the first write: a part of a page, and the journal that undoes it, are on disk."""
    path.write_bytes(bytes(512) + b"\x0d" * 1000)
    journal = Path(f"{path}-journal")
    # An empty database before, 16,384 bytes a page, and no page to be put back.
    header = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 0, 7, 0, 512, 16384)
    journal.write_bytes(header.ljust(512, b"\0"))
    assert CaseFile.is_new(path)
    assert not journal.exists()
    CaseFile.create(path, request_id="R").close()
    with CaseFile.open(path) as case:
        assert case.counts().audit_records == 0


def test_a_file_that_is_no_database_is_left_alone_whatever_lies_beside_it(path: Path) -> None:
    """Only what says of itself that it is SQLite's journal is one."""
    path.write_bytes(b"a letter")
    Path(f"{path}-journal").write_bytes(b"a journal")
    with pytest.raises(NotACaseError):
        CaseFile.is_new(path)
    assert path.read_bytes() == b"a letter"
