"""Seccomp: calls of the kernel that a worker has no use for fail from here on with EPERM.

A deny-list and no more: what is not on it is allowed, but for calls newer than the list, which look as if this kernel
did not have them. The process is not killed, so that a harmless call that somebody tries in vain costs no page.
Covers the filter, a program for the kernel's packet filter machine, and putting it in force.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.work.child import kernel
from engine.work.child.kernel import LayerMissingError, Syscall
from engine.work.child.syscalls import NEWEST, NUMBERS

WORDS = "seccomp (deny-list)"

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Column in the table of numbers, and what the kernel calls the machine."""
_X32_BIT = 0x40000000
"""Set in the numbers of the calls of x86_64's third interface, which would lead past the list."""

_SET_MODE_FILTER, _ALL_THREADS = 1, 1

LOAD, IF_EQUAL, IF_GREATER, IF_AT_LEAST, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_MACHINE, _AT_ARGUMENTS = 0, 4, 16
ALLOW, FAIL_WITH = 0x7FFF0000, 0x00050000
_REFUSE = FAIL_WITH | errno.EPERM
_ABSENT = FAIL_WITH | errno.ENOSYS

_ABSENT_CALLS = ("clone3", "openat2")
"""Their arguments cannot be seen; the C library then falls back on the older call, which can be looked into."""

_WRITING = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC if sys.platform == "linux" else 0
_CLONE_THREAD = 0x10000
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP = 1, 22
_FCNTLS = (
    *(6, 7, 37, 38),  # F_SETLK, F_SETLKW, F_OFD_SETLK and F_OFD_SETLKW: others would wait for us
    *(8, 10, 15),  # F_SETOWN, F_SETSIG and F_SETOWN_EX: signals to others by way of a pipe
    *(1024, 1026),  # F_SETLEASE and F_NOTIFY
)
_IOCTLS = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX: typing on somebody's terminal


class Instruction(NamedTuple):
    """One instruction, as the kernel's structure `sock_filter`."""

    code: int
    if_true: int
    """Instructions to skip where the test holds."""
    if_false: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closer:
    """A call that is allowed or refused by one of its arguments, of which the lower 32 bits count."""

    call: str
    argument: int
    test: int
    values: tuple[int, ...]
    refused: bool
    """Whether the call is refused, or else allowed, where the test holds for one of the values."""


def _closer_looks(own_pid: int) -> tuple[_Closer, ...]:
    def refuse(call: str, argument: int, test: int, *values: int) -> _Closer:
        return _Closer(call=call, argument=argument, test=test, values=values, refused=True)

    def allow_only(call: str, argument: int, test: int, *values: int) -> _Closer:
        return _Closer(call=call, argument=argument, test=test, values=values, refused=False)

    return (
        refuse("open", 1, IF_ANY_BIT, _WRITING),
        refuse("openat", 2, IF_ANY_BIT, _WRITING),
        allow_only("clone", 0, IF_ANY_BIT, _CLONE_THREAD),
        # Not to be refused for itself: that is how a failed check in a library ends its process.
        allow_only("kill", 0, IF_EQUAL, own_pid),
        allow_only("tkill", 0, IF_EQUAL, own_pid),
        allow_only("tgkill", 0, IF_EQUAL, own_pid),
        allow_only("prlimit64", 0, IF_EQUAL, 0),
        refuse("prctl", 0, IF_EQUAL, _PR_SET_PDEATHSIG, _PR_SET_SECCOMP),
        refuse("fcntl", 1, IF_EQUAL, *_FCNTLS),
        refuse("ioctl", 1, IF_EQUAL, *_IOCTLS),
    )


def program(machine: str, own_pid: int) -> tuple[Instruction, ...]:
    """Return the filter.

    Args:
        machine: Name of the machine as the kernel has it.
        own_pid: The process that may signal itself.

    Raises:
        LayerMissingError: When there is none for this machine.
    """
    if machine not in _MACHINES or sys.byteorder != "little" or sys.maxsize < 2**32:
        raise LayerMissingError("architecture")
    column, code = _MACHINES[machine]
    closer = _closer_looks(own_pid)
    looked_into = {one.call for one in closer}
    made = [_load(_AT_MACHINE), Instruction(IF_EQUAL, 1, 0, code), _result(_REFUSE), _load(_AT_NUMBER)]
    if machine == "x86_64":
        made += [Instruction(IF_AT_LEAST, 0, 1, _X32_BIT), _result(_REFUSE)]
    made += [Instruction(IF_GREATER, 0, 1, NEWEST), _result(_ABSENT)]
    for name, numbers in NUMBERS.items():
        if (number := numbers[column]) is not None and name not in looked_into:
            made += [
                Instruction(IF_EQUAL, 0, 1, number),
                _result(_ABSENT if name in _ABSENT_CALLS else _REFUSE),
            ]
    for look in closer:
        if (number := NUMBERS[look.call][column]) is not None:
            body = _body(look)
            made += [Instruction(IF_EQUAL, 0, len(body), number), *body]
    return (*made, _result(ALLOW))


def enter(machine: str, call: Syscall = kernel.syscall) -> str:
    """Put the filter in force for this process, and return that as words; needs privileges given up.

    Args:
        machine: Name of the machine as the kernel has it.
        call: Makes a call of the kernel.

    Raises:
        LayerMissingError: When it cannot be put in force here; nothing is in force then.
    """
    instructions = program(machine, os.getpid())
    code = packed(instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    handed = struct.pack("@HP", len(instructions), ctypes.addressof(buffer))
    structure = ctypes.create_string_buffer(handed, len(handed))
    number = NUMBERS["seccomp"][_MACHINES[machine][0]]
    try:
        failed = call(number, _SET_MODE_FILTER, _ALL_THREADS, ctypes.addressof(structure))
    except OSError as error:
        raise LayerMissingError(kernel.refusal(error.errno or 0)) from error
    if failed:  # a thread of ours with a filter that ours does not follow on
        raise LayerMissingError("not alone in the process")
    return WORDS


def packed(instructions: Sequence[Instruction]) -> bytes:
    """Return instructions as the kernel reads them."""
    return b"".join(struct.pack("=HBBI", *one) for one in instructions)


def _load(at: int) -> Instruction:
    return Instruction(LOAD, 0, 0, at)


def _result(value: int) -> Instruction:
    return Instruction(RETURN, 0, 0, value)


def _body(look: _Closer) -> list[Instruction]:
    hit, otherwise = (_REFUSE, ALLOW) if look.refused else (ALLOW, _REFUSE)
    made = [_load(_AT_ARGUMENTS + 8 * look.argument)]
    for value in look.values:
        made += [Instruction(look.test, 0, 1, value), _result(hit)]
    return [*made, _result(otherwise)]
