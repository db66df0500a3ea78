"""Where a case cannot be: what is no file, what SQLite would take for something else, what the system refuses."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.places import LONGEST_PATH_BYTES
from engine.case.reader import CaseReader
from engine.case.repair import repair
from engine.case.storage import log_of
from engine.case.verify import verify_file
from engine.errors import CaseError, NotACaseError
from engine.models.facts import Noted
from tests.case.factory import commit_all, found, with_log

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and limits of POSIX")

UNLIMITED = -1

LIMITED = """
import resource, sys
from pathlib import Path
from engine.case.casefile import CaseFile
from engine.errors import EngineError
from engine.models.facts import Noted

kind, number, path = getattr(resource, sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
resource.setrlimit(kind, (number, number))
try:
    with CaseFile.create(path, request_id="R") if CaseFile.is_new(path) else CaseFile.open(path) as case:
        case.commit([Noted(event="RUN_STARTED")])
except EngineError as error:
    print(type(error).__name__, error)
else:
    print("done")
"""
"""Creates or opens a case under a limit of the system, and says how that ended."""


def _limited(kind: str, number: int, path: Path) -> str:
    command = [sys.executable, "-c", LIMITED, kind, str(number), str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    os.chdir(path.parent)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)


def _device(path: Path) -> None:
    path.symlink_to("/dev/null")


def _link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [_folder, _pipe, _socket, _device, _link_to_pipe])
def test_what_is_no_file_is_refused_at_once(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    """Whatever is done with it: one sentence, no waiting for the other end of a pipe, and nothing appears."""
    monkeypatch.chdir(tmp_path)
    make(path)
    before = sorted(tmp_path.iterdir())
    uses: list[Callable[[], object]] = [
        lambda: CaseFile.is_new(path),
        lambda: CaseFile.create(path, request_id="R"),
        lambda: CaseFile.open(path),
        lambda: CaseFile.open(path, read_only=True),
        lambda: CaseReader(path),
        lambda: repair(path, tmp_path / "new.sluice"),
    ]
    for use in uses:
        with pytest.raises(NotACaseError, match=r"is a folder|is no ordinary file"):
            use()
    with pytest.raises(CaseError, match="cannot be read: it is no ordinary file"):
        verify_file(path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.timeout(60)
def test_a_log_that_is_no_file_is_refused_at_once(path: Path, tmp_path: Path) -> None:
    """A pipe in place of the write-ahead log is not waited for either."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"))
    with_log(path, lambda connection: connection.execute("UPDATE state SET clean = 0"))
    log_of(path).unlink()
    os.mkfifo(log_of(path))
    for use in (lambda: CaseFile.open(path), lambda: repair(path, tmp_path / "new.sluice")):
        with pytest.raises(CaseError):
            use()


@pytest.mark.parametrize("name", [":memory:", "file:x?mode=memory", "file:x.sluice", "a?b#c%41.sluice", "-wal", " "])
def test_a_name_that_means_something_to_sqlite_is_a_name_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The case is a file of just that name, given with its folder or without."""
    monkeypatch.chdir(tmp_path)
    with CaseFile.create(Path(name), request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf"))
    assert os.listdir() == [name]  # noqa: PTH208  # names are what is compared
    for path in (Path(name), tmp_path / name):
        with CaseFile.open(path) as case:
            assert case.counts().documents.enumerated == 1
        with CaseReader(path) as reader:
            assert reader.counts().documents.enumerated == 1
    with pytest.raises(CaseError, match="Nothing is wrong"):
        repair(Path(name), Path("new.sluice"))


def _long(folder: Path, length: int) -> Path:
    """Return a path of so many bytes, in folders that are there."""
    while length - len(str(folder)) > 200:
        folder /= "d" * min(150, length - len(str(folder)) - 20)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / ("n" * (length - len(str(folder)) - 1))


def test_a_path_that_is_too_long_is_said(tmp_path: Path) -> None:
    """One byte more than SQLite takes gives a sentence, also where a short link hides it; the longest one works."""
    longest, longer = _long(tmp_path, LONGEST_PATH_BYTES), _long(tmp_path, LONGEST_PATH_BYTES + 1)
    with CaseFile.create(longest, request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"))
    CaseFile.open(longest).close()
    link = tmp_path / "link"
    link.symlink_to(longer.parent)
    for path in (longer, link / longer.name):
        with pytest.raises(CaseError, match=r"has 505 bytes, and may have 504"):
            CaseFile.create(path, request_id="R")
        with pytest.raises(CaseError, match="505 bytes"):
            repair(longest, path)
    longer.touch()
    with pytest.raises(CaseError, match="505 bytes"):
        CaseFile.open(longer)


def test_a_working_folder_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that begins in a folder that was deleted leads nowhere: one sentence for whatever is done."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    path = Path("a.sluice")
    uses: list[Callable[[], object]] = [
        lambda: CaseFile.is_new(path),
        lambda: CaseFile.create(path, request_id="R"),
        lambda: CaseFile.open(path),
        lambda: CaseReader(path),
        lambda: repair(path, tmp_path / "new.sluice"),
    ]
    for use in uses:
        with pytest.raises(CaseError, match="folder that this program was started in is not there any more"):
            use()


def test_a_file_that_may_not_grow_is_said_as_it_is(path: Path) -> None:
    """A limit on the size of files: what failed is a write; without the limit the case is created at the same place."""
    said = _limited("RLIMIT_FSIZE", 20_000, path)
    assert said.startswith("CaseError")
    assert "could not be written: the disk reported an error" in said
    assert "cannot be read" not in said
    assert _limited("RLIMIT_FSIZE", UNLIMITED, path) == "done\n"
    assert "could not be written" in _limited("RLIMIT_FSIZE", 20_000, path)
    assert _limited("RLIMIT_FSIZE", UNLIMITED, path) == "done\n"


def test_without_descriptors_a_sentence_is_said(path: Path) -> None:
    """With any number of them too few: a sentence, and with some more the case is created, or goes on."""
    ends = [_limited("RLIMIT_NOFILE", number, path.with_name(f"{number}.sluice")) for number in range(4, 13)]
    assert ends[-1] == "done\n"
    assert any("Too many open files" in end for end in ends)
    assert _limited("RLIMIT_NOFILE", 64, path) == "done\n"
    ends += [_limited("RLIMIT_NOFILE", number, path) for number in range(4, 13)]
    assert all(end.startswith(("CaseError", "StorageError", "done")) for end in ends), ends
    assert any(not end.startswith("done") for end in ends)
