"""The file of a document: what may be opened, and what each refusal of the system means."""

import errno
import hashlib
import os
import sys
import threading
from pathlib import Path

import pytest

from engine.models.outcome import Reason
from engine.work.child.source import DocumentError, SourceFile, system_error
from tests.faults.injection import no_descriptor_left
from tests.support import pdfs
from tests.work.kit import open_descriptors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="tests of files that Windows does not have")


def reason_for(path: Path | bytes) -> Reason:
    """Return why a file does not open."""
    with pytest.raises(DocumentError) as caught:
        SourceFile(os.fsencode(path))
    return caught.value.reason


def test_only_regular_files_are_opened_and_nothing_is_waited_for(tmp_path: Path) -> None:
    """A pipe without a writer, a directory, a device and a link are refused at once."""
    os.mkfifo(tmp_path / "pipe.pdf")
    (tmp_path / "folder.pdf").mkdir()
    (tmp_path / "real.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "link.pdf").symlink_to(tmp_path / "real.pdf")
    for name in ("pipe.pdf", "folder.pdf", "link.pdf"):
        assert reason_for(tmp_path / name) is Reason.SOURCE_CHANGED
    assert reason_for(b"/dev/null") is Reason.SOURCE_CHANGED


def test_a_missing_file_has_vanished(tmp_path: Path) -> None:
    """Neither the file nor its folder may be there, and a name with a NUL never was."""
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "no.pdf", tmp_path / "file" / "no.pdf"):
        assert reason_for(path) is Reason.SOURCE_VANISHED
    assert reason_for(b"/tmp/a\0b.pdf") is Reason.SOURCE_VANISHED


def test_errors_of_the_system_have_their_reasons(subtests: pytest.Subtests) -> None:
    """What may pass is told from what will not."""
    for number, reason in (
        (errno.EACCES, Reason.SOURCE_UNREADABLE),
        (errno.EPERM, Reason.SOURCE_UNREADABLE),
        (errno.EIO, Reason.READ_FAILED),
        (errno.EMFILE, Reason.READ_FAILED),
        (errno.EHOSTDOWN, Reason.SOURCE_UNREACHABLE),
        (errno.ENOTCONN, Reason.SOURCE_UNREACHABLE),
        (errno.ENOMEM, Reason.OUT_OF_MEMORY),
    ):
        with subtests.test(number=number):
            error = system_error(OSError(number, "words"))
            assert (error.reason, error.code) == (reason, number)


def test_descriptors_of_refused_files_are_given_back(tmp_path: Path) -> None:
    """Refusing a thousand pipes leaves no descriptor open."""
    os.mkfifo(tmp_path / "pipe.pdf")
    before = open_descriptors()
    for _ in range(1000):
        reason_for(tmp_path / "pipe.pdf")
    assert open_descriptors() == before


def test_the_signature_has_to_stand_in_the_first_kilobyte(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Junk before the signature is allowed as far as readers allow it."""
    for data, reason in (
        (b"", Reason.EMPTY_FILE),
        (b"<html>%PDF</html>", Reason.NOT_A_PDF),
        (b"x" * 1020 + b"%PDF-1.4", Reason.NOT_A_PDF),
        (b"\r\n" * 200 + b"%PDF-1.4", None),
        (b"x" * 1019 + b"%PDF-1.4", None),
    ):
        with subtests.test(data=data[-20:]):
            (tmp_path / "a.pdf").write_bytes(data)
            file = SourceFile(os.fsencode(tmp_path / "a.pdf"))
            if reason is None:
                file.sniff()
            else:
                with pytest.raises(DocumentError) as caught:
                    file.sniff()
                assert caught.value.reason is reason
            file.close()


def test_the_hash_is_that_of_all_bytes_and_progress_is_shown(tmp_path: Path) -> None:
    """A file of several pieces hashes like its bytes, with a sign for each piece."""
    data = os.urandom(3 * 1024 * 1024 + 5)
    (tmp_path / "a.pdf").write_bytes(data)
    file = SourceFile(os.fsencode(tmp_path / "a.pdf"))
    signs: list[int] = []
    assert file.sha256(lambda: signs.append(1)) == hashlib.sha256(data).hexdigest()
    assert len(signs) == 4
    assert file.read_all() == data
    file.close()


def test_a_file_that_grows_or_shrinks_while_it_is_hashed_has_changed(tmp_path: Path) -> None:
    """Hashing ends, even when somebody writes to the file for ever."""
    path = tmp_path / "a.pdf"
    path.write_bytes(bytes(3 * 1024 * 1024))
    for change in (lambda: os.truncate(path, 1024), lambda: append(path)):
        path.write_bytes(bytes(3 * 1024 * 1024))
        file = SourceFile(os.fsencode(path))
        with pytest.raises(DocumentError) as caught:
            file.sha256(change)
        assert caught.value.reason is Reason.SOURCE_CHANGED
        with pytest.raises(DocumentError):
            file.check_unchanged()
        file.close()


def append(path: Path) -> None:
    """Let a file grow by more than is read at a time."""
    with path.open("ab") as file:
        file.write(bytes(2 * 1024 * 1024))


@pytest.mark.fault(35, by="RLIMIT_NOFILE with every descriptor in use")
def test_a_file_waits_for_a_descriptor(tmp_path: Path) -> None:
    """Where none is free the file is opened as soon as one is; after a while it could not be read for now, no more."""
    path = os.fsencode(pdfs.text_pdf(tmp_path / "a.pdf"))
    with no_descriptor_left() as hog:
        with pytest.raises(DocumentError) as caught:
            SourceFile(path, waits_s=(0.01, 0.01))
        assert (caught.value.reason, caught.value.code) == (Reason.READ_FAILED, errno.EMFILE)
        freeing = threading.Timer(0.05, lambda: os.close(hog.pop()))
        freeing.start()
        file = SourceFile(path, waits_s=[0.01] * 1000)
        freeing.join()
    file.close()
