"""One directory entry: what kind of thing it is, and whether it is a document or left out, and why.

Covers the rules about names and kinds, applied to one look at the entry that neither opens nor follows it. Which
entries there are is the business of `folder`.
"""

import errno
import os
import stat
from collections.abc import Collection, Sequence

from engine.models.document import FoundFile, kept_time_ns
from engine.models.outcome import SkipReason

Identity = tuple[int, int]
"""Device and inode of a file, which stay the same under whatever name it is met."""

_JUNK_FILES = frozenset({b".ds_store", b"thumbs.db", b"desktop.ini"})
_JUNK_FOLDERS = frozenset({b"__macosx"})
_JUNCTION = 0xA0000003
"""The tag of a Windows junction, which is a link to a folder in all but name."""
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})
_SPECIAL = {stat.S_IFIFO: SkipReason.FIFO, stat.S_IFSOCK: SkipReason.SOCKET}


def is_junk_folder(name: bytes) -> bool:
    """Return whether a folder of this name is left behind by a system and holds no documents of anybody's."""
    return name.lower() in _JUNK_FOLDERS


def look_at(
    root: bytes, path: bytes, suffixes: Sequence[bytes], own: Collection[Identity] = ()
) -> tuple[FoundFile | None, bool]:
    """Look at one entry, without opening it or following it; blocking.

    Args:
        root: Absolute path of the source root.
        path: Path of the entry below it.
        suffixes: How the names of documents end, in lower case.
        own: Files of this program, which are no documents, whatever their names.

    Returns:
        The entry to list, or None for an ordinary folder; and whether it is a folder to enter.

    Raises:
        OSError: When the system does not let us look; `unseen` says what to list then.
    """
    info = os.lstat(os.path.join(root, path))  # noqa: PTH118  # paths are bytes
    skip = _skip_reason(os.path.basename(path), info, suffixes)  # noqa: PTH119  # paths are bytes
    if skip is None and (info.st_dev, info.st_ino) in own:
        skip = SkipReason.HIDDEN_JUNK
    enter = stat.S_ISDIR(info.st_mode) and skip in {None, SkipReason.DIRECTORY}
    if enter and skip is None:
        return None, True
    mtime_ns = kept_time_ns(info.st_mtime_ns)
    return FoundFile(root=root, path=path, size_bytes=info.st_size, mtime_ns=mtime_ns, skip=skip), enter


def unseen(root: bytes, path: bytes, suffixes: Sequence[bytes], error: OSError) -> FoundFile:
    """Return what to list for an entry that we could not look at.

    Where its name is that of a document, it is one: the worker will fail to open it, and it becomes a dead letter,
    while leaving it out here would hide it. Otherwise it may be a folder, for all we know.
    """
    if error.errno not in _GONE and path.lower().endswith(tuple(suffixes)):
        return FoundFile(root=root, path=path, size_bytes=0, mtime_ns=0)
    return unlisted(root, path, error)


def unlisted(root: bytes, path: bytes, error: OSError) -> FoundFile:
    """Return what to list for a folder whose entries could not be had, or not all of them."""
    skip = SkipReason.VANISHED if error.errno in _GONE else SkipReason.UNREADABLE_DIRECTORY
    return FoundFile(root=root, path=path, size_bytes=0, mtime_ns=0, skip=skip)


def _skip_reason(name: bytes, info: os.stat_result, suffixes: Sequence[bytes]) -> SkipReason | None:
    lowered = name.lower()
    selected = lowered.endswith(tuple(suffixes))
    if stat.S_ISLNK(info.st_mode) or getattr(info, "st_reparse_tag", 0) == _JUNCTION:
        return SkipReason.SYMBOLIC_LINK
    if stat.S_ISDIR(info.st_mode):
        if is_junk_folder(name):
            return SkipReason.HIDDEN_JUNK
        return SkipReason.DIRECTORY if selected else None
    if not stat.S_ISREG(info.st_mode):
        return _SPECIAL.get(stat.S_IFMT(info.st_mode), SkipReason.DEVICE)
    if lowered in _JUNK_FILES or lowered.startswith(b"._"):
        return SkipReason.HIDDEN_JUNK
    return None if selected else SkipReason.NOT_SELECTED
