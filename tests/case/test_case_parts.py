"""Parts of exports: what a killed program left is removed by the next one, and nothing else is."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from engine.case.parts import new_part


def ended_pid() -> int:
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_only_what_a_program_that_has_ended_left_here_is_removed(tmp_path: Path) -> None:
    """Files and folders of a dead program go; those of a living one, of another computer, and of people stay."""
    mine = new_part(tmp_path)
    computer = mine.name.split("-")[1]
    other = hashlib.sha256(b"another computer").hexdigest()[:8]
    dead = ended_pid()
    kept = [
        mine,
        tmp_path / f".sluicegate-{computer}-{os.getpid()}-{'1' * 16}.part",
        tmp_path / f".sluicegate-{other}-{dead}-{'2' * 16}.part",
        tmp_path / "audit.jsonl",
        tmp_path / f".sluicegate-{computer}-{dead}-x.part",
    ]
    for path in kept:
        path.write_text("kept")
    left = tmp_path / f".sluicegate-{computer}-{dead}-{'3' * 16}.part"
    left.write_text("left")
    left_folder = tmp_path / f".sluicegate-{computer}-{dead}-{'4' * 16}.part"
    (left_folder / "texts").mkdir(parents=True)
    assert new_part(tmp_path) not in kept
    assert sorted(tmp_path.iterdir()) == sorted(kept)
