"""One operating system process with private pipes: spawned, killed as a group, reaped.

Covers nothing of what is said through the pipes. `kill` may be called from any thread at any time: a lock holds it
apart from reaping, so that no process that happens to get the same number is ever hit. On Windows a job object stands
in for the group.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import psutil

from engine.work import jobobject

if sys.platform == "linux":
    import fcntl

_CHILD = Path(__file__).parent / "child" / "__main__.py"
_PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "WINDIR"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),
)
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.001, 0.02
_PIPE_BYTES = 256 * 1024
"""Room asked for in the pipe of answers: one of a usual span then fits whole, and wakes its reader once."""

_REQUEST_BYTES = 16 * 1024
"""What the smallest usual pipe holds (macOS), so that nobody has to wait to write."""


def default_command() -> tuple[str, ...]:
    """Return the command line that starts a worker: this Python, isolated from the user's environment."""
    return (sys.executable, "-I", "-X", "utf8", str(_CHILD))


class WorkerProcess:
    """A child process in a session of its own.

    Args:
        command: Its command line.
        inherited_fds: Descriptors that it inherits, besides its three pipes.

    Raises:
        OSError: When it cannot be started.
    """

    def __init__(self, command: Sequence[str], inherited_fds: Sequence[int] = ()) -> None:
        self._lock = threading.Lock()
        self._popen = subprocess.Popen(  # noqa: S603  # our own command line, without a shell
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Windows cannot wait for two pipes at once, so that nobody could drain this one there.
            stderr=subprocess.DEVNULL if sys.platform == "win32" else subprocess.PIPE,
            bufsize=0,
            close_fds=True,
            pass_fds=() if sys.platform == "win32" else inherited_fds,
            start_new_session=sys.platform != "win32",
            cwd=None if sys.platform == "win32" else "/",
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {"OMP_THREAD_LIMIT": "1"},
        )
        self.pid = self._popen.pid
        self._job = jobobject.leash(self.pid) if sys.platform == "win32" else None
        if sys.platform != "win32":
            os.set_blocking(self.stdin.fileno(), False)  # our end only
        if sys.platform == "linux":
            with suppress(OSError):  # there is a most for each user; the usual size is as right, and slower
                fcntl.fcntl(self.stdout.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.rss_bytes = 0
        """Its resident memory when it was last measured."""
        self._usage: psutil.Process | None = None

    @property
    def stdin(self) -> IO[bytes]:
        """The pipe that it reads from."""
        assert self._popen.stdin is not None  # noqa: S101  # for the type checker: it was asked for
        return self._popen.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """The pipe that it answers through."""
        assert self._popen.stdout is not None  # noqa: S101  # as stdin
        return self._popen.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        """The pipe that it complains through; None on Windows."""
        return self._popen.stderr

    @property
    def exit_status(self) -> int | None:
        """How it ended (a signal as a negative number), or None while it has not been reaped."""
        return self._popen.returncode

    @property
    def request_bytes(self) -> int:
        """How many bytes it can be sent at once when it has read all that came before."""
        if sys.platform == "linux":
            with suppress(OSError, ValueError):  # its end may just have been noticed
                # A user who has very many pipes gets small ones.
                return min(_REQUEST_BYTES, fcntl.fcntl(self.stdin.fileno(), fcntl.F_GETPIPE_SZ))
        return _REQUEST_BYTES

    def send(self, data: bytes) -> bool:
        """Write to its standard input without ever waiting; return whether everything went in.

        Raises:
            OSError: When nobody reads it.
        """
        return self.stdin.write(data) == len(data)

    def kill(self) -> None:
        """End it and its whole process group at once; without effect once it has been reaped."""
        with self._lock:
            if self._popen.returncode is None:
                self._kill_group()

    def reap(self, wait_s: float = 0.0) -> int | None:
        """Take note of its end and return its exit status, or None when it still lives after `wait_s`.

        Whatever it left behind in its process group is killed before its number can be used again.
        """
        pause_s = _FIRST_WAIT_S
        until_s = time.monotonic() + wait_s
        while not self._reaped() and (left_s := until_s - time.monotonic()) > 0:
            time.sleep(min(pause_s, left_s))  # on the keeper's thread, which has nothing else to do
            pause_s = min(2 * pause_s, _LONGEST_WAIT_S)
        return self._popen.returncode

    def measure(self) -> int:
        """Note and return its resident memory, 0 where that cannot be told; not for the event loop."""
        try:
            if self._usage is None:
                self._usage = psutil.Process(self.pid)
            rss_bytes = int(self._usage.memory_info().rss)
            if sys.platform == "win32":  # the `python.exe` of a virtual environment only starts the real one
                rss_bytes += sum(int(child.memory_info().rss) for child in self._usage.children())
            self.rss_bytes = rss_bytes
        except psutil.Error:
            self.rss_bytes = 0
        except OSError:
            pass  # no descriptor is left to look with: what was measured last stands
        return self.rss_bytes

    def close(self) -> None:
        """Close the parent's ends of its pipes, and let its job go."""
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                with suppress(OSError):  # unbuffered, so that nothing can be lost
                    pipe.close()
        if self._job is not None:
            self._job.close()  # ends what may be left in it

    def _reaped(self) -> bool:
        with self._lock:
            if self._popen.returncode is not None:
                return True
            if sys.platform == "linux":
                # Look before reaping: as long as the dead leader is there, its group's number belongs to nobody else.
                with suppress(ChildProcessError):  # somebody else reaped it
                    if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                        return False
                    self._kill_group()
            return self._popen.poll() is not None

    def _kill_group(self) -> None:
        if sys.platform == "win32":
            if self._job is not None:
                self._job.end()
            self._popen.kill()
            return
        with suppress(ProcessLookupError, PermissionError):  # gone, or only zombies left (macOS)
            os.killpg(self.pid, signal.SIGKILL)
