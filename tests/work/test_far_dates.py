"""Files whose date lies beyond what 64 bits of nanoseconds reach: documents like any other, one date everywhere."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.models.document import EARLIEST_NS, LATEST_NS, kept_time_ns
from engine.models.outcome import Outcome
from engine.source.entry import look_at
from tests.support import pdfs
from tests.work.kit import extracted, opened, running_pool

pytestmark = pytest.mark.one_loop("asyncio")  # what the date of a file is has nothing to do with the event loop

FAR_S = 2**35
"""The year 3058, and as far in the past."""


@pytest.fixture
def wide() -> Iterator[Path]:
    """A folder in memory, whose file system keeps such dates where a disk's may not."""
    shared = Path("/dev/shm")  # noqa: S108  # where Linux has a file system in memory
    if not shared.is_dir():
        pytest.skip("there is no file system in memory here")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)


@pytest.mark.parametrize(("date_s", "kept_ns"), [(FAR_S, LATEST_NS), (-FAR_S, EARLIEST_NS)])
async def test_a_document_with_a_far_date_is_extracted(wide: Path, date_s: int, kept_ns: int) -> None:
    """The enumeration and the worker keep the same date, so that neither crash nor change is seen in it."""
    path = pdfs.text_pdf(wide / "far.pdf", 2)
    os.utime(path, (date_s, date_s))
    if path.stat().st_mtime != date_s:
        pytest.skip("this file system does not keep such dates")
    file, _ = look_at(os.fsencode(wide), b"far.pdf", (b".pdf",))
    assert file is not None
    async with running_pool() as pool:
        assert (await opened(pool, path)).mtime_ns == file.mtime_ns == kept_ns
        results = await extracted(pool, path)
    assert [result.outcome for result in results] == [Outcome.EXTRACTED] * 2


def test_dates_within_reach_are_kept_as_they_are() -> None:
    """To the nanosecond, and up to both ends."""
    for date_ns in (0, 1_700_000_000_123_456_789, -1, EARLIEST_NS, LATEST_NS):
        assert kept_time_ns(date_ns) == date_ns
    assert kept_time_ns(LATEST_NS + 1) == LATEST_NS
    assert kept_time_ns(EARLIEST_NS - 1) == EARLIEST_NS
