"""Opening the file of a document: only a regular file, never through a link, and never waiting for a pipe.

Maps the system's error numbers to our reasons. What is in the file is the business of `documents`.
"""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from engine.models.document import kept_time_ns
from engine.models.outcome import Reason

_SNIFFED_BYTES = 1024
_CHUNK_BYTES = 1024 * 1024
_SIGNATURE = b"%PDF-"

_AWAY = frozenset(
    getattr(errno, name)
    for name in (
        *("ENOTCONN", "EHOSTDOWN", "EHOSTUNREACH", "ENETDOWN", "ENETUNREACH", "ENODEV", "ENXIO", "ETIMEDOUT"),
        *("ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EREMOTEIO"),
    )
    if hasattr(errno, name)
)

_SCARCE = frozenset({errno.EMFILE, errno.ENFILE})
_WAITS_S = (0.05, 0.1, 0.25, 0.5, *[1.0] * 8)


class DocumentError(Exception):
    """A document cannot be used, for one of the listed reasons.

    Args:
        reason: Why.
        code: Error number of the system or of MuPDF.
    """

    def __init__(self, reason: Reason, code: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


def system_error(error: OSError) -> DocumentError:
    """Return what an error of the system means for the document."""
    number = error.errno
    if number in {errno.ENOENT, errno.ENOTDIR}:
        reason = Reason.SOURCE_VANISHED
    elif number in {errno.EACCES, errno.EPERM, errno.ENAMETOOLONG}:
        reason = Reason.SOURCE_UNREADABLE
    elif number == errno.ELOOP:  # O_NOFOLLOW: a link stands where a file was found
        reason = Reason.SOURCE_CHANGED
    elif number == errno.ENOMEM:
        reason = Reason.OUT_OF_MEMORY
    elif number in _AWAY:
        reason = Reason.SOURCE_UNREACHABLE
    else:
        reason = Reason.READ_FAILED
    return DocumentError(reason, number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What tells one version of a file from another."""

    size_bytes: int
    mtime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> Self:
        """Return the version that the system shows."""
        return cls(size_bytes=found.st_size, mtime_ns=kept_time_ns(found.st_mtime_ns))


class SourceFile:
    """An open file.

    Args:
        location: Its absolute path as bytes.
        waits_s: How long to wait, time after time, where the system has no descriptor left.

    Raises:
        DocumentError: When it cannot be opened or is no regular file.
    """

    def __init__(self, location: bytes, *, waits_s: Sequence[float] = _WAITS_S) -> None:
        self.location = location
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        # A pipe would make us wait for a writer, a link could lead anywhere, a terminal could become ours.
        flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NOCTTY", 0)
        try:
            self.fd = _opened(location, flags, waits_s)
        except OSError as error:
            raise system_error(error) from error
        except ValueError as error:  # a NUL in its name
            raise DocumentError(Reason.SOURCE_VANISHED) from error
        try:
            found = os.fstat(self.fd)
        except OSError as error:
            self.close()
            raise system_error(error) from error
        self.identity = (found.st_dev, found.st_ino)
        self.version = Version.of(found)
        if not stat.S_ISREG(found.st_mode):
            self.close()
            raise DocumentError(Reason.SOURCE_CHANGED)

    def close(self) -> None:
        """Close it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def check_unchanged(self) -> None:
        """Make sure that it still is what it was when it was opened.

        Raises:
            DocumentError: When it is not.
        """
        try:
            found = os.fstat(self.fd)
        except OSError as error:
            raise system_error(error) from error
        if Version.of(found) != self.version:
            raise DocumentError(Reason.SOURCE_CHANGED)

    def sniff(self) -> None:
        """Make sure that it says of itself that it is a PDF, near its beginning.

        Raises:
            DocumentError: When it does not, is empty or cannot be read.
        """
        if self.version.size_bytes == 0:
            raise DocumentError(Reason.EMPTY_FILE)
        if _SIGNATURE not in self._read(_SNIFFED_BYTES, 0):
            raise DocumentError(Reason.NOT_A_PDF)

    def sha256(self, on_progress: Callable[[], None]) -> str:
        """Return the hash of its bytes, reading it in pieces.

        Args:
            on_progress: Called after each piece.

        Raises:
            DocumentError: When it cannot be read.
        """
        digest = hashlib.sha256()
        at = 0
        while data := self._read(_CHUNK_BYTES, at):
            digest.update(data)
            at += len(data)
            if at > self.version.size_bytes:  # somebody writes to it, perhaps for ever
                break
            on_progress()
        if at != self.version.size_bytes:
            raise DocumentError(Reason.SOURCE_CHANGED)
        return digest.hexdigest()

    def read_all(self) -> bytes:
        """Return all its bytes; for the names that a parser cannot open.

        Raises:
            DocumentError: When it cannot be read.
        """
        return self._read(self.version.size_bytes, 0)

    def _read(self, size: int, at: int) -> bytes:
        try:
            os.lseek(self.fd, at, os.SEEK_SET)
            with os.fdopen(self.fd, "rb", closefd=False) as file:
                return file.read(size)
        except OSError as error:
            raise system_error(error) from error


def _opened(location: bytes, flags: int, waits_s: Sequence[float]) -> int:
    """Open a file, in a while where the system has no room for it now: that says nothing against the file."""
    for wait_s in waits_s:
        try:
            return os.open(location, flags)
        except OSError as error:
            if error.errno not in _SCARCE:
                raise
        time.sleep(wait_s)  # the system tells nobody when a descriptor is free again
    return os.open(location, flags)
