"""Sources as they are named: which can be used, and the sentence for those that cannot."""

import os
import sys
import threading
from pathlib import Path

import pytest

from engine.errors import ExitCode, SourceError
from engine.source.folder import FolderSource

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="this system has no such thing as a file")


def prepare_guarded(folder: Path) -> None:
    """Make a folder that may not be listed and one that may not be entered."""
    (folder / "closed").mkdir()
    (folder / "closed").chmod(0o300)
    (folder / "shut" / "in").mkdir(parents=True)
    (folder / "shut").chmod(0o600)


def refusal(*paths: Path) -> str:
    """Return the sentence with which the sources are refused, by the check and before the first batch alike."""
    source = FolderSource(paths)
    with pytest.raises(SourceError) as checked:
        source.check()
    with pytest.raises(SourceError) as walked:
        next(source.batches(threading.Event()))
    assert str(checked.value) == str(walked.value)
    assert checked.value.exit_code is ExitCode.USAGE
    return str(checked.value)


def test_a_source_that_does_not_exist_is_refused_before_anything_is_found(root: Path) -> None:
    """One wrong source among good ones is told at once, by name."""
    (root / "a.pdf").write_bytes(b"x")
    assert f"{root / 'gone'} does not exist" in refusal(root, root / "gone")
    assert "does not exist" in refusal(root / "a.pdf" / "below a file")


@needs_posix
def test_a_source_that_is_neither_folder_nor_file_is_refused(root: Path) -> None:
    """A named pipe is no source."""
    os.mkfifo(root / "pipe.pdf")
    assert "neither a folder nor a file" in refusal(root / "pipe.pdf")


@needs_posix
def test_a_link_in_a_circle_is_refused(root: Path) -> None:
    """A link that leads to itself means nothing."""
    (root / "circle").symlink_to("circle")
    assert "leads to itself" in refusal(root / "circle")


def test_a_name_that_cannot_exist_is_refused(root: Path) -> None:
    """A name with a zero byte, and one longer than the system allows, are told and do not crash."""
    assert "cannot be used" in refusal(Path("a\0b"))
    assert "cannot be used" in refusal(root / ("x" * 5000))


def test_a_source_that_may_not_be_read_is_refused(guarded: Path) -> None:
    """An empty run over a closed folder would look like an empty folder."""
    assert "may not be read by you" in refusal(guarded / "closed")
    assert "may not be read by you" in refusal(guarded / "shut" / "in")


@needs_posix
def test_a_source_that_is_a_link_is_followed_because_it_was_named(root: Path) -> None:
    """The root is the real folder, whichever way it was named."""
    (root / "real").mkdir()
    (root / "real" / "a.pdf").write_bytes(b"x")
    (root / "link").symlink_to("real")
    (root / "link.pdf").symlink_to("real/a.pdf")
    for sources in ([root / "link"], [root / "link.pdf"], [root / "link.pdf", root / "link"]):
        (batch,) = FolderSource(sources).batches(threading.Event())
        assert [(file.root, file.path) for file in batch] == [(os.fsencode(root / "real"), b"a.pdf")]


def test_a_relative_source_becomes_absolute(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The root in the record does not depend on where the program was started."""
    (root / "sub").mkdir()
    (root / "sub" / "a.pdf").write_bytes(b"x")
    monkeypatch.chdir(root)
    (batch,) = FolderSource([Path("sub")]).batches(threading.Event())
    assert batch[0].root == os.fsencode(root / "sub")


def test_a_name_in_a_sentence_cannot_mislead_the_eye(root: Path) -> None:
    """Line breaks and reversed writing in the name of a source are spelled out in its sentence."""
    assert "a\\u{a}b\\u{202e}c does not exist" in refusal(root / "a\nb\u202ec")
