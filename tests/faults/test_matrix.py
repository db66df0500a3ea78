"""The matrix and its table: every row is there, and no row can be forgotten or look better than it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.matrix import ROWS
from tests.faults.table import Result, Tried, result_of, table_lines

ROOT = Path(__file__).resolve().parents[2]
PLAIN = next(row for row in ROWS if not row.reason)
EXCUSED = next(row for row in ROWS if row.reason)


def tried(*outcomes: str, skipped: str = "") -> Tried:
    """Return what tests of a row did."""
    made = Tried()
    made.outcomes.update(outcomes)
    made.skipped.update([skipped] if skipped else [])
    return made


def test_the_matrix_has_its_forty_rows() -> None:
    """Numbered from 1, in order, each said in full."""
    assert [row.number for row in ROWS] == list(range(1, 41))
    for row in ROWS:
        assert all((row.fault, row.seen, row.holds, row.means))


def test_a_row_is_as_good_as_its_worst_test() -> None:
    """One failure among passes is FAILED; skips alone are told with their reason, and nothing at all is no success."""
    assert result_of(PLAIN, tried("passed", "failed", "skipped"))[0] is Result.FAILED
    assert result_of(PLAIN, tried("passed"))[0] is Result.HELD
    assert result_of(PLAIN, tried("passed", "skipped", skipped="no strace"))[1].endswith("no strace")
    assert result_of(PLAIN, tried("skipped", skipped="no strace")) == (Result.NOT_INJECTED, "no strace")
    assert result_of(PLAIN, Tried())[0] is Result.UNTESTED
    assert result_of(EXCUSED, Tried()) == (Result.NOT_INJECTED, EXCUSED.reason)


def test_the_table_names_every_row_and_its_result() -> None:
    """Long cells are folded, so that each row begins with its number in the first column."""
    lines = table_lines(ROWS, {PLAIN.number: tried("passed")})
    begun = [line[:3].strip() for line in lines[2:] if line[:3].strip()]
    assert begun == [str(number) for number in range(1, 41)]
    text = "\n".join(lines)
    assert text.count(str(Result.HELD)) >= 1
    assert text.count(str(Result.UNTESTED)) == sum(not row.reason for row in ROWS) - 1
    assert max(map(len, lines)) < 160


@pytest.mark.parametrize(
    ("row", "body", "code", "said"),
    [
        (4, "pass", pytest.ExitCode.TESTS_FAILED, "NO TEST"),
        (4, "assert False", pytest.ExitCode.TESTS_FAILED, "FAILED"),
        (41, "pass", pytest.ExitCode.USAGE_ERROR, "names rows that the matrix does not have"),
    ],
)
def test_a_forgotten_row_fails_the_whole(tmp_path: Path, row: int, body: str, code: int, said: str) -> None:
    """Run as `make faults` runs it: tests that pass are not enough where rows have none, and the seed is told."""
    (tmp_path / "test_it.py").write_text(
        f"import pytest\n\n@pytest.mark.fault({row}, by='by hand')\ndef test_it() -> None:\n    {body}\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = .\nmarkers =\n  fault: of the matrix\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.faults.table",
        "-p",
        "no:cacheprovider",
        "-m",
        "fault",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SLUICEGATE_SEED": "4711"}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert said in ended.stdout + ended.stderr
    assert "SLUICEGATE_SEED=4711" in ended.stdout
    assert ("by hand" in ended.stdout) is (row == 4)
