"""Kill it at any moment: a run killed with SIGKILL again and again, resumed each time, ends as an undisturbed one.

The number of kills is `SLUICEGATE_KILLS` (default 20), the seed of the moments `SLUICEGATE_SEED`; both are printed.
"""

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.verify import verify_file
from tests.faults.program import age, finish, pages_done, start, wait_for_children_to_end
from tests.support import pdfs
from tests.support.runs import assert_one_terminal_record_each, golden_set, records_of

KILLS = int(os.environ.get("SLUICEGATE_KILLS", "20"))
SEED = int(os.environ.get("SLUICEGATE_SEED", str(random.randrange(10**6))))  # noqa: S311  # printed, not secret

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_random_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """After each kill no worker is left over; in the end the outcomes equal those of an undisturbed run."""
    print(f"kills={KILLS} seed={SEED}")
    dice = random.Random(SEED)  # noqa: S311  # reproducible on purpose
    folder = tmp_path / "in"
    pdfs.batch(folder, documents=60, pages_each=30, seed=5, words=300)
    pdfs.blank_pdf(folder / "blank.pdf", pages=3)
    pdfs.image_only_pdf(folder / "scan.pdf", pages=2)
    pdfs.damaged_stream_pdf(folder / "damaged.pdf")
    pdfs.truncated_pdf(folder / "lost.pdf", lost=True)
    (folder / "copy.pdf").write_bytes(next(path for path in sorted(folder.iterdir())).read_bytes())
    age(folder)
    finish(tmp_path / "whole.sluice", folder, tmp_path)
    expected = golden_set(tmp_path / "whole.sluice")

    case = tmp_path / "killed.sluice"
    killed = 0
    moments = []
    interrupted = 0
    while killed < KILLS:
        process = start(case, folder, tmp_path)
        moment_s = dice.uniform(0.2, 4.0)
        try:
            process.wait(moment_s)
        except subprocess.TimeoutExpired:
            children = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
            moments.append(moment_s)
            interrupted += not CaseFile.is_new(case) and len(records_of(case)) > 1
            assert not wait_for_children_to_end(children)
        else:
            assert process.stderr is not None
            assert process.returncode in {0, 1}, process.stderr.read().decode()
            # It was done before the kill: the rest of the kills need a case that has something left to do.
            assert golden_set(case) == expected
            for path in tmp_path.glob("killed.sluice*"):
                path.unlink()
        finally:
            assert process.stderr is not None
            process.stderr.close()
    finish(case, folder, tmp_path)

    assert golden_set(case) == expected
    assert_one_terminal_record_each(case)
    print(f"{interrupted} of {killed} kills met a run with records; moments: {[round(s, 2) for s in moments]}")
    assert interrupted >= killed // 4
    with CaseFile.open(case) as opened, opened.reader() as reader:
        _, head = export_audit(reader, tmp_path / "audit.jsonl")
    report = verify_file(tmp_path / "audit.jsonl", expect_head=head)
    assert report.ok, report.problems


def test_a_killed_worker_costs_at_most_its_page(tmp_path: Path) -> None:
    """Workers killed from outside, as an out-of-memory killer does it, lose no page."""
    folder = tmp_path / "in"
    pdfs.batch(folder, documents=40, pages_each=30, seed=6, words=300)
    case = tmp_path / "case.sluice"
    process = start(case, folder, tmp_path)
    parent = psutil.Process(process.pid)
    dice = random.Random(SEED)  # noqa: S311  # reproducible on purpose
    kills = done = 0
    while process.poll() is None and kills < 6:
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
    assert len([page for _, page, _, _ in golden_set(case) if page is not None]) == 1200
