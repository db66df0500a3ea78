"""Job objects of Windows: what holds a worker there in place of process groups, death signals and resource limits.

The parent puts each worker into a job that dies with it; the worker puts itself into a second one, inside of the first,
which bounds its memory and lets it start no process. Two, because the `python.exe` of a virtual environment only starts
the real one, and would count. The structures are laid out by hand: the sizes that `ctypes.wintypes` gives are right on
Windows only. Written after Microsoft's documentation; the calls themselves have never been made.
"""

import ctypes
import sys
from contextlib import suppress
from typing import Any

MIB = 1024 * 1024

_EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
_ACTIVE_PROCESS = 0x0008
_PROCESS_MEMORY = 0x0100
_DIE_ON_UNHANDLED_EXCEPTION = 0x0400  # without a window that waits for somebody to press a button
_KILL_ON_JOB_CLOSE = 0x2000
_PROCESS_SET_QUOTA_AND_TERMINATE = 0x0100 | 0x0001
_KILLED_STATUS = 1


class BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_ = (
        ("per_process_user_time_limit", ctypes.c_int64),
        ("per_job_user_time_limit", ctypes.c_int64),
        ("limit_flags", ctypes.c_uint32),
        ("minimum_working_set_size", ctypes.c_size_t),
        ("maximum_working_set_size", ctypes.c_size_t),
        ("active_process_limit", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    )


class IoCounters(ctypes.Structure):
    """IO_COUNTERS."""

    _fields_ = tuple(
        (f"{what}_{kind}_count", ctypes.c_uint64)
        for kind in ("operation", "transfer")
        for what in ("read", "write", "other")
    )


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("basic", BasicLimits),
        ("io", IoCounters),
        ("process_memory_limit", ctypes.c_size_t),
        ("job_memory_limit", ctypes.c_size_t),
        ("peak_process_memory_used", ctypes.c_size_t),
        ("peak_job_memory_used", ctypes.c_size_t),
    )


def kernel32() -> Any:
    """Return the system's library, with the kinds of its arguments: a handle is as wide as a pointer.

    Raises:
        OSError: When this is another system.
    """
    if sys.platform != "win32":
        raise OSError("There are no job objects on this system.")
    library = ctypes.WinDLL("kernel32", use_last_error=True)
    handle, number, flag = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int
    for name, result, arguments in (
        ("CreateJobObjectW", handle, (ctypes.c_void_p, ctypes.c_wchar_p)),
        ("SetInformationJobObject", flag, (handle, flag, ctypes.c_void_p, number)),
        ("QueryInformationJobObject", flag, (handle, flag, ctypes.c_void_p, number, ctypes.c_void_p)),
        ("AssignProcessToJobObject", flag, (handle, handle)),
        ("TerminateJobObject", flag, (handle, number)),
        ("OpenProcess", handle, (number, flag, number)),
        ("GetCurrentProcess", handle, ()),
        ("CloseHandle", flag, (handle,)),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class JobObject:
    """A job, empty at first.

    Args:
        limits: What holds for everything in it.
        library: The system's library.

    Raises:
        OSError: When the system refuses it.
    """

    def __init__(self, limits: ExtendedLimits, library: Any) -> None:
        self._library = library
        self._handle = _granted(library.CreateJobObjectW(None, None))
        try:
            _granted(
                library.SetInformationJobObject(
                    self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
                )
            )
        except OSError:
            self.close()
            raise

    def take_in(self, process: Any) -> None:
        """Put a process into it, by its handle; what that starts from now on is in it, too.

        Raises:
            OSError: When the system refuses it.
        """
        _granted(self._library.AssignProcessToJobObject(self._handle, process))

    def end(self) -> None:
        """End all that is in it, at once."""
        if self._handle is not None:
            self._library.TerminateJobObject(self._handle, _KILLED_STATUS)

    def close(self) -> None:
        """Give the handle back, which ends what is in it where its limits say so."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.CloseHandle(handle)


def leash(pid: int, library: Any = None) -> JobObject | None:
    """Put a process into a job that ends with this process, however this process ends.

    Args:
        pid: The process, which has not been waited for yet.
        library: The system's library; None loads it.

    Returns:
        The job, to be kept as long as the process; None where the system refuses one.
    """
    limits = ExtendedLimits()
    limits.basic.limit_flags = _KILL_ON_JOB_CLOSE | _DIE_ON_UNHANDLED_EXCEPTION
    try:
        library = library or kernel32()
        process = _granted(library.OpenProcess(_PROCESS_SET_QUOTA_AND_TERMINATE, 0, pid))
        try:
            job = JobObject(limits, library)
            try:
                job.take_in(process)
            except OSError:
                job.close()
                raise
        finally:
            library.CloseHandle(process)
    except OSError:
        return None
    return job


def confine_itself(memory_bytes: int, library: Any = None) -> list[str]:
    """Bound this process by a job of its own, and return what then holds, as the system reads it back.

    Args:
        memory_bytes: Most memory that it may have committed; a request for more fails, as one of a full system does.
        library: The system's library; None loads it.
    """
    words = []
    limits = ExtendedLimits()
    limits.basic.limit_flags = _PROCESS_MEMORY | _ACTIVE_PROCESS | _DIE_ON_UNHANDLED_EXCEPTION
    limits.basic.active_process_limit = 1
    limits.process_memory_limit = memory_bytes
    with suppress(OSError):
        library = library or kernel32()
        if _innermost(library).basic.limit_flags & _KILL_ON_JOB_CLOSE:
            words.append("ends with its parent")
        job = JobObject(limits, library)
        try:
            job.take_in(library.GetCurrentProcess())
            held = _innermost(library)
        finally:
            job.close()  # it lasts as long as what is in it
        if held.basic.limit_flags & _PROCESS_MEMORY and held.process_memory_limit == memory_bytes:
            words.append(f"committed memory {memory_bytes // MIB} MB")
        if held.basic.limit_flags & _ACTIVE_PROCESS and held.basic.active_process_limit == 1:
            words.append("starts no process")
    return words


def _innermost(library: Any) -> ExtendedLimits:
    """Return the limits of the innermost job that this process is in."""
    limits = ExtendedLimits()
    _granted(
        library.QueryInformationJobObject(None, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits), None)
    )
    return limits


def _granted(result: Any) -> Any:
    """Return what a call gave; nothing means that it was refused."""
    if result:
        return result
    number = 0
    if sys.platform == "win32":
        number = ctypes.get_last_error()
    raise OSError(number, "The system refused a job object.")
