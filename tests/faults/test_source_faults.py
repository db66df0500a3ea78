"""Sources that vanish, change, cannot be read, fail or hang while they are read, and things that are no documents.

What a walk through folders leaves out is tested in full in `tests/source`; here it is the whole program that meets it.
"""

import contextlib
import os
import threading
from pathlib import Path

import pytest

from engine.errors import SourceError
from engine.source.folder import FolderSource
from tests.faults.injection import needs_posix, no_descriptor_left


def folder_of_two(root: Path) -> Path:
    """Make a document, and another one in a folder below."""
    (root / "sub").mkdir(parents=True)
    (root / "a.pdf").write_bytes(b"x")
    (root / "sub" / "b.pdf").write_bytes(b"x")
    return root


@needs_posix
@pytest.mark.fault(35, by="RLIMIT_NOFILE with every descriptor in use")
def test_a_folder_is_not_left_out_for_want_of_descriptors(tmp_path: Path) -> None:
    """A folder that cannot be listed for that is not unreadable: the walk ends with a sentence, and hides nothing."""
    root = folder_of_two(tmp_path / "in")
    batches = FolderSource([root], batch_size=1, waits_s=(0.01,)).batches(threading.Event())
    assert [file.path for file in next(batches)] == [b"a.pdf"]
    with no_descriptor_left(), pytest.raises(SourceError, match="Too many open files"):
        next(batches)


@needs_posix
@pytest.mark.fault(35, by="RLIMIT_NOFILE with every descriptor in use")
def test_a_listing_waits_for_a_descriptor(tmp_path: Path) -> None:
    """When descriptors come back, the walk goes on where it was; a stop ends the wait, and is no error."""
    root = folder_of_two(tmp_path / "in")

    class FreedAfter(threading.Event):
        """Frees all descriptors at the third wait."""

        waits = 0

        def wait(self, timeout: float | None = None) -> bool:
            self.waits += 1
            if self.waits == 3:
                hogged.close()
            return super().wait(timeout)

    stop = FreedAfter()
    batches = FolderSource([root], batch_size=1, waits_s=[0.001] * 1000).batches(stop)
    assert [file.path for file in next(batches)] == [b"a.pdf"]
    with contextlib.ExitStack() as hogged:
        hogged.enter_context(no_descriptor_left())
        assert [file.path for file in next(batches)] == [os.fsencode(Path("sub", "b.pdf"))]
    assert stop.waits == 3

    stop = FreedAfter()
    batches = FolderSource([root], batch_size=1, waits_s=[0.001] * 1000).batches(stop)
    next(batches)
    with no_descriptor_left():
        timer = threading.Timer(0.05, stop.set)
        timer.start()
        assert list(batches) == []
        timer.join()
