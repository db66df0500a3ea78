"""Killed at each step at which it changes anything on disk: what was acknowledged is there, and the rest is done later.

Two ways to the same moments. `doomed` counts the steps within the process and is there everywhere; `strace` kills at
the system calls themselves, the C library's included, and is there only on Linux where it is installed.

The seed of the second kills, those of the resumed run, is `SLUICEGATE_SEED`; it is printed.
"""

import os
import random
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from tests.faults import doomed
from tests.faults.injection import needs_strace
from tests.faults.program import (
    ACCOUNTED,
    age,
    assert_no_process_left,
    assert_same_as,
    assert_sound,
    ending,
    fingerprint,
    finish,
    start,
)
from tests.support import pdfs
from tests.support.runs import GoldenSet, golden_set

SEED = int(os.environ.get("SLUICEGATE_SEED", "20261"))
OPTIONS = ("--workers", "1")
AT_ONCE = os.cpu_count() or 1
"""Runs side by side; each has a place of its own."""

DOOMED = ("-m", "tests.faults.doomed")

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal"),
    pytest.mark.fault(13),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A small batch, and what an undisturbed run makes of it."""

    folder: Path
    expected: GoldenSet
    steps: int
    """Steps of an undisturbed run."""


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """Give seven documents of twenty pages: good, blank, damaged, lost, and one twice."""
    home = tmp_path_factory.mktemp("undisturbed")
    folder = home / "in"
    pdfs.batch(folder, documents=2, pages_each=5, seed=1)
    pdfs.blank_pdf(folder / "blank.pdf")
    pdfs.damaged_stream_pdf(folder / "damaged.pdf")
    pdfs.truncated_pdf(folder / "lost.pdf", lost=True)
    pdfs.not_a_pdf(folder / "no.pdf")
    (folder / "copy.pdf").write_bytes(min(folder.iterdir()).read_bytes())
    age(folder)
    case = home / "case.sluice"
    process = start(case, folder, home, OPTIONS, module=DOOMED, extra={doomed.DIE_AT: "0"})
    code, said = ending(process)
    assert code in ACCOUNTED, said
    counted = re.search(r"steps: (\d+)", said)
    assert counted is not None
    return Batch(folder=folder, expected=golden_set(case), steps=int(counted[1]))


def step_killed_at(said: str) -> str:
    """Return what kind of step a program died before."""
    found = re.search(r"killed before step \d+: (.+)", said)
    assert found is not None, said
    return found[1]


def resume_and_compare(case: Path, batch: Batch, home: Path, sources: dict[str, tuple[str, int, int, int]]) -> None:
    """Check a case that a kill left, go on with it to the end, and compare that with an undisturbed run."""
    assert_no_process_left(home)
    if case.exists() and not CaseFile.is_new(case):
        assert_sound(case)
    finish(case, batch.folder, home, OPTIONS)
    assert_same_as(case, batch.expected)
    assert_no_process_left(home)
    assert fingerprint(batch.folder) == sources


def die_and_compare(batch: Batch, home: Path, at: int, again_at: int | None = None) -> str | None:
    """Kill a run before a step, and the run that resumes it, too, where asked; then go on and compare.

    Returns:
        The kind of step, or None where the run was over before it.
    """
    case = home / "case.sluice"
    sources = fingerprint(batch.folder)
    code, said = ending(start(case, batch.folder, home, OPTIONS, module=DOOMED, extra={doomed.DIE_AT: str(at)}))
    if code in ACCOUNTED:
        assert_same_as(case, batch.expected)
        return None
    assert code == -signal.SIGKILL, said
    if again_at is not None:
        extra = {doomed.DIE_AT: str(again_at)}
        assert_no_process_left(home)
        second, words = ending(start(case, batch.folder, home, OPTIONS, module=DOOMED, extra=extra))
        assert second in {-signal.SIGKILL, *ACCOUNTED}, words
    resume_and_compare(case, batch, home, sources)
    return step_killed_at(said)


@pytest.mark.parametrize("percent", [1, 9, 33, 96])
def test_a_run_killed_at_a_step_of_its_writing_goes_on_as_if_undisturbed(
    batch: Batch, tmp_path: Path, percent: int
) -> None:
    """At fixed shares of all steps, from the making of the case file to its closing."""
    at = max(1, batch.steps * percent // 100)
    kind = die_and_compare(batch, tmp_path, at)
    # How commits group is chance, so that the last step may not come; all others do.
    assert kind is not None or percent > 90
    print(f"step {at} of about {batch.steps}: {kind}")


def test_a_run_after_a_kill_says_that_nothing_acknowledged_is_missing(batch: Batch, tmp_path: Path) -> None:
    """The person who starts it again is told what happened, and what was checked."""
    case = tmp_path / "case.sluice"
    at = {doomed.DIE_AT: str(batch.steps // 2)}
    code, said = ending(start(case, batch.folder, tmp_path, OPTIONS, module=DOOMED, extra=at))
    assert code == -signal.SIGKILL, said
    code, said = ending(start(case, None, tmp_path, OPTIONS))
    assert code in ACCOUNTED, said
    assert "ended without closing this case last time" in said
    assert "everything that was acknowledged is there" in said
    assert_same_as(case, batch.expected)


def test_a_resumed_run_that_is_killed_as_well_goes_on(batch: Batch, tmp_path: Path) -> None:
    """The second kill meets the recovery of what the first one left."""
    assert die_and_compare(batch, tmp_path, batch.steps // 2, again_at=12) is not None


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_a_run_killed_at_every_step_in_turn_goes_on_as_if_undisturbed(batch: Batch, tmp_path: Path) -> None:
    """Each step once, until a run survives; every second resumed run is killed, too, at a random step."""
    print(f"seed {SEED}: repeat with SLUICEGATE_SEED={SEED}")
    dice = random.Random(SEED)  # noqa: S311  # reproducible on purpose
    second = {at: dice.randrange(1, batch.steps) for at in range(2, 20 * batch.steps, 2)}

    def attempt(at: int) -> str | None:
        home = tmp_path / str(at)
        home.mkdir()
        kind = die_and_compare(batch, home, at, second.get(at))
        shutil.rmtree(home)
        return kind

    kinds: Counter[str] = Counter()
    survived = 0
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for steps in chunks(AT_ONCE):
            for kind in threads.map(attempt, steps):
                survived += kind is None
                kinds.update([] if kind is None else [kind])
            if survived:
                break
    print(f"{kinds.total()} kills, each followed by an equal comparison: {dict(kinds)}")
    assert kinds.total() > batch.steps // 2


def chunks(size: int) -> Iterator[range]:
    """Yield the numbers from 1 on, so many at a time."""
    for first in count(1, size):
        yield range(first, first + size)


@needs_strace
@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "rename", "mkdir"])
def test_a_run_killed_at_every_system_call_of_a_kind_goes_on(batch: Batch, tmp_path: Path, call: str) -> None:
    """Each n-th call of each thread of the program, until a run survives."""

    def attempt(at: int) -> bool:
        home = tmp_path / str(at)
        home.mkdir()
        case = home / "case.sluice"
        sources = fingerprint(batch.folder)
        code, said = ending(start(case, batch.folder, home, OPTIONS, prefix=killing(call, at)))
        assert code in {-signal.SIGKILL, *ACCOUNTED}, said
        resume_and_compare(case, batch, home, sources)
        shutil.rmtree(home)
        return code not in ACCOUNTED

    killed = 0
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for numbers in chunks(AT_ONCE):
            ends = list(threads.map(attempt, numbers))
            killed += sum(ends)
            if not all(ends):
                break
    print(f"{call}: {killed} kills, each followed by an equal comparison")
    assert killed > 0 or call in {"fsync", "mkdir"}  # the C library may do these by another call


@needs_strace
@pytest.mark.parametrize(("call", "at"), [pytest.param("pwrite64", 40, marks=pytest.mark.whole), ("fdatasync", 9)])
def test_a_run_killed_at_a_system_call_goes_on(batch: Batch, tmp_path: Path, call: str, at: int) -> None:
    """Two moments of the whole, below everything that the program itself could know of."""
    case = tmp_path / "case.sluice"
    sources = fingerprint(batch.folder)
    code, said = ending(start(case, batch.folder, tmp_path, OPTIONS, prefix=killing(call, at)))
    assert code == -signal.SIGKILL, said
    resume_and_compare(case, batch, tmp_path, sources)


def killing(call: str, at: int) -> list[str]:
    """Return the command that runs a program which is killed at its n-th system call of a kind."""
    quiet = ["strace", "-f", "-qq", "-o", os.devnull]
    return [*quiet, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={at}"]
