"""The program as its users have it: started in a process of its own, with its exit code and its two streams."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "engine.terminal")

Ended = subprocess.CompletedProcess[str]


def environment(**changes: str) -> Mapping[str, str]:
    """Return the surroundings of the program; places of a person's files are set by the fixture `home`."""
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | changes


def sluicegate(*arguments: str | Path) -> Ended:
    """Run the program to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT.parent,
        check=False,
    )


def start(*arguments: str | Path, stderr: int | IO[Any] = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start the program, in a session of its own, and leave it running."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=environment(TERM="xterm"),
        cwd=ROOT.parent,
        start_new_session=True,
    )


def read_until(stream: IO[str] | None, words: str) -> str:
    """Read lines until one holds the words; return all of them."""
    assert stream is not None
    read = ""
    for line in stream:
        read += line
        if words in line:
            return read
    raise AssertionError(f"{words!r} never came in: {read}")


def summary_of(ended: Ended) -> dict[str, Any]:
    """Return the JSON object, which is all that may stand on standard output."""
    made = json.loads(ended.stdout)
    assert isinstance(made, dict)
    return made
