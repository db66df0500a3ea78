"""Enters the worker's sandbox, or some of its layers, and then tries what a document might make a worker try.

Started as `prisoner.py LAYERS FOLDER DEED...`, with LAYERS one of `both`, `landlock`, `seccomp` and `none`; run by
path, as a worker is. Prints a JSON object: the posture, and for each deed `done` or the name of the error that it met.
"""

import ctypes
import errno
import json
import mmap
import os
import signal
import socket
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(sys.argv[2])
FILE = FOLDER / "there"
MACHINE = os.uname().machine if sys.platform == "linux" else ""
PARENT = os.getppid()


def _enter(layers: str) -> str:
    package = types.ModuleType("engine")
    package.__path__ = [str(Path(__file__).resolve().parents[2] / "engine")]
    sys.modules["engine"] = package
    from engine.work.child import kernel, sandbox  # noqa: PLC0415  # it can be imported from here on only

    def call(number: int, *arguments: int) -> int:
        if layers == "seccomp" and number >= 444:  # Landlock's three
            raise OSError(errno.ENOSYS, "simulated")
        return kernel.syscall(number, *arguments)

    if layers == "none":
        return "none"
    return sandbox.enter(call=call, machine="pdp11" if layers == "landlock" else None).words


def _call(name: str, *arguments: object) -> None:
    from engine.work.child.syscalls import NUMBERS  # noqa: PLC0415  # as above

    number = NUMBERS[name][0 if MACHINE == "x86_64" else 1]
    _numbered(number, *arguments)


def _numbered(number: int | None, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number or -1), *arguments) == -1:
        raise OSError(ctypes.get_errno(), "refused")


def _write() -> None:
    os.close(os.open(FILE, os.O_WRONLY))


def _create() -> None:
    os.close(os.open(FOLDER / "new", os.O_RDONLY | os.O_CREAT, 0o600))


def _fork() -> None:
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _connect_tcp() -> None:
    with socket.socket() as one:
        one.settimeout(5)
        if (code := one.connect_ex(("127.0.0.1", 9))) not in {0, errno.ECONNREFUSED}:
            raise OSError(code, "refused")


def _bind_tcp() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))


def _udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", ("127.0.0.1", 9))


def _abstract_socket() -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(f"\0{FOLDER.name}")


def _own_by_parent() -> None:
    import fcntl  # noqa: PLC0415  # not on Windows

    reading, writing = os.pipe()
    try:
        fcntl.fcntl(reading, fcntl.F_SETOWN, PARENT)
    finally:
        os.close(reading)
        os.close(writing)


def _type_on_terminal() -> None:
    import fcntl  # noqa: PLC0415  # not on Windows

    try:
        fcntl.ioctl(0, 0x5412, b"x")
    except OSError as error:
        if error.errno != errno.ENOTTY:  # no terminal here: it was asked, and had no answer
            raise


def _thread() -> None:
    met: list[int] = []
    thread = threading.Thread(target=met.append, args=(1,))
    thread.start()
    thread.join()
    assert met == [1]


def _grow() -> None:
    with mmap.mmap(-1, 64 * 1024 * 1024) as memory:
        memory[::4096] = b"x" * len(memory[::4096])
    assert len(bytearray(64 * 1024 * 1024)) > 0


DEEDS: dict[str, Callable[[], object]] = {
    "write": _write,
    "create": _create,
    "truncate": lambda: os.truncate(FILE, 0),
    "unlink": FILE.unlink,
    "rename": lambda: FILE.rename(FOLDER / "elsewhere"),
    "mkdir": (FOLDER / "folder").mkdir,
    "link": lambda: os.link(FILE, FOLDER / "link"),
    "symlink": lambda: (FOLDER / "symlink").symlink_to("there"),
    "mkfifo": lambda: os.mkfifo(FOLDER / "fifo"),
    "chmod": lambda: FILE.chmod(0o600),
    "chown": lambda: os.chown(FILE, -1, -1),
    "utime": lambda: os.utime(FILE),
    "exec": lambda: os.execv("/bin/true", ["true"]),  # noqa: S606  # it must not come to that
    "fork": _fork,
    "connect tcp": _connect_tcp,
    "bind tcp": _bind_tcp,
    "udp": _udp,
    "abstract socket": _abstract_socket,
    "unix socket": socket.socketpair,
    "signal to parent": lambda: os.kill(PARENT, 0),
    "thread signal to parent": lambda: _call("tgkill", PARENT, PARENT, 0),
    "pidfd of parent": lambda: os.close(os.pidfd_open(PARENT)),
    "ptrace": lambda: _call("ptrace", 16, PARENT, 0, 0),
    "memory of parent": lambda: Path(f"/proc/{PARENT}/mem").open("rb").close(),
    "folder of parent": Path(f"/proc/{PARENT}/cwd").readlink,
    "limits of parent": lambda: _call("prlimit64", PARENT, 7, None, None),
    "outlive parent": lambda: _call("prctl", 1, 0, 0, 0, 0),
    "own by parent": _own_by_parent,
    "type on terminal": _type_on_terminal,
    "shared memory": lambda: _call("shmget", 0, 4096, 0o600),
    "memory file": lambda: os.close(os.memfd_create("x")),
    "namespace": lambda: _call("unshare", 0x10000000),
    "io_uring": lambda: _call("io_uring_setup", 0, None),
    "bpf": lambda: _call("bpf", 0, None, 0),
    "keys": lambda: _call("keyctl", 0, -3, 0, 0, 0),
    "clone3": lambda: _call("clone3", None, 0),
    "openat2": lambda: _call("openat2", -100, str(FILE).encode(), None, 0),
    "call of the future": lambda: _numbered(463),
    # What a worker needs.
    "read": FILE.read_bytes,
    "list": lambda: list(FOLDER.iterdir()),
    "read by descriptor": lambda: Path(f"/proc/self/fd/{os.open(FILE, os.O_RDONLY)}").read_bytes(),
    "late import": lambda: __import__("encodings.idna"),
    "late library": lambda: __import__("_decimal"),
    "thread": _thread,
    "grow": _grow,
    "signal to itself": lambda: os.kill(os.getpid(), 0),
    "processor limit": lambda: _call("prlimit64", 0, 0, None, None),
    "abort": os.abort,
}


def main() -> None:
    """Enter, try, and report."""
    layers, deeds = sys.argv[1], sys.argv[3:]
    signal.alarm(60)  # refused or not, nothing here takes long
    found = {"posture": _enter(layers)}
    for name in deeds:
        try:
            DEEDS[name]()
        except OSError as error:
            found[name] = errno.errorcode.get(error.errno or 0, "?")
        else:
            found[name] = "done"
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
