"""Which paths can be those of a case at all, whatever is or is not there: told before SQLite is given one.

Whether the disk is one of this computer is the business of `disks`.
"""

import os
import stat
from pathlib import Path

from engine.case.storage import shown
from engine.errors import CaseError, NotACaseError

LONGEST_PATH_BYTES = 504
"""The longest path that SQLite opens on Unix: it has room for 512 bytes, its side files' longer names included."""


def require_place(path: Path) -> None:
    """Refuse a path that cannot be that of a case, whether or not there is anything yet.

    Raises:
        CaseError: When its name, or that of a folder above it, is no Unicode text, or too long, or cannot be looked at.
        NotACaseError: When something else than a file is there: a folder, a pipe, a device.
    """
    try:
        full = path.absolute()
    except OSError as error:
        raise CaseError(
            f"{shown(path)} cannot be found: the folder that this program was started in is not there any more "
            f"({error.strerror}). Nothing was done. Give the whole path, or start the program in another folder."
        ) from error
    try:
        lengths = [len(str(name).encode()) for name in (full, os.path.realpath(full))]
    except UnicodeEncodeError as error:
        raise CaseError(
            f"{shown(full)} cannot be a case: its name, and those of the folders that it lies in, must be "
            "Unicode text (UTF-8). Nothing was done. Choose another name or place, or rename what is there."
        ) from error
    if os.name == "posix" and max(lengths) > LONGEST_PATH_BYTES:
        raise CaseError(
            f"{shown(full)} cannot be a case: the whole path has {max(lengths)} bytes, and may have "
            f"{LONGEST_PATH_BYTES}. Nothing was done. Choose a shorter name, or a folder that is less deep."
        )
    try:
        mode = full.stat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise CaseError(f"{shown(full)} cannot be read ({cause}). Choose another file.") from error
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "no ordinary file (a pipe, a socket or a device)"
        raise NotACaseError(
            f"{shown(full)} is {kind}, and cannot be a case. Nothing was done. Choose a case file, or another name for "
            "a new one."
        )
