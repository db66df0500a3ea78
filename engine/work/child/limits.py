"""The limits that a worker puts on itself before it parses anything, and what of them is really in force.

Where the system has no such limit its word is missing from the list. macOS takes a limit of address space and does not
hold it, so that only the parent's watch over memory is left there. On Windows a job object stands in for limits.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from engine.work import jobobject

MIB = 1024 * 1024
_OPEN_FILES = 64
_NICENESS = 10
_PR_SET_PDEATHSIG = 1
_SPARE_S = 3


def die_with_parent(parent_pid: int) -> list[str]:
    """Have the system kill this process when its parent ends; exit at once where the parent is gone already."""
    if sys.platform != "linux":
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        return []
    if os.getppid() != parent_pid:  # it ended before the call, so that no signal will come
        os._exit(0)
    return ["ends with its parent"]


def step_back() -> list[str]:
    """Let everything else on the machine go first."""
    if sys.platform == "win32":
        return []
    os.nice(_NICENESS)
    return [f"niceness {_NICENESS}"]


def limit_resources(address_space_bytes: int) -> list[str]:
    """Set hard limits, and return those that hold."""
    if sys.platform == "win32":
        return jobobject.confine_itself(address_space_bytes)
    import resource  # noqa: PLC0415  # not on Windows

    wanted = [
        (resource.RLIMIT_AS, address_space_bytes, f"address space {address_space_bytes // MIB} MB"),
        (resource.RLIMIT_FSIZE, 0, "writes no files"),
        (resource.RLIMIT_CORE, 0, "no core dumps"),
        (resource.RLIMIT_NOFILE, _OPEN_FILES, f"{_OPEN_FILES} open files"),
    ]
    words = []
    for limit, most, word in wanted:
        with suppress(OSError, ValueError):  # macOS refuses some
            _, hard = resource.getrlimit(limit)
            value = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(limit, (value, value))
            held = limit != resource.RLIMIT_AS or sys.platform == "linux"
            if held and resource.getrlimit(limit)[0] == value:
                words.append(word)
    return [*words, "processor time per page"]


class ProcessorLimit:
    """Has the system end this process when it computes for too long without a break.

    The last net: the parent's clocks come first. It holds where the parent itself is stopped.

    Args:
        used_s: Tells how long this process has computed so far.
    """

    def __init__(self, used_s: Callable[[], float] = time.process_time) -> None:
        self._used_s = used_s
        self._end_s = 0

    def allow_s(self, time_s: float) -> None:
        """Allow so much from now on, and up to three seconds more: the system counts in whole ones.

        Asked for every page, so that the system is told only where the end that it knows is too near or too far.
        """
        if sys.platform == "win32":
            return
        least_s = self._used_s() + time_s
        if least_s <= self._end_s <= least_s + _SPARE_S:
            return
        import resource  # noqa: PLC0415  # not on Windows

        end_s = int(least_s) + _SPARE_S
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        if hard == resource.RLIM_INFINITY or end_s <= hard:
            resource.setrlimit(resource.RLIMIT_CPU, (end_s, hard))
            self._end_s = end_s
