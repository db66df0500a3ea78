"""The filter as a program: what it decides on each machine, run by a small machine of our own; and its numbers."""

import errno
import re
import struct
from pathlib import Path

import pytest

from engine.work.child import seccomp
from engine.work.child.kernel import LayerMissingError
from engine.work.child.seccomp import (
    ALLOW,
    FAIL_WITH,
    IF_ANY_BIT,
    IF_AT_LEAST,
    IF_EQUAL,
    IF_GREATER,
    LOAD,
    RETURN,
    Instruction,
    packed,
    program,
)
from engine.work.child.syscalls import NEWEST, NUMBERS

PID = 4711
CODES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMNS = {"x86_64": 0, "aarch64": 1}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
REFUSED, ABSENT = FAIL_WITH | errno.EPERM, FAIL_WITH | errno.ENOSYS
both_machines = pytest.mark.parametrize("machine", CODES)


def decided(code: tuple[Instruction, ...], arch: int, number: int, *arguments: int) -> int:
    """Run a filter over one call, and return its decision."""
    data = struct.pack("<iIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    at, loaded = 0, 0
    while True:
        one = code[at]
        at += 1
        match one.code:
            case _ if one.code == LOAD:
                (loaded,) = struct.unpack_from("<I", data, one.value)
                continue
            case _ if one.code == RETURN:
                return one.value
            case _ if one.code == IF_EQUAL:
                holds = loaded == one.value
            case _ if one.code == IF_GREATER:
                holds = loaded > one.value
            case _ if one.code == IF_AT_LEAST:
                holds = loaded >= one.value
            case _:
                assert one.code == IF_ANY_BIT
                holds = loaded & one.value != 0
        at += one.if_true if holds else one.if_false


def decision(machine: str, call: str, *arguments: int) -> int:
    """Return what becomes of a call."""
    number = NUMBERS[call][COLUMNS[machine]]
    assert number is not None
    return decided(program(machine, PID), CODES[machine], number, *arguments)


@both_machines
def test_every_path_through_the_filter_ends(machine: str) -> None:
    """Jumps lead forward to instructions that are there, and fit into the byte that the kernel has for them."""
    code = program(machine, PID)
    assert code[-1].code == RETURN
    assert len(code) < 4096
    for at, one in enumerate(code):
        if one.code not in {LOAD, RETURN}:
            assert max(one.if_true, one.if_false) < min(256, len(code) - at - 1)
    assert len(packed(code)) == 8 * len(code)


@both_machines
def test_another_interface_of_the_machine_is_no_way_past_the_list(machine: str) -> None:
    """Calls in the numbers of another machine, or of x86_64's third interface, are refused whatever they are."""
    code = program(machine, PID)
    for arch in {*CODES.values(), 0x40000003} - {CODES[machine]}:
        assert {decided(code, arch, number) for number in range(500)} == {REFUSED}
    if machine == "x86_64":
        assert {decided(code, CODES[machine], number | 0x40000000) for number in range(600)} == {REFUSED}
    assert decided(code, CODES[machine], -1) in {REFUSED, ABSENT}


@both_machines
def test_calls_newer_than_the_list_look_absent(machine: str) -> None:
    """What nobody has looked at yet is not there, so that libraries fall back on what was looked at."""
    code = program(machine, PID)
    assert {decided(code, CODES[machine], number) for number in range(NEWEST + 1, NEWEST + 300)} == {ABSENT}


@both_machines
def test_everyday_calls_are_allowed(machine: str) -> None:
    """Reading, writing to the pipes, memory, time and leaving."""
    everyday = {"x86_64": (0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 15, 60, 202, 228, 231, 262, 318)}
    everyday["aarch64"] = (57, 62, 63, 64, 79, 80, 93, 94, 98, 113, 134, 139, 214, 215, 222, 226, 278)
    code = program(machine, PID)
    assert {decided(code, CODES[machine], number) for number in everyday[machine]} == {ALLOW}


@both_machines
def test_some_calls_are_decided_by_their_arguments(machine: str) -> None:
    """Files are opened to be read, threads but no processes are started, and signals go to itself."""
    assert decision(machine, "openat", 0, 0, 0o2304000) == ALLOW  # O_CLOEXEC, O_NONBLOCK, O_NOFOLLOW, a folder
    for flags in (0o1, 0o2, 0o100, 0o1000, 0o20200002):  # writing, both, creating, emptying, a nameless file
        assert decision(machine, "openat", 0, 0, flags) == REFUSED
    assert decision(machine, "clone", 0x3D0F00) == ALLOW  # as the C library starts a thread
    assert decision(machine, "clone", 0x1200011) == REFUSED  # as it forks
    for call in ("kill", "tkill", "tgkill"):
        assert decision(machine, call, PID) == ALLOW
        assert decision(machine, call, PID + 1) == REFUSED
        assert decision(machine, call, 0) == REFUSED  # the process group
        assert decision(machine, call, 2**64 - 1) == REFUSED  # everybody
    assert decision(machine, "fcntl", 0, 3) == ALLOW
    assert decision(machine, "fcntl", 0, 8) == REFUSED
    assert decision(machine, "fcntl", 0, 10 | 1 << 32) == REFUSED  # the kernel looks at the lower half only
    assert decision(machine, "ioctl", 0, 0x5401) == ALLOW
    assert decision(machine, "ioctl", 0, 0x5412) == REFUSED
    assert decision(machine, "prlimit64", 0) == ALLOW
    assert decision(machine, "prlimit64", PID) == REFUSED
    assert decision(machine, "prctl", 15) == ALLOW
    assert decision(machine, "prctl", 1) == REFUSED
    assert decision(machine, "clone3") == decision(machine, "openat2") == ABSENT


@both_machines
def test_what_is_listed_is_refused(machine: str) -> None:
    """Every call of the table that is not looked into or feigned absent is refused with any argument."""
    column = COLUMNS[machine]
    by_argument = {"open", "openat", "clone", "kill", "tkill", "tgkill", "prlimit64", "prctl", "fcntl", "ioctl"}
    listed = [name for name, numbers in NUMBERS.items() if numbers[column] is not None]
    plain = set(listed) - by_argument - {"clone3", "openat2"}
    assert {"execve", "socket", "ptrace", "unlinkat", "fchmodat2", "io_uring_setup", "setns"} <= plain
    assert {decision(machine, name) for name in plain} == {REFUSED}
    assert {decision(machine, name, *[2**64 - 1] * 6) for name in plain} == {REFUSED}


@both_machines
def test_numbers_are_those_of_the_system(machine: str) -> None:
    """The table agrees with the kernel's own header, where one is installed, and no number stands twice."""
    column = COLUMNS[machine]
    ours = {name: numbers[column] for name, numbers in NUMBERS.items() if numbers[column] is not None}
    assert len(set(ours.values())) == len(ours)
    assert max(number for number in ours.values() if number is not None) <= NEWEST
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    rows = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text(encoding="utf-8"))
    theirs: dict[str, int] = {}
    for name, number in rows:
        theirs.setdefault(name, int(number))
    newer = {"fchmodat2", "lsm_set_self_attr"}  # than many an installed header
    assert {name: theirs.get(name) for name in ours if name not in newer} == {
        name: number for name, number in ours.items() if name not in newer
    }
    missing = {name for name, numbers in NUMBERS.items() if numbers[column] is None}
    assert not {name for name in missing if name in theirs and machine == "x86_64"}


def test_a_machine_without_a_table_has_no_filter() -> None:
    """No filter is better than a wrong one."""
    for machine in ("riscv64", "i686", "armv7l", ""):
        with pytest.raises(LayerMissingError, match=r"^architecture$"):
            seccomp.program(machine, PID)
