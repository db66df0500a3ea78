"""Folders and single files as a source: their entries in batches, lazily, with memory that does not grow with them.

Covers the walk. What becomes of one entry is in `entry`, what may be a source in `root`. No file is ever opened and
nothing is ever written: of a document only its name, size and time are read here.

The walk goes depth first, in the order of the names' bytes, which is the same on every system. It holds no open
directory and, for each folder between the root and where it stands, at most `names_held` names. A folder with more
entries than that is listed again for each further part: a second look costs less than a list without bounds.

The same file is met once however the sources overlap, because a source inside another one is left to the outer one.
Two names of one file (a hard link) are two documents with equal content, which the case file finds out.
"""

import heapq
import itertools
import os
import threading
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from engine.models.document import FoundFile
from engine.source.entry import Identity, look_at, unlisted, unseen
from engine.source.root import SCARCE, Root, broken_off, resolve

_WAITS_S = (0.1, 0.2, 0.5, 1.0, 2.0, *[5.0] * 24)


class FolderSource:
    """Finds the documents of folders, at any depth, and single files.

    A document is a regular file whose name ends in one of `suffixes`, in any letter case; that holds for files named
    singly too. Everything else is listed with the reason why it is left out, except ordinary folders, which are
    entered. Hidden files and folders are no exception: they may hold evidence. Symbolic links are not followed, so
    that the walk cannot run in circles; only a source that was named may itself be a link.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        batch_size: int = 256,
        suffixes: Sequence[bytes] = (b".pdf",),
        own: Sequence[Path] = (),
        names_held: int = 32_768,
        waits_s: Sequence[float] = _WAITS_S,
    ) -> None:
        """Take the sources; nothing is looked at before `check` or `batches`.

        Args:
            paths: Folders and single files.
            batch_size: Most entries in a batch.
            suffixes: How the names of documents end, in lower case.
            own: Files of this program: a case that lies in a source is no document of it, whatever its name.
            names_held: Most names of one folder that are held at a time.
            waits_s: How long to wait, time after time, where the system has no descriptor or memory for a listing.
        """
        self._paths = tuple(paths)
        self._batch_size = batch_size
        self._suffixes = tuple(suffixes)
        self._own = tuple(own)
        self._names_held = names_held
        self._waits_s = tuple(waits_s)

    def check(self) -> None:
        """Look whether every source can be used; blocking.

        Raises:
            SourceError: When one cannot, with a sentence that says which and why.
        """
        resolve(self._paths)

    def batches(self, stop: threading.Event) -> Iterator[Sequence[FoundFile]]:
        """Yield all entries in batches, as they are found, until all are found or `stop` is set; blocking.

        Raises:
            SourceError: When a source cannot be used (before the first batch), goes away under way, or cannot be
                listed for want of descriptors or memory.
        """
        own = frozenset(filter(None, map(_identity, self._own)))
        found = itertools.chain.from_iterable(self._walk(root, own, stop) for root in resolve(self._paths))
        while (batch := tuple(itertools.islice(found, self._batch_size))) and not stop.is_set():
            yield batch

    def _walk(self, root: Root, own: Collection[Identity], stop: threading.Event) -> Iterator[FoundFile]:
        """Yield what one source holds; the stack has one level for each folder between the root and here."""
        levels = [(b"", self._names(root.folder, stop) if root.file is None else iter([root.file]))]
        while levels and not stop.is_set():
            folder, names = levels[-1]
            try:
                name = next(names, None)
            except OSError as error:
                if not folder or error.errno in SCARCE or not root.is_there():
                    raise broken_off(root, error) from error
                yield unlisted(root.folder, folder, error)
                name = None
            if name is None:
                levels.pop()
                continue
            path = os.path.join(folder, name)  # noqa: PTH118  # paths are bytes
            try:
                file, enter = look_at(root.folder, path, self._suffixes, own)
            except OSError as error:
                if not root.is_there():
                    raise broken_off(root, error) from error
                file, enter = unseen(root.folder, path, self._suffixes, error), False
            if enter:
                levels.append((path, self._names(os.path.join(root.folder, path), stop)))  # noqa: PTH118  # bytes
            if file is not None:
                yield file

    def _names(self, folder: bytes, stop: threading.Event) -> Iterator[bytes]:
        """Yield the names in a folder, in order; an OSError comes after the names that could be had."""
        after, failures = b"", list[OSError]()
        while True:
            part = heapq.nsmallest(self._names_held, self._listed(folder, after, stop, failures))
            yield from part
            if len(part) < self._names_held:
                break
            after = part[-1]
            del part  # it need not be there while the next one is made
        if failures:
            raise failures[0]

    def _listed(self, folder: bytes, after: bytes, stop: threading.Event, failures: list[OSError]) -> Iterator[bytes]:
        """Yield the names that come after `after`, in no order; a failure ends it and is noted."""
        try:
            with self._opened(folder, stop) as listing:
                for entry in listing:
                    if stop.is_set():
                        return
                    if entry.name > after:
                        yield entry.name
        except OSError as error:
            if not stop.is_set():
                failures.append(error)

    def _opened(self, folder: bytes, stop: threading.Event) -> "os._ScandirIterator[bytes]":
        """Open a folder for listing, in a while where the system has no room for it now."""
        for wait_s in self._waits_s:
            try:
                return os.scandir(folder)
            except OSError as error:
                if error.errno not in SCARCE or stop.wait(wait_s):
                    raise
        return os.scandir(folder)


def _identity(file: Path) -> Identity | None:
    """Return what tells a file from all others; None where it is not there or cannot be told apart; blocking."""
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_ino else None
