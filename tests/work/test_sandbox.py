"""The sandbox around real processes: what each layer refuses, what stays possible, and that it changes no result."""

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.errors import WorkerStartError
from engine.models.document import Failure, PageResult
from engine.work.child import kernel, landlock, sandbox, seccomp
from engine.work.child.kernel import LayerMissingError
from engine.work.pool import WorkerPool
from tests.support import pdfs
from tests.work.kit import look_into, opened, read, ref, running_pool, settings, until, whole

PRISONER = Path(__file__).parent / "prisoner.py"
LOOSE = Path(__file__).parent / "loose_worker.py"
PARENTS = {"memory of parent", "folder of parent"}

BY_LANDLOCK_SINCE = {
    **dict.fromkeys(("write", "create", "unlink", "rename", "mkdir", "link", "symlink", "mkfifo", "exec"), 1),
    **dict.fromkeys(("ptrace", *PARENTS), 1),
    "truncate": 3,
    **dict.fromkeys(("connect tcp", "bind tcp"), 4),
    **dict.fromkeys(("abstract socket", "signal to parent", "thread signal to parent"), 6),
}
"""What Landlock refuses, and since which version."""
FILTERED = (
    *(name for name in BY_LANDLOCK_SINCE if name not in PARENTS),
    *("chmod", "chown", "utime", "fork", "udp", "unix socket", "pidfd of parent", "limits of parent"),
    *("outlive parent", "own by parent", "type on terminal", "shared memory", "memory file", "namespace"),
    *("io_uring", "bpf", "keys"),
)
"""What the filter refuses."""
FEIGNED = ("clone3", "openat2", "call of the future")
"""What the filter says this kernel did not have."""
NEEDED = (
    *("read", "list", "read by descriptor", "late import", "late library", "thread", "grow", "signal to itself"),
    "processor limit",
)
HARMLESS = (
    *("write", "create", "mkdir", "link", "symlink", "mkfifo", "chmod", "utime", "read", "truncate", "rename"),
    *("connect tcp", "bind tcp", "udp", "abstract socket", "unix socket", "signal to parent", "fork"),
    *("thread signal to parent", "pidfd of parent", "folder of parent", "outlive parent", "own by parent"),
    *("type on terminal", "memory file"),
)
"""What may be done for real, by a process that nothing holds."""


def has_landlock() -> bool:
    """Whether this kernel offers Landlock."""
    if sys.platform != "linux":
        return False
    try:
        return kernel.syscall(444, 0, 0, 1) >= 1
    except OSError:
        return False


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")
needs_landlock = pytest.mark.skipif(not has_landlock(), reason="this kernel offers no Landlock")
needs_filter = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in {"x86_64", "aarch64"}, reason="no filter for this machine"
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterable[Path]:
    """Give a folder with a file in it, and a socket that listens under the folder's name."""
    (tmp_path / "there").write_bytes(b"text")
    with ExitStack() as stack:
        if sys.platform == "linux":
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(f"\0{tmp_path.name}")
            listening.listen()
        yield tmp_path


def try_in(layers: str, folder: Path, deeds: Iterable[str]) -> dict[str, str]:
    """Return what came of deeds in a process that has entered some layers."""
    done = subprocess.run(
        [sys.executable, "-I", PRISONER, layers, folder, *deeds],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


@linux_only
def test_nothing_of_it_is_refused_without_a_sandbox(folder: Path) -> None:
    """What the next tests find refused is possible for an ordinary process, so that it is the sandbox that refuses."""
    found = try_in("none", folder, HARMLESS)
    assert {name: found[name] for name in HARMLESS} == dict.fromkeys(HARMLESS, "done")


@needs_landlock
def test_landlock_alone_refuses_files_programs_tcp_and_signals(folder: Path) -> None:
    """Each deed that this version of Landlock covers is refused by it, and reading goes on."""
    found = try_in("landlock", folder, (*BY_LANDLOCK_SINCE, *NEEDED))
    version = re.match(r"landlock (\d+) \(.*\), no seccomp: architecture$", found["posture"])
    assert version is not None
    covered = [name for name, since in BY_LANDLOCK_SINCE.items() if since <= int(version[1])]
    assert {found[name] for name in covered} <= {"EACCES", "EPERM"}, found
    assert {name: found[name] for name in NEEDED} == dict.fromkeys(NEEDED, "done")
    assert (folder / "there").read_bytes() == b"text" or int(version[1]) < BY_LANDLOCK_SINCE["truncate"]


@needs_filter
def test_the_filter_alone_refuses_what_is_on_its_list(folder: Path) -> None:
    """Without Landlock, the filter refuses each deed by itself, and what a worker needs goes on."""
    found = try_in("seccomp", folder, (*FILTERED, *FEIGNED, *NEEDED))
    assert found.pop("posture") == "no landlock: not in this kernel, seccomp (deny-list)"
    expected = dict.fromkeys(FILTERED, "EPERM") | dict.fromkeys(FEIGNED, "ENOSYS") | dict.fromkeys(NEEDED, "done")
    assert found == expected
    assert [path.name for path in folder.iterdir()] == ["there"]
    assert (folder / "there").read_bytes() == b"text"


@needs_landlock
@needs_filter
def test_both_layers_together_leave_a_worker_what_it_needs(folder: Path) -> None:
    """Everything is refused, everything that is needed works, and the file is as it was."""
    found = try_in("both", folder, (*FILTERED, *PARENTS, *NEEDED))
    assert found.pop("posture").startswith("landlock ")
    assert {name for name, came in found.items() if came == "done"} == set(NEEDED)
    assert [path.name for path in folder.iterdir()] == ["there"]


@needs_filter
def test_a_failed_check_still_ends_the_process(folder: Path) -> None:
    """A library that gives up is a crash with its own signal, as without a sandbox."""
    done = subprocess.run([sys.executable, "-I", PRISONER, "both", folder, "abort"], capture_output=True, check=False)
    assert done.returncode == -signal.SIGABRT


def failing_with(code: int) -> kernel.Syscall:
    """Return a kernel all of whose calls fail."""

    def call(*_: int) -> int:
        raise OSError(code, "simulated")

    return call


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSYS, "not in this kernel"),
        (errno.EOPNOTSUPP, "switched off"),
        (errno.EPERM, "refused with EPERM"),
    ],
)
def test_a_kernel_without_it_is_said_to_be_one(code: int, words: str) -> None:
    """Where a layer cannot be entered the reason is told, and nothing is claimed."""
    with pytest.raises(LayerMissingError, match=f"^{words}$"):
        landlock.enter(failing_with(code))
    with pytest.raises(LayerMissingError, match=f"^{words}$"):
        seccomp.enter("x86_64", failing_with(code))


@linux_only
def test_a_layer_that_would_leave_a_thread_out_is_not_entered() -> None:
    """Landlock holds for one thread only, and the filter may meet one that it cannot hold: neither is claimed then."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with pytest.raises(LayerMissingError, match=r"^not alone in the process$"):
            landlock.enter(lambda *_: 7)
    finally:
        done.set()
        thread.join()
    with pytest.raises(LayerMissingError, match=r"^not alone in the process$"):
        seccomp.enter("x86_64", lambda *_: 4711)  # the thread that could not follow


@linux_only
def test_no_layer_at_all_is_called_none() -> None:
    """Neither layer: the posture begins with `none` and says why, for each."""
    # In a process of its own: privileges are given up for good.
    code = (
        "import errno\nfrom engine.work.child import sandbox\n"
        "def call(*_):\n    raise OSError(errno.EOPNOTSUPP, '')\n"
        "print(sandbox.enter(call=call, machine='pdp11'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=PRISONER.parents[2])
    expected = sandbox.Reached(words="none: no landlock: switched off, no seccomp: architecture", confined=False)
    assert done.stdout.decode().strip() == repr(expected)


def test_each_version_of_landlock_is_asked_for_all_it_has() -> None:
    """Every right but reading is handled, in the form that the version knows, and no more is claimed than that."""
    all_files = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF, 6: 0xFFFF, 7: 0xFFFF}
    reading = 0b1100
    for abi, files in all_files.items():
        rules = landlock.rules(abi)
        fields = [int.from_bytes(rules[at : at + 8], sys.byteorder) for at in range(0, len(rules), 8)]
        expected = [files & ~reading, *([0b11] if abi >= 4 else []), *([0b11] if abi >= 6 else [])]
        assert fields == expected
    assert landlock.words(2) == "landlock 2 (may read all, no writes but truncation)"
    assert landlock.words(3) == "landlock 3 (may read all, no writes)"
    assert landlock.words(5) == "landlock 5 (may read all, no writes, no tcp)"
    assert landlock.words(7) == "landlock 7 (may read all, no writes, no tcp, scoped)"


def loose(kind: str) -> tuple[str, ...]:
    """Return the command of a worker that enters less."""
    return (sys.executable, "-I", "-X", "utf8", str(LOOSE), kind)


async def results(pool: WorkerPool, paths: Iterable[Path | bytes]) -> list[Any]:
    """Return everything that a pool finds out about documents, but how long it took."""
    found: list[Any] = []
    for path in paths:
        probe = await look_into(pool, ref(path))
        found.append(probe)
        if not isinstance(probe, Failure):
            report = await read(pool, whole(await opened(pool, path)))
            found.append(replace(report, results=tuple(timeless(result) for result in report.results)))
    return found


def timeless(result: PageResult) -> PageResult:
    """Return a result without the time that it took."""
    return replace(result, dur_ms=0)


@needs_landlock
@needs_filter
@pytest.mark.one_loop("asyncio")
async def test_the_sandbox_changes_no_result(tmp_path: Path) -> None:
    """Good, odd, broken and encrypted documents, and names that are not UTF-8, give the same inside and outside."""
    paths: list[Path | bytes] = [
        pdfs.text_pdf(tmp_path / "text.pdf", 3),
        pdfs.blank_pdf(tmp_path / "blank.pdf"),
        pdfs.image_only_pdf(tmp_path / "image.pdf"),
        pdfs.damaged_stream_pdf(tmp_path / "damaged.pdf"),
        pdfs.page_error_pdf(tmp_path / "error.pdf"),
        pdfs.truncated_pdf(tmp_path / "truncated.pdf"),
        pdfs.wreck_pdf(tmp_path / "wreck.pdf"),
        pdfs.encrypted_pdf(tmp_path / "encrypted.pdf"),
        pdfs.not_a_pdf(tmp_path / "not.pdf"),
        tmp_path / "missing.pdf",
    ]
    odd_name = os.fsencode(tmp_path) + b"/\xff\xfe.pdf"
    os.rename(pdfs.text_pdf(tmp_path / "odd.pdf", 2), odd_name)  # noqa: PTH104  # no path of text can name it
    paths.append(odd_name)
    async with running_pool() as inside:
        found_inside = await results(inside, paths)
    async with running_pool(command=loose("without")) as outside:
        assert found_inside == await results(outside, paths)


@needs_landlock
@needs_filter
@pytest.mark.one_loop("asyncio")
async def test_a_required_sandbox_that_is_reached_changes_nothing(tmp_path: Path) -> None:
    """Where both layers are in force, a run that requires them is like any other."""
    async with running_pool(settings(require_sandbox=True)) as pool:
        assert (await opened(pool, pdfs.text_pdf(tmp_path / "a.pdf", 2))).page_count == 2


@needs_filter
async def test_a_required_sandbox_that_is_not_reached_is_one_clear_error() -> None:
    """On a kernel without Landlock the start is refused with a sentence that says what is missing."""
    pool = WorkerPool(settings(require_sandbox=True, workers=2), command=loose("no-landlock"))
    with pytest.raises(WorkerStartError) as caught:
        await pool.start()
    assert "no landlock: not in this kernel, seccomp (deny-list)" in str(caught.value)
    assert "no page is tried" in str(caught.value)
    assert pool.views() == ()


@needs_filter
@pytest.mark.one_loop("asyncio")
async def test_a_missing_layer_is_no_obstacle_unless_it_is_required(tmp_path: Path) -> None:
    """Without being required, the same worker works; required from now on, it is replaced, and the pool refuses."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 2)
    pool = WorkerPool(settings(), command=loose("no-landlock"), tick_s=0.02)
    posture = await pool.start()
    assert (posture.sandbox, posture.confined) == ("no landlock: not in this kernel, seccomp (deny-list)", False)
    assert (await opened(pool, path)).page_count == 2
    pool.apply(settings(require_sandbox=True))
    await until(lambda: pool.views() == ())
    with pytest.raises(WorkerStartError, match="no landlock"):
        await look_into(pool, ref(path))
    await pool.close()
