"""Calls of the Linux kernel that Python has no function for; what the layers of the sandbox share.

Covers making a call and giving up privileges. What is asked of the kernel is the business of `landlock` and `seccomp`.
"""

import ctypes
import errno
import os
from collections.abc import Callable

Syscall = Callable[..., int]
"""Makes a call by its number, with whole numbers as arguments; returns its result or raises OSError."""

_PR_SET_NO_NEW_PRIVS = 38


class LayerMissingError(Exception):
    """A layer of the sandbox cannot be entered here; the text says why, in a few words for the posture."""


def syscall(number: int, *arguments: int) -> int:
    """Make a call.

    Args:
        number: Its number on this machine.
        arguments: Whole numbers; addresses among them.

    Raises:
        OSError: When it fails.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    result = int(libc.syscall(*(ctypes.c_long(value) for value in (number, *arguments))))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def give_up_privileges() -> None:
    """Make sure that no program started from here could ever gain privileges; both layers ask for it first.

    Raises:
        LayerMissingError: When this kernel does not know that.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise LayerMissingError(refusal(ctypes.get_errno()))


def refusal(code: int) -> str:
    """Return an error number of the kernel as words for the posture."""
    if code in {errno.ENOSYS, errno.EINVAL}:
        return "not in this kernel"
    if code == errno.EOPNOTSUPP:
        return "switched off"
    return f"refused with {errno.errorcode.get(code, str(code))}"
