"""Make `.venv` agree with the lock file, and the system with what Qt needs.

`setup.py run` installs what the program needs, `setup.py dev` what its checks need as well. Both do nothing where
all is there. Uses the standard library only: it is what a fresh machine runs first, by way of `python.sh`, which
finds the Python. What is run in `.venv` afterwards is the business of the Makefile.
"""  # noqa: INP001  # a program beside the project's packages, in none of them

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
VENV = CHECKOUT / ".venv"
PYTHON = VENV / "bin" / "python"
UNFINISHED = VENV / ".unfinished"
LOCKS = {"run": "requirements.lock", "dev": "requirements-dev.lock"}

MORE_PACKAGES = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
}
"""The Debian packages of libraries that Qt can do without or every system has; `gui.app.display` knows the rest."""

FONTS = "fonts-dejavu-core"
"""Installed along with the libraries: without any font the window shows boxes."""


class SetupError(Exception):
    """The set-up cannot go on; `str(error)` is the sentence to show."""


def main(level: str) -> None:
    """Set up everything for a level, `run` or `dev`.

    Raises:
        SetupError: When the packages cannot be installed. Missing system libraries are only told: the terminal
            does without them.
    """
    with one_at_a_time():
        install_packages(level)
        provide_system_libraries()


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let a second set-up of the same checkout wait for the first."""
    try:
        import fcntl  # noqa: PLC0415  # not on Windows, where two at once are the user's own doing
    except ImportError:
        yield
        return
    with Path(__file__).open("rb") as lock:
        with contextlib.suppress(OSError):  # some network file systems lock nothing
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install_packages(level: str) -> None:
    """Install what the level's lock file names into `.venv`, unless that was done.

    A set-up that was interrupted leaves a mark, and the next one starts from nothing: packages may be there in half.

    Raises:
        SetupError: When that fails.
    """
    version = venv_version()
    if version is None or UNFINISHED.exists():
        make_venv()
        version = venv_version()
    stamp = VENV / f".installed-{level}"
    lock = (CHECKOUT / LOCKS[level]).read_bytes()
    wanted = hashlib.sha256(f"{version}\n".encode() + lock).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return
    say(f"Installing the packages that {LOCKS[level]} names into .venv; the first time they are downloaded.")
    UNFINISHED.touch()
    pip = [str(PYTHON), "-m", "pip", "-qq", "--disable-pip-version-check", "--no-input", "install"]
    if subprocess.run(  # noqa: S603  # our own Python and our own lock file
        [*pip, "--require-hashes", "--only-binary", ":all:", "--requirement", LOCKS[level]], cwd=CHECKOUT, check=False
    ).returncode:
        raise SetupError("The packages could not be installed into .venv, for the reason that pip gives above.")
    stamp.write_text(wanted, encoding="ascii")
    UNFINISHED.unlink()


def venv_version() -> str | None:
    """Return the Python version of `.venv`, or None where there is none that works and suits."""
    ask = "import platform, sys, pip; print(platform.python_version() if sys.version_info >= (3, 11) else '')"
    try:
        return output_of([str(PYTHON), "-c", ask]).strip() or None
    except (OSError, subprocess.CalledProcessError):
        return None


def make_venv() -> None:
    """Make `.venv` anew, with pip and nothing else in it.

    Raises:
        SetupError: When this Python cannot.
    """
    try:
        import ensurepip  # noqa: F401, PLC0415  # Debian keeps it in a package of its own
        import venv  # noqa: F401, PLC0415  # as ensurepip
    except ImportError:
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        if not apt_install([package]):
            raise SetupError(
                f"This Python ({sys.executable}) cannot make a virtual environment: install {package}, or what "
                "your system calls the modules venv and ensurepip."
            ) from None
    say(f"Making .venv with Python {sys.version_info.major}.{sys.version_info.minor} ({sys.executable}).")
    shutil.rmtree(VENV, ignore_errors=True)
    try:
        VENV.mkdir()
        UNFINISHED.touch()
        output_of([sys.executable, "-m", "venv", str(VENV)])
    except (OSError, subprocess.CalledProcessError) as error:
        detail = error.stdout if isinstance(error, subprocess.CalledProcessError) else error
        raise SetupError(f"The virtual environment .venv could not be made: {str(detail).strip()}") from error


def provide_system_libraries() -> None:
    """Install the system libraries that Qt misses, where that is allowed, or say in one sentence which they are."""
    missing = missing_libraries()
    if not missing:
        return
    if apt_install([*packages_of(missing), FONTS]):
        missing = missing_libraries()
    if missing and shutil.which("apt-get"):
        packages = " ".join([*packages_of(missing), FONTS])
        say(f"The window cannot open (the terminal can) before this is done: sudo apt-get install {packages}")
    elif missing:
        names = " ".join(missing)
        say(f"The window cannot open (the terminal can) before these system libraries are installed: {names}")


def packages_of(libraries: Iterable[str]) -> list[str]:
    """Return the Debian packages of libraries; one that is not known stands for itself."""
    sys.path.insert(0, str(CHECKOUT))
    from gui.app.display import PACKAGES, XCB_PACKAGES  # noqa: PLC0415  # not before it is on the path; loads no Qt

    known = PACKAGES | XCB_PACKAGES | MORE_PACKAGES
    return sorted({known.get(library, library) for library in libraries})


def missing_libraries() -> list[str]:
    """Return the system libraries that the installed Qt links and that are not there.

    Asked of the dynamic linker, so that the answer follows the version of Qt that is installed. Wayland's are
    wanted only where it is used.
    """
    qt = next((VENV / "lib").glob("python3*/site-packages/PySide6/Qt"), None)
    if sys.platform != "linux" or qt is None or not shutil.which("ldd"):
        return []
    patterns = [
        "lib/libQt6Widgets.so.6",
        "lib/libQt6Svg.so.6",
        "lib/libQt6DBus.so.6",
        "plugins/platforms/libqoffscreen.so",
    ]
    wayland = bool(os.environ.get("WAYLAND_DISPLAY"))
    if wayland:
        patterns += ["plugins/platforms/libqwayland*.so", "plugins/wayland-*-client/*.so"]
    if not wayland or os.environ.get("DISPLAY"):
        patterns += ["plugins/platforms/libqxcb.so", "plugins/xcbglintegrations/*.so"]
    files = [str(file) for pattern in patterns for file in sorted(qt.glob(pattern))]
    result = subprocess.run(  # noqa: S603  # the system's own linker over our own files
        ["ldd", *files],  # noqa: S607  # where it is depends on the system
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return not_found(result.stdout)


def not_found(ldd_output: str) -> list[str]:
    """Return the libraries that `ldd` did not find, each once and sorted."""
    lines = (line.split(" => ") for line in ldd_output.splitlines())
    return sorted({parts[0].strip() for parts in lines if parts[1:] == ["not found"]})


def apt_install(packages: Sequence[str]) -> bool:
    """Install Debian packages where this user may, without asking anything; tell whether that was done."""
    apt_get = shutil.which("apt-get")
    prefix: list[str] = []
    if apt_get and os.geteuid() != 0:
        prefix = ["sudo", "-n"]
        try:
            output_of([*prefix, "true"])
        except (OSError, subprocess.CalledProcessError):
            return False
    if not apt_get:
        return False
    say(f"Installing system packages: {' '.join(packages)}")
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", apt_get, "-o", "DPkg::Lock::Timeout=120", "--quiet=2"]
    with contextlib.suppress(subprocess.CalledProcessError):  # one unreachable source need not matter
        output_of([*apt, "update"])
    try:
        output_of([*apt, "install", "--yes", "--no-install-recommends", *packages])
    except subprocess.CalledProcessError as error:
        say(f"They could not be installed: {error.stdout.strip()}")
        return False
    return True


def output_of(command: Sequence[str]) -> str:
    """Run a command without input and return all that it printed.

    Raises:
        OSError: When it cannot be started.
        subprocess.CalledProcessError: When it fails; `stdout` is what it printed.
    """
    return subprocess.run(  # noqa: S603  # every caller names its command in full
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=True,
    ).stdout


def say(sentence: str) -> None:
    """Tell the user something, apart from what the program itself prints."""
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    if sys.argv[1:] not in ([level] for level in LOCKS):
        sys.exit("usage: setup.py run|dev")
    try:
        main(sys.argv[1])
    except SetupError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("The set-up was interrupted; the next one starts it again.")
