"""What the tests of the case file share: a place for a case, a clock that stands still, and a new case."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.writer import CaseClock


class Clock:
    """A clock that moves only when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def utc(self) -> datetime:
        """Return the moment."""
        return datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        """Return seconds since the start."""
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    """Give a clock that stands still."""
    return Clock()


@pytest.fixture
def case_clock(clock: Clock) -> CaseClock:
    """Give the same clock in the form that a case takes."""
    return CaseClock(utc=clock.utc, monotonic=clock.monotonic)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a path for a case file."""
    return tmp_path / "matter.sluice"


@pytest.fixture
def case(path: Path, case_clock: CaseClock) -> Iterator[CaseFile]:
    """Give a new case, closed after the test."""
    with CaseFile.create(path, request_id="FOIA-2026-0117", clock=case_clock) as new:
        yield new
