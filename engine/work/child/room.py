"""What a worker holds on to beyond its present page, kept small.

MuPDF keeps what it read of a document, up to 256 MB of pictures among it, and every object of an open document that it
came across. Neither can be told to be smaller, so that a look at the process's own memory decides when to let go of
them. Linux only: elsewhere, the parent replaces a worker that has become large.
"""

import os
import sys
from collections.abc import Callable

_GROWTH_BYTES = 24 * 1024 * 1024
"""How much a worker may grow before something is done about it."""


class Room:
    """Lets go of what was kept, where too much of it has come together.

    Args:
        resident_bytes: Tells the resident memory of this process.
        forget: Lets go of what can be read again at any time.
        give_back: Returns freed memory to the system.
    """

    def __init__(
        self, resident_bytes: Callable[[], int], forget: Callable[[], object], give_back: Callable[[], None]
    ) -> None:
        self._resident_bytes = resident_bytes
        self._forget = forget
        self._give_back = give_back
        self._first_bytes = self._most_bytes = resident_bytes() + _GROWTH_BYTES

    def between_pages(self) -> None:
        """Let go of what was read, if it has become much since the process was at its smallest."""
        resident_bytes = self._resident_bytes()
        if resident_bytes > self._most_bytes:
            self._forget()
            self._give_back()
            # What cannot be helped is borne with, until there is as much again.
            self._most_bytes = max(self._first_bytes, self._resident_bytes() + _GROWTH_BYTES)
        else:
            self._most_bytes = min(self._most_bytes, max(self._first_bytes, resident_bytes + _GROWTH_BYTES))


def resident_memory() -> Callable[[], int]:
    """Return what tells the resident memory of this process, always 0 where the system has no such file.

    The file is opened once, and so can be read from within a sandbox.
    """
    if sys.platform != "linux":
        return lambda: 0
    try:
        file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return lambda: 0
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    return lambda: int(os.pread(file, 64, 0).split(b" ", 2)[1]) * page_bytes
