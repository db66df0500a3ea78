"""Landlock: from here on this process changes no file, runs no program, connects nowhere and signals nobody.

Reading is left alone: documents may lie anywhere that their owner may read, and so may the rest of Python. Landlock
also keeps this process from writing to the memory of all others and from their open files, whatever its rules say. It
does not cover the permissions, owners, times and attributes of files, nor UDP: those are left to `seccomp`.
"""

import ctypes
import os
import struct
from pathlib import Path

from engine.work.child import kernel
from engine.work.child.kernel import LayerMissingError, Syscall

# The same numbers on every machine.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_ASK_VERSION = 1

_NEWEST_ABI = 7
_EXECUTE, _WRITE_FILE = 1 << 0, 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
# Left out are reading files (bit 2) and folders (bit 3): allowing both beneath / would come to the same, but for files
# on a mount that was taken away while they were open.
_FILE_RIGHTS = ((1, _EXECUTE | _WRITE_FILE | _REMOVE_AND_MAKE), (2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV))
_TCP_ABI, _TCP_RIGHTS = 4, 0b11  # bind and connect
_SCOPE_ABI, _SCOPES = 6, 0b11  # abstract Unix sockets and signals
_TRUNCATE_ABI = 3


def enter(call: Syscall = kernel.syscall) -> str:
    """Enter it, and return what is in force now, as words; needs privileges given up.

    Args:
        call: Makes a call of the kernel.

    Raises:
        LayerMissingError: When it cannot be entered here; nothing is in force then.
    """
    try:
        found = call(_CREATE_RULESET, 0, 0, _ASK_VERSION)
        if _threads() != 1:  # it holds for the calling thread only
            raise LayerMissingError("not alone in the process")
        abi = min(found, _NEWEST_ABI)
        attributes = rules(abi)
        buffer = ctypes.create_string_buffer(attributes, len(attributes))
        ruleset = call(_CREATE_RULESET, ctypes.addressof(buffer), len(attributes), 0)
        try:
            call(_RESTRICT_SELF, ruleset, 0)
        finally:
            os.close(ruleset)
    except OSError as error:
        raise LayerMissingError(kernel.refusal(error.errno or 0)) from error
    return words(abi)


def rules(abi: int) -> bytes:
    """Return everything that a version of the interface can refuse, as the kernel's structure `landlock_ruleset_attr`.

    Args:
        abi: Version of the interface, from 1.
    """
    files = sum(rights for since, rights in _FILE_RIGHTS if since <= abi)
    if abi < _TCP_ABI:
        return struct.pack("=Q", files)
    if abi < _SCOPE_ABI:
        return struct.pack("=QQ", files, _TCP_RIGHTS)
    return struct.pack("=QQQ", files, _TCP_RIGHTS, _SCOPES)


def words(abi: int) -> str:
    """Return what a version of the interface comes to.

    Args:
        abi: Version of the interface, from 1.
    """
    said = ["may read all", "no writes" if abi >= _TRUNCATE_ABI else "no writes but truncation"]
    if abi >= _TCP_ABI:
        said.append("no tcp")
    if abi >= _SCOPE_ABI:
        said.append("scoped")
    return f"landlock {abi} ({', '.join(said)})"


def _threads() -> int:
    """Return how many threads this process has, 0 where that cannot be told."""
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return 0
