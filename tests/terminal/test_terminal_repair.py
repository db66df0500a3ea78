"""Repair of a damaged case, from end to end: what the program says, and what it leaves."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from engine.case.repair import RepairReport
from engine.models.run import Counts, Tally
from engine.terminal.repair import sentences
from tests.case.factory import without_guard
from tests.support.runs import golden_set
from tests.terminal.conftest import Finished
from tests.terminal.program import sluicegate

ENDED = """
import os, sys
from engine.case import repair
from engine.terminal.commands import terminal_commands

kept_records = repair.kept_records
def asked_to_end(*arguments):
    os.kill(os.getpid(), {number})
    return kept_records(*arguments)

repair.kept_records = asked_to_end
terminal_commands(sys.argv[1:])
"""


def _change_last_line(connection: apsw.Connection) -> None:
    connection.execute("UPDATE audit SET line = x'7b7d' WHERE seq = (SELECT max(seq) FROM audit)")


def test_a_damaged_case_says_how_to_repair_it_and_the_repaired_one_goes_on(finished: Finished, tmp_path: Path) -> None:
    """Refused, repaired into a new file, finished: the outcomes are those of the run before the damage."""
    expected = golden_set(Path(shutil.copy(finished.case, tmp_path / "before.sluice")))
    without_guard(finished.case, _change_last_line, triggers=["audit_is_never_updated"])
    before = finished.case.read_bytes()
    new = tmp_path / "new.sluice"

    refused = sluicegate("run", "--case", finished.case)
    assert refused.returncode == 4
    assert "repair it into a new file (sluicegate repair CASE NEW_CASE)" in " ".join(refused.stderr.split())

    repaired = sluicegate("repair", finished.case, new)
    assert repaired.returncode == 0, repaired.stderr
    assert "The damaged one was not changed" in repaired.stdout
    assert "Kept:" in repaired.stdout
    assert "Left behind:" in repaired.stdout
    assert f"sluicegate run --case {new}" in repaired.stdout
    assert finished.case.read_bytes() == before

    resumed = sluicegate("run", "--case", new)
    assert resumed.returncode == 1, resumed.stderr
    assert golden_set(new) == expected
    assert sluicegate("export", new, "--audit", tmp_path / "log.jsonl").returncode == 0


def test_what_cannot_be_repaired_is_told(finished: Finished, tmp_path: Path) -> None:
    """A name that is taken, and a file that is no case at all, end in a sentence and the code of an unusable case."""
    taken = sluicegate("repair", finished.case, finished.case)
    assert taken.returncode == 4
    assert "already" in taken.stderr
    rubbish = tmp_path / "rubbish.sluice"
    rubbish.write_bytes(b"\xa5" * 100_000)
    hopeless = sluicegate("repair", rubbish, tmp_path / "new.sluice")
    assert hopeless.returncode == 4
    assert "cannot be repaired" in " ".join(hopeless.stderr.split())
    assert not (tmp_path / "new.sluice").exists()


def test_a_sound_case_is_not_repaired_and_goes_on(finished: Finished, tmp_path: Path) -> None:
    """A sentence and no second case, whose checkpoint would shut the first one out."""
    new = tmp_path / "new.sluice"
    refused = sluicegate("repair", finished.case, new)
    assert refused.returncode == 4
    assert "Nothing is wrong with" in " ".join(refused.stderr.split())
    assert not new.exists()
    assert sluicegate("run", "--case", finished.case).returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM cannot be caught there")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_repair_that_is_asked_to_end_cleans_up(finished: Finished, tmp_path: Path, number: signal.Signals) -> None:
    """No new case, no scratch files, the damaged one as it was, and a sentence that says so."""
    without_guard(finished.case, _change_last_line, triggers=["audit_is_never_updated"])
    before = finished.case.read_bytes()
    place = tmp_path / "place"
    place.mkdir()
    code = ENDED.format(number=int(number))
    ended = subprocess.run(
        [sys.executable, "-c", code, "repair", str(finished.case), str(place / "new.sluice")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path)},
    )
    assert ended.returncode == 3, ended.stderr
    assert "There is no new case, and the damaged one is as it was." in " ".join(ended.stderr.split())
    assert list(place.iterdir()) == []
    assert finished.case.read_bytes() == before


def test_the_sentences_tell_what_was_kept_and_lost(tmp_path: Path) -> None:
    """Nothing is said to be whole that is not: mended bits, records left behind and what is to be done are counted."""
    counts = Counts(
        documents=Tally(enumerated=9, extracted=4, dead_letter=1),
        pages=Tally(enumerated=90, extracted=1040, dead_letter=2),
        unfinished_sources=2,
    )
    report = RepairReport(path=tmp_path / "n.sluice", counts=counts, kept=1234, left=56, mended=1, sources=2)
    told = " ".join(sentences(report))
    for words in (
        "1,234 audit records",
        "5 documents are done",
        "56 audit records",
        "one bit",
        "4 documents",
        "sources (2 in all)",
    ):
        assert words in told
    whole = RepairReport(path=tmp_path / "n.sluice", counts=counts, kept=1234, left=0, mended=0, sources=2)
    told = " ".join(sentences(whole))
    assert "no audit record that is known of" in told
    assert "one bit" not in told
    told = " ".join(sentences(RepairReport(path=tmp_path, counts=Counts(), kept=0, left=0, mended=0, sources=0)))
    assert "you name the folders again" in told
