"""A medium that is mounted somewhere below the chosen folder goes away, and comes back as another device."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.models.outcome import Reason
from engine.pipeline.upstream import Blame, SourceWatch
from tests.faults.injection import needs_root, small_disk


@needs_root
@pytest.mark.fault(27)
async def test_a_medium_below_the_folder_that_goes_away_is_waited_for(tmp_path: Path) -> None:
    """Its documents are not blamed; a file that is gone from the folder itself is."""
    share = tmp_path / "in" / "share"
    changes: list[bool] = []
    with ThreadPoolExecutor(1) as thread:
        watch = SourceWatch([bytes(tmp_path / "in")], changes.append, thread)
        with small_disk(share, "1m"):
            (share / "a.pdf").touch()
            await watch.begin()
            subprocess.run(["umount", "-l", share], check=True)  # noqa: ASYNC221, S607  # at once
            (share / "an empty mount point").touch()
            assert await watch.blame(Reason.SOURCE_VANISHED, os.fsencode(tmp_path / "in" / "b.pdf")) is Blame.DOCUMENT
            assert await watch.blame(Reason.SOURCE_VANISHED, os.fsencode(share / "a.pdf")) is Blame.SOURCE
            assert changes == [True]
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", share], check=True)  # noqa: ASYNC221, S607  # at once
