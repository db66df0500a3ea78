"""Export of the audit log: byte for byte, whole or not at all."""

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.reader import CaseReader
from engine.case.texts import export_text
from engine.errors import CaseDamagedError, ExportError
from engine.models.facts import FilesFound, Noted
from engine.models.outcome import SkipReason
from tests.case.factory import commit_all, done, file, found, probed, without_guard
from tests.case.test_case_opening import GUARDS


@pytest.fixture
def filled(case: CaseFile) -> CaseFile:
    """Give a case with a log of more than one group of lines."""
    commit_all(case, Noted(event="RUN_STARTED"), found("ä.pdf"), probed(1, pages=600), done(1, *range(1, 601)))
    return case


def test_the_export_is_the_log_byte_for_byte(filled: CaseFile, tmp_path: Path) -> None:
    """The header, then every line as stored, each with a newline; number and head are what the case says."""
    out = tmp_path / "log.jsonl"
    with filled.reader() as reader:
        records, head = export_audit(reader, out)
        expected = b"".join(line + b"\n" for line in (reader.identity.line, *reader.audit_lines()))
    assert out.read_bytes() == expected
    assert (records, head) == (602, filled.counts().audit_head)
    assert head == hashlib.sha256(expected.splitlines()[-1]).hexdigest()


@pytest.mark.skipif(shutil.which("sha256sum") is None or shutil.which("sed") is None, reason="needs common tools")
def test_common_tools_follow_the_chain(filled: CaseFile, tmp_path: Path) -> None:
    """`sed | tr | sha256sum` of one line gives the `prev` of the next, the header included."""
    out = tmp_path / "log.jsonl"
    with filled.reader() as reader:
        export_audit(reader, out)
    lines = out.read_text(encoding="utf-8").splitlines()
    for number in (1, 2, 500):
        pipe = f"sed -n {number}p '{out}' | tr -d '\\n' | sha256sum"
        said = subprocess.run(["sh", "-c", pipe], capture_output=True, text=True, check=True).stdout.split()[0]  # noqa: S607  # the tools of whoever checks it
        assert f'"prev":"{said}"' in lines[number]


def test_an_empty_log_has_its_header_only(case: CaseFile, tmp_path: Path) -> None:
    """A case without records exports one line, whose hash is the head."""
    out = tmp_path / "log.jsonl"
    with case.reader() as reader:
        assert export_audit(reader, out) == (0, hashlib.sha256(out.read_bytes().rstrip(b"\n")).hexdigest())


def test_what_is_recorded_meanwhile_is_not_in_it(filled: CaseFile, tmp_path: Path) -> None:
    """An export is the log as of its beginning, and says so with its number."""
    out = tmp_path / "log.jsonl"
    with filled.reader() as reader:
        counts = reader.counts()
        lines = reader.audit_lines(last=counts.audit_records)
        next(lines)
        filled.commit([Noted(event="HELD")])
        assert 1 + len(list(lines)) == counts.audit_records
        assert export_audit(reader, out)[0] == counts.audit_records + 1


def test_an_older_export_is_replaced_as_a_whole(filled: CaseFile, tmp_path: Path) -> None:
    """The old file stays until the new one is complete, and nothing else is left beside it."""
    out = tmp_path / "out" / "log.jsonl"
    out.parent.mkdir()
    out.write_text("old")
    with filled.reader() as reader:
        export_audit(reader, out)
    assert out.stat().st_size > 100_000
    assert os.listdir(out.parent) == ["log.jsonl"]  # noqa: PTH208  # names are what is compared


@pytest.mark.parametrize("place", ["missing/log.jsonl", "a folder", "n" * 300])
def test_a_place_that_cannot_be_written_is_said(filled: CaseFile, tmp_path: Path, place: str) -> None:
    """A sentence, and nothing left behind."""
    (tmp_path / "a folder").mkdir()
    before = sorted(tmp_path.iterdir())
    with filled.reader() as reader, pytest.raises(ExportError, match="could not be written"):
        export_audit(reader, tmp_path / place)
    assert sorted(tmp_path.iterdir()) == before
    assert not list((tmp_path / "a folder").iterdir())


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".lock"])
def test_the_case_is_never_overwritten_by_its_export(filled: CaseFile, suffix: str) -> None:
    """The case file and what lies beside it cannot be the target, by whatever spelling."""
    target = filled.path.parent / ".." / filled.path.parent.name / (filled.path.name + suffix)
    with filled.reader() as reader, pytest.raises(ExportError, match="the case itself"):
        export_audit(reader, target)
    filled.commit([Noted(event="HELD")])


def _write_source(case: CaseFile, root: Path) -> Path:
    root.mkdir()
    source = root / "sub" / "a.pdf"
    source.parent.mkdir()
    source.write_text("a document")
    (root / "notes.txt").write_text("no document")
    left_out = file("notes.txt", root=os.fsencode(root), skip=SkipReason.NOT_SELECTED)
    commit_all(case, found("sub/a.pdf", root=os.fsencode(root)), FilesFound(files=(left_out,)))
    return source


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_a_document_of_the_case_is_not_replaced(filled: CaseFile, tmp_path: Path) -> None:
    """The audit log never takes the place of what was extracted, by whatever way; a file that is none is replaced."""
    source = _write_source(filled, tmp_path / "in")
    (tmp_path / "way").symlink_to(tmp_path / "in")
    before = sorted(source.parent.iterdir())
    with filled.reader() as reader:
        for target in (source, source.parent / ".." / "sub" / "a.pdf", tmp_path / "way" / "sub" / "a.pdf"):
            with pytest.raises(ExportError, match="is a document of this case"):
                export_audit(reader, target)
        assert source.read_text() == "a document"
        assert sorted(source.parent.iterdir()) == before
        export_audit(reader, tmp_path / "in" / "notes.txt")
        export_audit(reader, source.with_name("a.jsonl"))


def test_where_the_documents_cannot_be_told_only_a_new_name_will_do(filled: CaseFile, tmp_path: Path) -> None:
    """The log of a damaged case can be taken out, and replaces nothing, since anything could be its document."""
    filled.close()
    without_guard(filled.path, lambda connection: connection.execute("DROP TABLE roots"))
    there = tmp_path / "there"
    there.write_text("precious")
    with CaseReader(filled.path) as reader:
        with pytest.raises(ExportError, match="the case is damaged"):
            export_audit(reader, there)
        export_audit(reader, tmp_path / "new.jsonl")
    assert there.read_text() == "precious"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes and symbolic links")
@pytest.mark.parametrize("kind", ["link", "dangling link", "named pipe", "socket", "folder", "."])
def test_only_an_ordinary_file_is_replaced(
    filled: CaseFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Whatever else stands under the name is left as it is, what it points to too, and nothing is written."""
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    target, other = Path("." if kind == "." else "t"), tmp_path / "other"
    other.write_text("precious")
    with contextlib.ExitStack() as stack:
        match kind:
            case "link":
                target.symlink_to(other)
            case "dangling link":
                target.symlink_to(tmp_path / "nothing")
            case "named pipe":
                os.mkfifo(target)
            case "socket":
                stack.enter_context(socket.socket(socket.AF_UNIX)).bind("t")
            case "folder":
                target.mkdir()
        before = [(item.name, item.lstat()) for item in place.iterdir()]
        with filled.reader() as reader, pytest.raises(ExportError, match="could not be written: a"):
            export_audit(reader, target)
        assert [(item.name, item.lstat()) for item in place.iterdir()] == before
    assert other.read_text() == "precious"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes and symbolic links")
@pytest.mark.parametrize("kind", ["link", "named pipe"])
def test_texts_go_into_a_folder_and_through_nothing_else(filled: CaseFile, tmp_path: Path, kind: str) -> None:
    """A link to an empty folder, or a named pipe, is no place for the texts: it stays as it is."""
    target, empty = tmp_path / "t", tmp_path / "empty"
    empty.mkdir()
    if kind == "link":
        target.symlink_to(empty)
    else:
        os.mkfifo(target)
    before = (target.lstat().st_ino, sorted(tmp_path.iterdir()))
    with filled.reader() as reader, pytest.raises(ExportError):
        export_text(reader, target)
    assert (target.lstat().st_ino, sorted(tmp_path.iterdir())) == before
    assert not list(empty.iterdir())


def test_a_log_that_is_not_complete_is_not_exported(filled: CaseFile, tmp_path: Path) -> None:
    """A record that is missing in the case stops the export: a gap is not passed on as a log."""
    filled.close()
    remove = "DELETE FROM audit WHERE seq = 300"
    without_guard(filled.path, lambda connection: connection.execute(remove), triggers=GUARDS)
    out = tmp_path / "log.jsonl"
    case = CaseFile.open(filled.path, read_only=True)
    with case, case.reader() as reader, pytest.raises(CaseDamagedError, match=r"601 of 602"):
        export_audit(reader, out)
    assert not out.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from engine.case import export
from engine.case.reader import CaseReader

class Killed(CaseReader):
    def audit_lines(self, first=1, last=None):
        for number, line in enumerate(super().audit_lines(first, last)):
            if number == 550:
                os.kill(os.getpid(), signal.SIGKILL)
            yield line

export.export_audit(Killed(Path(sys.argv[1])), Path(sys.argv[2]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a thing of POSIX")
def test_an_export_that_is_killed_leaves_nothing_under_its_name(filled: CaseFile, tmp_path: Path) -> None:
    """Half a log never looks like a log."""
    out = tmp_path / "log.jsonl"
    subprocess.run([sys.executable, "-c", KILLED, str(filled.path), str(out)], check=False)
    assert not out.exists()
