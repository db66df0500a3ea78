"""Job objects of Windows, as far as they can be looked at elsewhere: layout, order of the calls, and what is claimed.

The system's library is a fake that keeps jobs as Windows documents them; the calls themselves run on Windows only.
"""

import ctypes
import sys
from typing import Any

import pytest

from engine.work import jobobject
from engine.work.jobobject import BasicLimits, ExtendedLimits, IoCounters, confine_itself, leash

MIB = 1024 * 1024
KILL_ON_JOB_CLOSE = 0x2000
ITSELF = -1


class Kernel:
    """Keeps jobs as the system does: by handle, with their limits and what is in them."""

    def __init__(self, *, refuses: str = "", forgets: str = "", jobs: tuple[int, ...] = ()) -> None:
        self.refuses = refuses
        self.forgets = forgets
        self.limits: dict[int, ExtendedLimits] = {}
        self.inside: dict[int, list[int]] = {}
        self.open: set[int] = set()
        self.ended: list[int] = []
        self.asked: list[tuple[int, int]] = []
        self._last = 100
        for flags in jobs:
            handle = self._new()
            self.limits[handle] = ExtendedLimits(basic=BasicLimits(limit_flags=flags))
            self.inside[handle] = [ITSELF]
            self.open.discard(handle)  # the parent has it

    def _new(self) -> int:
        self._last += 1
        self.open.add(self._last)
        return self._last

    def __getattr__(self, name: str) -> Any:
        calls = {
            "CreateJobObjectW": self.create_job,
            "SetInformationJobObject": self.set_limits,
            "QueryInformationJobObject": self.innermost_limits,
            "AssignProcessToJobObject": self.put_into,
            "TerminateJobObject": self.end,
            "OpenProcess": self.open_process,
            "GetCurrentProcess": self.itself,
            "CloseHandle": self.close,
        }
        return (lambda *_: 0) if name == self.refuses else calls[name]

    def create_job(self, *_: None) -> int:
        """Make a job."""
        handle = self._new()
        self.limits[handle], self.inside[handle] = ExtendedLimits(), []
        return handle

    def set_limits(self, job: int, kind: int, limits: Any, size: int) -> int:
        """Take over limits."""
        assert (kind, size) == (9, ctypes.sizeof(ExtendedLimits))
        ctypes.memmove(ctypes.byref(self.limits[job]), limits, size)
        if self.forgets:
            self.limits[job].basic.limit_flags = 0
        return 1

    def innermost_limits(self, _job: None, kind: int, limits: Any, size: int, _got: None) -> int:
        """Tell the limits of the innermost job of this process; without one there is nothing to tell."""
        assert (kind, size) == (9, ctypes.sizeof(ExtendedLimits))
        mine = [handle for handle, inside in self.inside.items() if ITSELF in inside]
        if not mine:
            return 0
        ctypes.memmove(limits, ctypes.byref(self.limits[mine[-1]]), size)
        return 1

    def put_into(self, job: int, process: int) -> int:
        """Put a process into a job."""
        self.inside[job].append(process)
        return 1

    def end(self, job: int, _status: int) -> int:
        """End what is in a job."""
        self.ended += self.inside[job]
        return 1

    def open_process(self, rights: int, _inherit: int, pid: int) -> int:
        """Give a handle of a process."""
        self.asked.append((rights, pid))
        return self._new()

    def itself(self) -> int:
        """Give the handle that stands for this process."""
        return ITSELF

    def close(self, handle: int) -> int:
        """Take a handle back, and end what is in a job that wants it."""
        self.open.remove(handle)
        if handle in self.limits and self.limits[handle].basic.limit_flags & KILL_ON_JOB_CLOSE:
            self.ended += self.inside[handle]
        return 1


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="the sizes are those of 64 bits")
def test_the_structures_are_laid_out_as_windows_has_them() -> None:
    """Sizes and places of 64-bit Windows, which has no padding that other systems lack."""
    assert [ctypes.sizeof(kind) for kind in (BasicLimits, IoCounters, ExtendedLimits)] == [64, 48, 144]
    assert (BasicLimits.limit_flags.offset, BasicLimits.active_process_limit.offset) == (16, 40)
    assert (BasicLimits.affinity.offset, BasicLimits.scheduling_class.offset) == (48, 60)
    assert (ExtendedLimits.io.offset, ExtendedLimits.process_memory_limit.offset) == (64, 112)


def test_a_leash_ends_with_whoever_holds_it() -> None:
    """The process is in a job that is ended by its last handle, and no handle but the job's stays open."""
    kernel = Kernel()
    job = leash(77, kernel)
    assert job is not None
    assert kernel.asked == [(0x0101, 77)]
    (handle,) = kernel.open
    assert kernel.limits[handle].basic.limit_flags & KILL_ON_JOB_CLOSE
    (process,) = kernel.inside[handle]
    job.end()
    assert kernel.ended == [process]
    job.close()
    job.close()
    job.end()
    assert kernel.ended == [process] * 2
    assert not kernel.open


@pytest.mark.parametrize(
    "call", ["OpenProcess", "CreateJobObjectW", "SetInformationJobObject", "AssignProcessToJobObject"]
)
def test_a_refused_leash_leaves_no_handle(call: str) -> None:
    """The worker then goes on without one."""
    kernel = Kernel(refuses=call)
    assert leash(77, kernel) is None
    assert not kernel.open


def test_a_worker_says_what_its_job_holds() -> None:
    """Memory and the one process, inside of the parent's job, and the handle is given back."""
    kernel = Kernel(jobs=(KILL_ON_JOB_CLOSE,))
    words = confine_itself(2048 * MIB, kernel)
    assert words == ["ends with its parent", "committed memory 2048 MB", "starts no process"]
    assert not kernel.open
    own = kernel.limits[max(kernel.limits)]
    assert (own.process_memory_limit, own.basic.active_process_limit) == (2048 * MIB, 1)
    assert not own.basic.limit_flags & KILL_ON_JOB_CLOSE  # it would end itself by giving the handle back
    assert not kernel.ended


def test_nothing_is_claimed_that_is_not_read_back() -> None:
    """A job of a parent that does not end it, and limits that the system took and does not hold."""
    assert confine_itself(MIB, Kernel(jobs=(0,), forgets="all")) == []
    assert confine_itself(MIB, Kernel(jobs=(0,))) == ["committed memory 1 MB", "starts no process"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("QueryInformationJobObject", []),
        ("CreateJobObjectW", ["ends with its parent"]),
        ("SetInformationJobObject", ["ends with its parent"]),
        ("AssignProcessToJobObject", ["ends with its parent"]),
    ],
)
def test_what_is_refused_is_not_claimed(call: str, words: list[str]) -> None:
    """A worker goes on with what there is, and leaves no handle open."""
    kernel = Kernel(jobs=(KILL_ON_JOB_CLOSE,), refuses=call)
    assert confine_itself(MIB, kernel) == words
    assert not kernel.open


@pytest.mark.skipif(sys.platform == "win32", reason="there it would be entered")
def test_elsewhere_there_are_no_job_objects() -> None:
    """No leash and no words, and no error."""
    assert leash(1) is None
    assert confine_itself(MIB) == []
    with pytest.raises(OSError, match="no job objects"):
        jobobject.kernel32()
