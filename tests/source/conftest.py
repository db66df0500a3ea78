"""Real folders for the tests of the source: one to build in, and one where permissions count even for root."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65_534


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder, without symbolic links in its path."""
    folder = tmp_path.resolve() / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def guarded(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder whose permissions bind this process: as root, we act as nobody for the time of the test.

    The test fills the folder through its own function `prepare`, which still runs with all rights.
    """
    if sys.platform == "win32":
        pytest.skip("permissions work differently on Windows")
    folder = Path(tempfile.mkdtemp()).resolve()
    folder.chmod(0o755)
    was_root = os.geteuid() == 0
    request.module.prepare_guarded(folder)
    if was_root:
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if was_root:
            os.seteuid(0)
        for path in folder.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        shutil.rmtree(folder)
