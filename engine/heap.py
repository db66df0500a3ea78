"""The C library's heap: one for all threads, and freed memory given back; for the program and its workers."""

import ctypes
import gc
import sys
from contextlib import suppress

_M_ARENA_MAX = -8  # of glibc's malloc.h


def share_one_heap() -> bool:
    """Let all threads take memory from one heap; return whether this system's C library can. For a program's start.

    Otherwise glibc gives each thread a heap of its own, of which each keeps what was once needed there: every case has
    threads of its own, so that one after the other fills them all.
    """
    if sys.platform != "linux":
        return False
    with suppress(AttributeError, OSError):  # another C library has no such setting
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1))
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
