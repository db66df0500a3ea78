"""Parts: files and folders that take their final name only when they are complete.

A program that is killed leaves its part behind; whoever writes to the same folder next removes it. The name says who
made it: another computer's, on a share, and one of a program that still runs are left alone.
"""

import hashlib
import os
import re
import secrets
import shutil
import socket
from contextlib import suppress
from pathlib import Path

import psutil

_NAME = re.compile(r"\.sluicegate-([0-9a-f]{8})-([0-9]{1,10})-[0-9a-f]{16}\.part")


def new_part(folder: Path) -> Path:
    """Return a name in a folder that nobody else uses, and remove what was left behind there.

    Args:
        folder: Where the part and what it becomes lie.
    """
    _remove_left(folder)
    return folder / f".sluicegate-{_computer()}-{os.getpid()}-{secrets.token_hex(8)}.part"


def _remove_left(folder: Path) -> None:
    with suppress(OSError):  # what cannot be looked at or removed does no harm
        for path in folder.iterdir():
            made = _NAME.fullmatch(path.name)
            if made is None or made[1] != _computer() or psutil.pid_exists(int(made[2])):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _computer() -> str:
    """Return what tells this computer from others in a part's name."""
    return hashlib.sha256(socket.gethostname().encode(errors="replace")).hexdigest()[:8]
