"""The limits that a worker puts on itself before it parses anything, and what of them is really in force.

Where the system has no such limit its word is missing from the list. macOS takes a limit of address space and does not
hold it, so that only the parent's watch over memory is left there. On Windows a job object stands in for limits.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress

from engine.work import jobobject

MIB = 1024 * 1024
_OPEN_FILES = 64
_NICENESS = 10
_PR_SET_PDEATHSIG = 1


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


def allow_processor_s(time_s: float) -> None:
    """Have the system end this process when it computes for longer from now on.

    The last net: the parent's clocks come first. It holds where the parent itself is stopped.
    """
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415  # not on Windows

    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime + time_s) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard == resource.RLIM_INFINITY or soft <= hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
