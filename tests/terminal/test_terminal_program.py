"""The program around its commands: started with closed streams, or not able to start at all."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import pdfs
from tests.support.runs import records_of
from tests.terminal.conftest import Finished
from tests.terminal.program import COMMAND, environment, sluicegate

FULL = (">/dev/full 2>/dev/full",) if Path("/dev/full").exists() else ()
POSIX = pytest.mark.skipif(os.name == "nt", reason="closes the streams with a POSIX shell")


def call(redirected: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end with its streams redirected as a shell is told."""
    shell = ["sh", "-c", f'exec "$@" {redirected}', "sh"]
    return subprocess.run(
        [*shell, *COMMAND, *map(str, arguments)], capture_output=True, env=environment(), timeout=120, check=False
    )


@POSIX
@pytest.mark.parametrize("redirected", [">&-", "2>&-", "<&- >&- 2>&-", *FULL])
def test_closed_streams_change_neither_the_work_nor_the_exit_code(
    redirected: str, finished: Finished, tmp_path: Path
) -> None:
    """A log is exported and verified, a forged one is not, and wrong usage is wrong usage, though nobody reads it."""
    log = tmp_path / "log.jsonl"
    assert call(redirected, "export", finished.case, "--audit", log).returncode == 0
    assert call(redirected, "verify", log).returncode == 0
    log.write_bytes(log.read_bytes().replace(b"EXTRACTED", b"EXTRACTEE", 1))
    assert call(redirected, "verify", log).returncode == 1
    assert call(redirected, "run", "--nonsense").returncode == 2


@POSIX
@pytest.mark.parametrize("redirected", ["2>&-", "<&- >&- 2>&-"])
def test_a_run_with_closed_streams_does_its_work(redirected: str, tmp_path: Path) -> None:
    """Every page is extracted, with progress and summary, and the exit code says so."""
    pdfs.batch(tmp_path / "in", 1, 1)
    case = tmp_path / "case.sluice"
    assert call(redirected, "run", tmp_path / "in", "--case", case, "--workers", "1").returncode == 0
    assert "RECONCILED" in {record["event"] for record in records_of(case)}


@POSIX
def test_what_was_closed_is_not_given_to_the_next_file(tmp_path: Path) -> None:
    """A file that is opened later cannot be taken for standard output or error by anything that writes there."""
    program = (
        "import os, sys\n"
        "from engine.terminal.program import open_standard_streams\n"
        "open_standard_streams()\n"
        f"fd = os.open({str(tmp_path / 'made')!r}, os.O_CREAT | os.O_WRONLY)\n"
        "print('nobody reads this'); os.write(2, b'nor this')\n"
        "sys.exit(10 + (fd > 2) + (sys.stderr is not None))\n"
    )
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
    done = subprocess.run([*shell, sys.executable, "-c", program], env=environment(), timeout=60, check=False)
    assert done.returncode == 12
    assert (tmp_path / "made").read_bytes() == b""


@pytest.mark.parametrize("module", ["engine.terminal", "gui"])
def test_a_program_that_cannot_start_does_not_leave_with_the_code_of_an_outcome(module: str) -> None:
    """Python's own code for a fault says here that everything is accounted for; ours says that nothing is."""
    program = (
        "import runpy, sys\n"
        "sys.modules['engine.terminal.commands'] = None\n"
        f"runpy.run_module({module!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment(), timeout=60, check=False
    )
    assert done.returncode == 3
    assert b"ModuleNotFoundError" in done.stderr


@POSIX
def test_a_help_text_that_nobody_reads_is_no_outcome() -> None:
    """Neither a full disk nor a closed pipe makes the program leave with what `problems found` leaves with."""
    for redirected in FULL:
        assert call(redirected, "--help").returncode not in {0, 1}
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([*COMMAND, "--help"], stdout=writer, env=environment(), timeout=60, check=False)
    finally:
        os.close(writer)
    assert done.returncode not in {0, 1}


@pytest.mark.skipif(sys.platform != "linux", reason="asks for stacks that Linux is known to refuse")
@pytest.mark.parametrize("command", ["run", "export", "text"])
def test_a_system_without_threads_is_told_in_one_sentence(command: str, finished: Finished, tmp_path: Path) -> None:
    """Nothing is begun: the case is as it was, no new one is made, and it is no fault of the program."""
    arguments = {
        "run": ["run", finished.folder, "--case", tmp_path / "new.sluice"],
        "export": ["export", finished.case, "--audit", tmp_path / "log.jsonl"],
        "text": ["text", finished.case, tmp_path / "texts"],
    }[command]
    program = (
        "import runpy, threading\n"
        "threading.stack_size(1 << 47)\n"  # more than there are addresses
        "runpy.run_module('engine.terminal', run_name='__main__', alter_sys=True)\n"
    )
    before = finished.case.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith(b"The system refuses a thread")
    assert done.stderr.count(b"\n") == 1
    assert finished.case.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"case.sluice", "home"}


def test_a_home_that_takes_nothing_is_told_before_any_work(home: Path, tmp_path: Path) -> None:
    """Checkpoints are kept there: one sentence, the exit code of a case that cannot be used, and no case."""
    pdfs.batch(tmp_path / "in", 1, 1)
    (home / "state").write_text("a file in the way")
    ended = sluicegate("run", tmp_path / "in", "--case", tmp_path / "case.sluice")
    assert ended.returncode == 4
    assert ended.stderr.startswith("The checkpoints of audit logs are kept in ")
    assert not (tmp_path / "case.sluice").exists()


HEAPS = """
import ctypes, os, re, sys, threading
from engine.terminal.program import run_program

def heaps():
    library = ctypes.CDLL(None)
    library.fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(library.fopen(sys.argv[1].encode(), b"w"))
    library.malloc_info(0, file)
    library.fclose(file)
    return open(sys.argv[1]).read().count("<heap ")

class Command:
    def main(self, **_):
        done = threading.Barrier(5)
        def use():
            kept = [bytes(5000) for _ in range(50)]
            done.wait()
        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        done.wait()
        for thread in threads:
            thread.join()
        print(heaps())

run_program(Command)
"""


ANSWERS = """
import os, resource
from engine.terminal.program import run_program

class Command:
    def main(self, **_):
        def faults():
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        def take():
            return [bytes(range(256)) * 800 for _ in range(8)]
        take()
        before = faults()
        for _ in range(100):
            take()
        print((faults() - before) * os.sysconf("SC_PAGE_SIZE") // 2**20)

run_program(Command)
"""

needs_glibc = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_info"),
    reason="only glibc's heap is set up",
)


@needs_glibc
def test_threads_share_one_heap(tmp_path: Path) -> None:
    """The program's threads take memory from one heap: one for each of them would be filled by case after case."""
    call = [sys.executable, "-c", HEAPS, str(tmp_path / "heaps.xml")]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1\n", "")


@needs_glibc
def test_the_memory_of_an_answer_is_there_for_the_next_one() -> None:
    """What comes and goes again and again, 160 MB in all, is not asked of the system each time, which clears it."""
    ended = subprocess.run([sys.executable, "-c", ANSWERS], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert int(ended.stdout) < 10
