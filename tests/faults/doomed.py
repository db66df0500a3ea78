"""The real program, made to die: SIGKILL at the n-th step at which it changes anything on disk.

Run as `python -m tests.faults.doomed` in place of `python -m engine.terminal`. A step is a write, a sync, a change of
length, the making, renaming or removing of a file, in whatever thread, by SQLite or by Python. It dies before the
step is taken; a write of more than a page of memory is two steps, since that is where the system itself breaks off a
write of a process that is being killed. Nothing of the program is replaced: SQLite's calls pass through a layer of
APSW, Python's are seen through its own audit events. Workers are other programs and know nothing of it.
"""

import os
import signal
import sys
import threading
from typing import Any

from tests.faults.sqlite_layer import Layer, LayeredFile, OpenedName, makes_file, path_of

DIE_AT = "SLUICEGATE_DIE_AT"
"""Environment: the step, from 1; 0 only counts, and tells how many steps there were."""

MEMORY_PAGE_BYTES = 4096

_CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink"})


class Doom:
    """Counts steps, and ends the process at one of them.

    Args:
        at: The step, from 1, or 0 for none.
    """

    def __init__(self, at: int) -> None:
        self._at = at
        self._lock = threading.Lock()
        self.steps = 0

    def step(self, what: str) -> None:
        """Take note that something is about to change; does not return where this is the last step."""
        with self._lock:
            self.steps += 1
            if self.steps == self._at:
                os.write(2, f"killed before step {self._at}: {what}\n".encode())
                os.kill(os.getpid(), signal.SIGKILL)
                threading.Event().wait()  # nothing more happens here, however late the signal arrives

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take note of one of Python's audit events."""
        if event in _CHANGES:
            self.step(event)
        elif event == "open":
            path, _, flags = arguments
            is_file = isinstance(path, str | bytes) and not os.fsencode(path).startswith((b"/dev/", b"/proc/"))
            if is_file and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.step("open to write")


class DoomedFile(LayeredFile):
    """A file of SQLite whose changes are steps."""

    def __init__(self, base: str, name: OpenedName, flags: list[int], doom: Doom) -> None:
        self._doom = doom
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  # SQLite's name
        """Override: a write, in two halves where it is long."""
        self._doom.step("write")
        if len(data) > MEMORY_PAGE_BYTES:
            super().xWrite(data[:MEMORY_PAGE_BYTES], offset)
            data, offset = data[MEMORY_PAGE_BYTES:], offset + MEMORY_PAGE_BYTES
            self._doom.step("rest of a write")
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802  # SQLite's name
        """Override: a change of length."""
        self._doom.step("truncate")
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        """Override: a sync."""
        self._doom.step("sync")
        super().xSync(flags)


class DoomedDisk(Layer):
    """What SQLite takes for the system's files."""

    def __init__(self, doom: Doom) -> None:
        self._doom = doom
        super().__init__("doomed")

    def xOpen(self, name: OpenedName, flags: list[int]) -> DoomedFile:  # noqa: N802  # SQLite's name
        """Override: making a file is a step."""
        if makes_file(path_of(name), flags):
            self._doom.step("create")
        return DoomedFile(self.below, name, flags, self._doom)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802  # SQLite's call
        """Override: removing a file is a step."""
        self._doom.step("delete")
        super().xDelete(filename, syncdir)


def main() -> None:
    """Run the program until its step comes."""
    doom = Doom(int(os.environ[DIE_AT]))
    disk = DoomedDisk(doom)
    from engine.terminal.commands import terminal_commands  # noqa: PLC0415  # loading it is no part of the run

    sys.addaudithook(doom.audit)
    try:
        terminal_commands(prog_name="sluicegate")
    finally:
        os.write(2, f"steps: {doom.steps}\n".encode())
        del disk


if __name__ == "__main__":
    main()
