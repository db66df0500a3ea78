"""Limits of a worker: what is claimed is what holds, on this system and on one that takes a limit and forgets it."""

import ast
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there a job object stands in for limits")

PROGRAM = """
import sys
platform, sys.platform = sys.platform, PLATFORM
from engine.work.child import limits
words = limits.limit_resources(1 << 30)
sys.platform = platform
import resource
print(words, resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_FSIZE))
"""


ALLOWING = """
import resource
from engine.work.child.limits import ProcessorLimit
told = []
resource.setrlimit = lambda limit, values: told.append(values[0])
used_s = 0.0
limit = ProcessorLimit(lambda: used_s)
for used_s, time_s in STEPS:
    limit.allow_s(time_s)
    told.append(None)
print(told)
"""


def ends_told(*steps: tuple[float, float]) -> list[list[int]]:
    """Return, for each step of time used and time allowed, which ends the system was told."""
    program = ALLOWING.replace("STEPS", repr(steps))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    told: list[list[int]] = [[]]
    for end in ast.literal_eval(done.stdout):
        if end is None:
            told.append([])
        else:
            told[-1].append(end)
    return told[:-1]


def test_the_system_is_told_an_end_that_leaves_the_time_allowed() -> None:
    """It counts in whole seconds: never less than allowed, at most three seconds more."""
    ((end_s,),) = ends_told((10.7, 30.0))
    assert 40.7 <= end_s <= 43.7


def test_the_system_is_told_again_only_where_the_end_no_longer_fits() -> None:
    """Page after page needs no call; where too little is left, or a shorter time holds from now on, there is one."""
    told = ends_told((0.0, 30.0), (0.5, 30.0), (2.9, 30.0), (3.5, 30.0), (3.6, 5.0), (3.7, 30.0))
    assert [len(ends) for ends in told] == [1, 0, 0, 1, 1, 1]
    assert told[4] == [11]


def said(platform: str) -> str:
    """Return what a process says that takes itself for one of that system."""
    program = PROGRAM.replace("PLATFORM", repr(platform))
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_macos_is_not_credited_with_a_limit_that_it_does_not_hold() -> None:
    """There is no word of address space, which macOS takes and forgets; what else is set is said."""
    words = said("darwin")
    assert "address space" not in words
    assert "['writes no files', 'no core dumps', '64 open files', 'processor time per page']" in words
    assert words.rstrip().endswith("(0, 0) (0, 0)")


@pytest.mark.skipif(sys.platform != "linux", reason="Linux holds it")
def test_linux_says_which_address_space_holds() -> None:
    """All limits, in the order in which they are set."""
    assert "['address space 1024 MB', 'writes no files'" in said("linux")
