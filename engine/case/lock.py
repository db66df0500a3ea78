"""The lock that lets one process at a time write to a case, and tells a second one who has it.

A file `NAME.lock` beside the case is locked with the operating system's lock, which ends with the process that holds
it, however that ends: a crashed owner never blocks. What is written in the file serves the sentence; and that anything
is written in it while nobody holds it tells that its owner died, since whoever lets go of it removes or empties it.
"""

import contextlib
import json
import os
import socket
import sys
from pathlib import Path

from engine.case.storage import shown
from engine.errors import CaseError, CaseInUseError

_ATTEMPTS = 20
_OWNER_BYTES = 400


class CaseLock:
    """Holds the case for this process from construction until `release`.

    Args:
        case: Path of the case file.

    Raises:
        CaseInUseError: When another process, or this one, has it.
        CaseError: When the lock file cannot be made.
    """

    def __init__(self, case: Path) -> None:
        # Beside the file itself, as SQLite's own side files are, or a link to the case would be a second way in.
        self._path = Path(os.path.realpath(case) + ".lock")
        self.died = False
        """Whether whoever had the case last never let go of it."""
        self._file: int | None = None
        for _ in range(_ATTEMPTS):
            file = self._open(case)
            try:
                held_by = None if _try_lock(file) else _read_owner(file)
            except OSError as error:
                os.close(file)
                raise _unusable(case, error) from error
            if held_by is not None:
                os.close(file)
                raise CaseInUseError(
                    f"{shown(case)} is already open {held_by}. Use it there, or close it there and try again."
                )
            # The owner before us may have removed the file between our opening and our locking it: then somebody else
            # can lock a new file of that name, and ours means nothing.
            if _is_same(file, self._path):
                self._file = file
                break
            os.close(file)
        if self._file is None:
            raise CaseError(f"{shown(case)} could not be locked: its lock file keeps disappearing. Try again.")
        try:
            self._sign()
        except OSError as error:  # a full disk
            self.release()
            raise _unusable(case, error) from error

    def settle(self) -> None:
        """Take note that the case holds what follows from its last owner's death: it need not be remembered here."""
        self.died = False

    def release(self) -> None:
        """Let go of the case; a second call does nothing.

        A death that is not settled stays to be seen: the file is left as if this owner had died, too.
        """
        if self._file is None:
            return
        file, self._file = self._file, None
        if not self.died:
            with contextlib.suppress(OSError):  # on a disk that fails, its owner counts as dead
                os.ftruncate(file, 0)
            if sys.platform != "win32":  # an open file cannot be removed there; left behind empty, it does no harm
                with contextlib.suppress(OSError):  # a folder that became read-only keeps it, as above
                    self._path.unlink()
        os.close(file)

    def _sign(self) -> None:
        """Write whose the lock is, over what its last owner may have left, which is not lost meanwhile."""
        assert self._file is not None  # noqa: S101  # it was just opened
        self.died = os.fstat(self._file).st_size > 0
        owner = json.dumps({"host": socket.gethostname(), "pid": os.getpid()}, sort_keys=True) + "\n"
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, owner.encode())
        os.ftruncate(self._file, len(owner))

    def _open(self, case: Path) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as error:
            raise _unusable(case, error) from error


def _unusable(case: Path, error: OSError) -> CaseError:
    return CaseError(
        f"{shown(case)} cannot be used there: no lock file can be made beside it ({error.strerror}). To go "
        "on, choose another place for the case, or copy it to where you may write."
    )


def _read_owner(file: int) -> str:
    """Return who has the lock, for a sentence."""
    try:
        os.lseek(file, 0, os.SEEK_SET)
        owner = json.loads(os.read(file, _OWNER_BYTES))
        pid, host = int(owner["pid"]), str(owner["host"])
    except (OSError, ValueError, KeyError, TypeError):
        return "in another process"
    if host == socket.gethostname():
        return "in this very program" if pid == os.getpid() else f"in process {pid} on this computer"
    return f"in process {pid} on {host!a}"


def _is_same(file: int, path: Path) -> bool:
    try:
        ours, there = os.fstat(file), path.stat()
    except OSError:
        return False
    return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)


if sys.platform == "win32":
    import msvcrt

    # Locked bytes cannot be read by others there, so that the locked one lies far behind what is written.
    _LOCKED_BYTE = 1 << 20

    def _try_lock(file: int) -> bool:
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        # flock and not lockf: the latter would be lost as soon as anything in this process closed the file.
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
