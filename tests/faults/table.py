"""What `make faults` adds to pytest: a seed that is printed, and a table of what became of each row of the matrix.

Loaded with `-p tests.faults.table`. A row that has neither a test nor a reason makes the whole fail, unless only a
part of the tests was asked for.
"""

import os
import random
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import pytest

from tests.faults.matrix import ROWS, Row

_WIDTHS = (3, 40, 42, 5)


class Result(StrEnum):
    """What became of a row."""

    HELD = "held"  # Its tests passed.
    FAILED = "FAILED"  # A test of it failed.
    NOT_INJECTED = "not injected here"  # The machine or the version lacks what is needed; the reason is told.
    UNTESTED = "NO TEST"  # Nobody wrote a test, and nobody gave a reason.


@dataclass(slots=True)
class Tried:
    """What the tests of one row did."""

    means: set[str] = field(default_factory=set)
    """How it was injected, where a test says so itself; empty for one that did it as the row says."""
    outcomes: Counter[str] = field(default_factory=Counter)
    skipped: set[str] = field(default_factory=set)
    """Why tests were skipped."""


def result_of(row: Row, tried: Tried) -> tuple[Result, str]:
    """Return what became of a row, and why where that has to be said."""
    skipped = "; ".join(sorted(tried.skipped))
    if tried.outcomes["failed"]:
        return Result.FAILED, ""
    if tried.outcomes["passed"]:
        return Result.HELD, f"in part not injected here: {skipped}" if skipped else ""
    if tried.outcomes["skipped"]:
        return Result.NOT_INJECTED, skipped
    if row.reason:
        return Result.NOT_INJECTED, row.reason
    return Result.UNTESTED, ""


def table_lines(rows: Iterable[Row], tried: Mapping[int, Tried]) -> list[str]:
    """Return the table, ready to print."""
    lines = _cells("row", "fault", "means of injection", "tests", "result")
    lines.append("-" * len(lines[0]))
    for row in rows:
        found = tried.get(row.number, Tried())
        result, why = result_of(row, found)
        means = "; ".join(sorted({by or row.means for by in found.means or {""}}))
        total = sum(found.outcomes.values())
        lines += _cells(str(row.number), row.fault, means, str(total), f"{result}: {why}" if why else str(result))
    return lines


def _cells(*texts: str) -> list[str]:
    """Return one row of the table, folded where a cell is longer than its column; the last one may be long."""
    folded = [textwrap.wrap(text, width) or [""] for text, width in zip(texts, _WIDTHS, strict=False)]
    folded.append(textwrap.wrap(texts[-1], 60) or [""])
    height = max(map(len, folded))
    widths = (*_WIDTHS, 0)
    return [
        "  ".join(
            (cell[at] if at < len(cell) else "").ljust(width) for cell, width in zip(folded, widths, strict=True)
        ).rstrip()
        for at in range(height)
    ]


class FaultTable:
    """Collects what tests did, by row."""

    def __init__(self, *, complete: bool) -> None:
        self._complete = complete
        self._tests: dict[str, list[tuple[int, str]]] = {}
        self._tried: dict[int, Tried] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which row each test is for.

        Raises:
            pytest.UsageError: When one names a row that is not there.
        """
        known = {row.number for row in ROWS}
        for item in session.items:
            for marker in item.iter_markers("fault"):
                if not known.issuperset(marker.args):
                    raise pytest.UsageError(f"{item.nodeid} names rows that the matrix does not have: {marker.args}")
                by = str(marker.kwargs.get("by", ""))
                self._tests.setdefault(item.nodeid, []).extend((row, by) for row in marker.args)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a test ended; a failure while it is set up or torn down counts as one."""
        if isinstance(report, pytest.SubtestReport) or (report.when != "call" and report.passed):
            return  # a test with a failed part has failed
        for number, by in self._tests.get(report.nodeid, ()):
            tried = self._tried.setdefault(number, Tried())
            tried.outcomes[report.outcome] += 1
            tried.means.add(by)
            if report.skipped and isinstance(report.longrepr, tuple):
                tried.skipped.add(str(report.longrepr[2]).removeprefix("Skipped: "))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail where a row was forgotten."""
        if self._complete and self._missing():
            session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        terminalreporter.section("faults")
        for line in table_lines(ROWS, self._tried):
            terminalreporter.write_line(line)
        if missing := self._missing():
            verdict = "this fails" if self._complete else "not judged: only a part of the tests was asked for"
            terminalreporter.write_line(f"Rows without a test and without a reason: {missing} ({verdict}).")
        terminalreporter.write_line(f"SLUICEGATE_SEED={os.environ['SLUICEGATE_SEED']}")

    def _missing(self) -> Sequence[int]:
        return [
            row.number for row in ROWS if result_of(row, self._tried.get(row.number, Tried()))[0] is Result.UNTESTED
        ]


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before any test module is imported, and begin the table."""
    os.environ.setdefault("SLUICEGATE_SEED", str(random.randrange(10**6)))  # noqa: S311  # printed, not secret
    complete = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    config.pluginmanager.register(FaultTable(complete=complete), "fault-table")


def pytest_report_header() -> str:
    """Print the seed, with which the same run can be had again."""
    return f"SLUICEGATE_SEED={os.environ['SLUICEGATE_SEED']}"
