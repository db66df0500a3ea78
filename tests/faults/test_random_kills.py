"""Kill it at any moment: application and workers killed with SIGKILL again and again end as if undisturbed.

The number of kills of the whole is `SLUICEGATE_KILLS` (default 300), the seed of the moments `SLUICEGATE_SEED`; both
are printed, as are the counts at the end.
"""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from engine.case.casefile import CaseFile
from engine.case.reader import CaseReader
from tests.faults.program import (
    ACCOUNTED,
    SLOW,
    age,
    assert_no_process_left,
    assert_same_as,
    assert_sound,
    ending,
    fingerprint,
    finish,
    pages_done,
    processes_of,
    start,
    wait_for_children_to_end,
    wait_until,
)
from tests.support import pdfs
from tests.support.runs import GoldenSet, golden_set

KILLS = int(os.environ.get("SLUICEGATE_KILLS", "300"))
SEED = int(os.environ.get("SLUICEGATE_SEED", str(random.randrange(10**6))))  # noqa: S311  # printed, not secret

PATIENT = ("--worker-attempts", "50", "--worker-start-failures", "50")
"""A page whose worker is killed twice becomes a dead letter, rightly: here that is not to happen by chance."""

KILLS_A_CASE = 12
"""Kills after which a case is finished, compared, and begun anew."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal")


def every_kind(folder: Path) -> Path:
    """Write 600 pages, and of each kind of outcome a few."""
    pdfs.batch(folder, documents=40, pages_each=15, seed=5, words=300)
    pdfs.blank_pdf(folder / "blank.pdf", pages=3)
    pdfs.image_only_pdf(folder / "scan.pdf", pages=2)
    pdfs.damaged_stream_pdf(folder / "damaged.pdf")
    pdfs.truncated_pdf(folder / "lost.pdf", lost=True)
    (folder / "copy.pdf").write_bytes(min(folder.iterdir()).read_bytes())
    age(folder)
    return folder


def is_reconciled(case: Path) -> bool:
    """Whether a case that another process is writing has everything accounted for."""
    if not case.exists() or CaseFile.is_new(case):
        return False
    with CaseReader(case) as reader:
        return reader.counts().reconciled


class Storm:
    """Kills a run again and again; everything it does follows from its dice.

    Args:
        folder: The source.
        home: Where the program's own files lie.
        expected: What an undisturbed run makes of the source.
        seed: Of the dice.
    """

    def __init__(self, folder: Path, home: Path, expected: GoldenSet, seed: int) -> None:
        self._folder = folder
        self._home = home
        self._expected = expected
        self._dice = random.Random(seed)  # noqa: S311  # reproducible on purpose
        self._case = home / "killed.sluice"
        self.kills: Counter[str] = Counter()
        self.checks = 0
        """How often a case was checked after a kill."""
        self.comparisons = 0
        """How often a finished case was compared with an undisturbed one."""

    def rage(self, kills: int) -> None:
        """Kill so often; after every few kills, finish the case, compare it and begin anew."""
        since = 0
        while self.kills.total() < kills:
            before = self.kills.total()
            self._round()
            since += self.kills.total() - before
            if since >= KILLS_A_CASE or self.kills.total() >= kills:
                finish(self._case, self._folder, self._home, PATIENT)
                self._compare()
                since = 0

    def _round(self) -> None:
        moment = self._dice.choice(["start", "listing", "run", "run", "end"])
        # A run that is to be met at its end is let run; any other is slowed, so that there is something to meet.
        options = PATIENT if moment == "end" else (*SLOW, *PATIENT)
        done = pages_done(self._case)
        process = start(self._case, self._folder, self._home, options)
        try:
            if moment == "run" and self._dice.random() < 0.7:
                self._kill_workers(process, done)
                done = pages_done(self._case)
            if self._is_there(moment, process, done):
                self._kill_application(process, moment)
        finally:
            code, said = ending(process)
        if code in ACCOUNTED:
            self._compare()  # it was done before the kill came
        else:
            assert code == -signal.SIGKILL, said

    def _is_there(self, moment: str, process: "subprocess.Popen[bytes]", done: int) -> bool:
        """Wait for a moment; return whether the program still runs then."""
        match moment:
            case "start":
                wait_s = self._dice.uniform(0.02, 1.0)
            case "listing":
                wait_until(lambda: self._case.exists() and not CaseFile.is_new(self._case), process)
                wait_s = self._dice.uniform(0.0, 0.4)
            case "run":
                goal = done + self._dice.randrange(1, 150)
                wait_until(lambda: pages_done(self._case) >= goal, process)
                wait_s = self._dice.uniform(0.0, 0.05)
            case _:
                wait_until(lambda: is_reconciled(self._case), process)
                wait_s = self._dice.uniform(0.0, 0.2)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
        return process.poll() is None

    def _kill_workers(self, process: "subprocess.Popen[bytes]", done: int) -> None:
        for _ in range(self._dice.randrange(1, 4)):
            goal = done + self._dice.randrange(20, 80)
            wait_until(lambda goal=goal: pages_done(self._case) >= goal, process)  # type: ignore[misc]  # bound at once
            if process.poll() is not None:
                return
            done = goal
            with contextlib.suppress(psutil.NoSuchProcess, IndexError):
                self._dice.choice(psutil.Process(process.pid).children()).kill()
                self.kills["worker"] += 1

    def _kill_application(self, process: "subprocess.Popen[bytes]", moment: str) -> None:
        belonging = processes_of(self._home)
        process.kill()
        process.wait()
        self.kills[f"application at its {moment}"] += 1
        left = wait_for_children_to_end(belonging)
        assert not left, f"processes left behind: {left}"
        if self._case.exists() and not CaseFile.is_new(self._case):
            assert_sound(self._case)
            self.checks += 1

    def _compare(self) -> None:
        assert_same_as(self._case, self._expected)
        assert_no_process_left(self._home)
        self.comparisons += 1
        for path in self._home.glob("killed.sluice*"):
            path.unlink()


def rage(home: Path, kills: int) -> None:
    """Let a storm of kills rage, and say what it was."""
    print(f"kills={kills} seed={SEED}: repeat with SLUICEGATE_KILLS={kills} SLUICEGATE_SEED={SEED}")
    folder = every_kind(home / "in")
    sources = fingerprint(folder)
    finish(home / "whole.sluice", folder, home, ())
    storm = Storm(folder, home, golden_set(home / "whole.sluice"), SEED)
    storm.rage(kills)
    assert fingerprint(folder) == sources
    print(
        f"{storm.kills.total()} kills ({dict(storm.kills)}), {storm.checks} cases checked after one, "
        f"{storm.comparisons} finished and equal"
    )
    assert storm.checks >= kills // 4
    assert storm.comparisons >= 1


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.fault(2, 12)
def test_random_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """Five kills: after each no process is left over and the chain verifies; in the end all is as if undisturbed."""
    rage(tmp_path, 5)


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.fault(2, 12)
def test_hundreds_of_random_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """The same storm, for as long as it takes."""
    rage(tmp_path, KILLS)


@pytest.mark.fault(2)
def test_a_killed_worker_costs_at_most_its_page(tmp_path: Path) -> None:
    """Workers killed from outside, as an out-of-memory killer does it, lose no page."""
    folder = tmp_path / "in"
    pdfs.batch(folder, documents=30, pages_each=20, seed=6, words=300)
    case = tmp_path / "case.sluice"
    process = start(case, folder, tmp_path)
    parent = psutil.Process(process.pid)
    dice = random.Random(SEED)  # noqa: S311  # reproducible on purpose
    kills = done = 0
    while process.poll() is None and kills < 5:
        # After each bit of progress, so that not only workers that are just starting are met: that is another fault.
        if pages_done(case) >= done + 60 and (workers := parent.children()):
            done = pages_done(case)
            with contextlib.suppress(psutil.NoSuchProcess):
                dice.choice(workers).send_signal(signal.SIGKILL)
                kills += 1
        time.sleep(0.02)  # between two looks
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    assert kills > 0
    outcomes = {outcome for _, _, outcome, _ in golden_set(case)}
    assert outcomes == {"EXTRACTED"}
    assert len([page for _, page, _, _ in golden_set(case) if page is not None]) == 600
