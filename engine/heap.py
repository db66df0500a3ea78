"""The C library's heap: one for all threads, how much that is free it keeps, and when it gives that back.

For the program and its workers.
"""

import ctypes
import gc
import sys
from contextlib import suppress
from typing import Final

_MIB: Final = 1024 * 1024
# Of glibc's malloc.h.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8

_KEPT_FREE_BYTES: Final = 4 * _MIB
_FROM_SYSTEM_BYTES: Final = _MIB
"""What is larger than any usual answer of a worker is asked of the system, and goes back to it at once."""


def set_up_heap() -> bool:
    """Set the heap up for a program of many threads; return whether this system's C library can. For its start.

    Otherwise glibc gives each thread a heap of its own, of which each keeps what was once needed there: every case has
    threads of its own, so that one after the other fills them all. And it would give the memory of each large answer
    back to the system, which clears it, page by page, before the next answer gets it.
    """
    if sys.platform != "linux":
        return False
    with suppress(AttributeError, OSError):  # another C library has no such settings
        mallopt = ctypes.CDLL(None).mallopt
        shared = mallopt(_M_ARENA_MAX, 1)
        kept = mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE_BYTES) and mallopt(_M_MMAP_THRESHOLD, _FROM_SYSTEM_BYTES)
        return bool(shared and kept)
    return False


def free_leftovers() -> None:
    """Free what only refers to itself, and return free memory to the system; takes some hundredths of a second.

    For the moment when something large was let go. By itself Python looks for such leftovers among what is old only
    once they may be a quarter of everything. Call it on the main thread: what is freed may belong to a window.
    """
    gc.collect()
    give_back_memory()


def give_back_memory() -> None:
    """Return freed memory to the system, where the C library keeps it and can be asked to."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):  # as above
            ctypes.CDLL(None).malloc_trim(0)
