"""Limits of a worker: what is claimed is what holds, on this system and on one that takes a limit and forgets it."""

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
