"""A layer between SQLite and the system's files, so that a test sees every change that SQLite makes on disk.

Covers what all such layers need; what one does with a change is its own business.
"""

from pathlib import Path
from typing import Any

import apsw


class LayeredFile(apsw.VFSFile):
    """A file of the system below, as SQLite sees it."""

    def xLock(self, level: int) -> None:  # noqa: N802  # SQLite's name
        """Override: a lock that a read-only file cannot have counts as taken by another.

        SQLite tries for one when such a connection closes, and goes on without it; APSW would report the refusal.
        """
        try:
            super().xLock(level)
        except apsw.IOError as error:
            raise apsw.BusyError from error


class Layer(apsw.VFS):
    """What SQLite takes for the system's files while this is registered; `unregister` ends that.

    Args:
        name: What SQLite calls it.
    """

    def __init__(self, name: str) -> None:
        self.below = apsw.vfs_names()[0]
        super().__init__(name, self.below, makedefault=True)


def path_of(name: str | apsw.URIFilename | None) -> Path | None:
    """Return the path that SQLite opens, or None for a temporary file without a name."""
    if name is None:
        return None
    return Path(name if isinstance(name, str) else name.filename())


def makes_file(path: Path | None, flags: list[int]) -> bool:
    """Whether opening a path with these flags makes a file."""
    return path is not None and bool(flags[0] & apsw.SQLITE_OPEN_CREATE) and not path.exists()


OpenedName = Any
"""What SQLite hands on: a string or an `apsw.URIFilename`, to be given to the file as it is."""
