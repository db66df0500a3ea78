"""Sources as a person names them: folders and single files, resolved and checked before anything is enumerated.

Covers what may be a source, sources that lie within one another, and the sentence for one that cannot be used.
Walking through them is in `folder`.
"""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from engine.errors import SourceError
from engine.models.names import display_name
from engine.source.entry import is_junk_folder

SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors that say that the system has run out of descriptors or memory, and nothing about the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A source that was found usable."""

    folder: bytes
    """Real absolute path of the folder; of the parent folder, where a single file was named."""
    file: bytes | None
    """Name of the single file, or None for the whole folder."""
    identity: tuple[int, int]
    """Device and inode of the folder: another one under the same path is another medium, or none."""

    @classmethod
    def of(cls, path: Path) -> Self:
        """Resolve one source; a symbolic link is followed here, and only here, because it was named.

        Raises:
            SourceError: When it does not exist, may not be listed, or is neither a folder nor a file.
        """
        try:
            real = os.path.realpath(os.fsencode(path), strict=True)
            mode = os.stat(real).st_mode  # noqa: PTH116  # paths are bytes
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise SourceError(
                    f"The source {display_name(os.fsencode(path))} is neither a folder nor a file. Choose one of these."
                )
            folder, file = (real, None) if stat.S_ISDIR(mode) else os.path.split(real)
            if file is None:
                os.scandir(folder).close()  # whether we may list it is better known now than halfway
            found = os.stat(folder)  # noqa: PTH116  # paths are bytes
        except (OSError, ValueError) as error:  # a ValueError is a name that no file system can hold
            raise _unusable(path, error) from error
        return cls(folder=folder, file=file, identity=(found.st_dev, found.st_ino))

    @property
    def location(self) -> bytes:
        """Real absolute path of the source itself."""
        return self.folder if self.file is None else os.path.join(self.folder, self.file)  # noqa: PTH118  # bytes

    def is_there(self) -> bool:
        """Return whether the folder is still the one that was checked; blocking."""
        try:
            found = os.stat(self.folder)  # noqa: PTH116  # paths are bytes
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self.identity

    def covers(self, other: Self) -> bool:
        """Return whether a walk through this folder meets the whole of the other source."""
        inner, outer = os.path.normcase(other.location), os.path.join(os.path.normcase(self.folder), b"")  # noqa: PTH118
        if not inner.startswith(outer):
            return False
        return not any(is_junk_folder(part) for part in inner[len(outer) :].split(os.fsencode(os.sep)))


def resolve(paths: Iterable[Path]) -> tuple[Root, ...]:
    """Resolve sources, in their order, without those that another one covers, so that no file is met twice.

    Raises:
        SourceError: When one of them cannot be used.
    """
    roots = {root.location: root for root in map(Root.of, paths)}.values()
    folders = [root for root in roots if root.file is None]
    return tuple(root for root in roots if not any(folder.covers(root) for folder in folders))


def broken_off(root: Root, error: OSError) -> SourceError:
    """Return the error for a source that could not be enumerated to its end: it went away, or the system refused.

    What is in a folder must not be hidden by leaving it out for a reason that has nothing to do with it.
    """
    name = display_name(root.folder)
    if error.errno in SCARCE:
        return SourceError(
            f"The source {name} could not be looked through to its end: the system refused ({error.strerror}). End "
            "other programs, or raise the limits for open files or memory, and run the case once more: what is done "
            "stays done."
        )
    return SourceError(
        f"The source {name} can no longer be reached, so that not all of its files were found. Connect it again and "
        "run the case once more: what is done stays done."
    )


def _unusable(path: Path, error: OSError | ValueError) -> SourceError:
    name = display_name(os.fsencode(path))
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return SourceError(f"The source {name} does not exist. Check its name, or connect the drive that it is on.")
    if isinstance(error, PermissionError):
        return SourceError(f"The source {name} may not be read by you. Get the right to read it, or choose another.")
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return SourceError(f"The source {name} is a symbolic link that leads to itself. Choose what it should mean.")
    cause = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "not a possible name"
    return SourceError(f"The source {name} cannot be used ({cause}). Choose another one.")
