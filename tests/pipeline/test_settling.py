"""Files that somebody is still writing are left alone until they stand still."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.models.document import DocumentRef, Failure, Probe
from engine.models.outcome import Reason
from engine.pipeline.settling import MOST_LOOKS, STILL_S, Look, Settling
from tests.support.clock import ManualClock
from tests.support.runs import records_of, run_once, small_flow, write_documents
from tests.support.scripted_extractor import ScriptedExtractor

CORRUPT = Failure(reason=Reason.CORRUPT_DOCUMENT)
CHANGED = Failure(reason=Reason.SOURCE_CHANGED)


def probe(*, repaired: bool) -> Probe:
    """Return a document that opens."""
    return Probe(sha256="0" * 64, page_count=1, size_bytes=1, mtime_ns=0, repaired=repaired)


@pytest.mark.parametrize("ahead_s", [0.0, 15.0, -120.0])
async def test_a_damaged_document_is_final_once_its_file_stands_still(tmp_path: Path, ahead_s: float) -> None:
    """A recent file that looks damaged is looked at until it stood still for a while, whatever a share's clock says."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"half")
    written_s = path.stat().st_mtime
    os.utime(path, (written_s + ahead_s, written_s + ahead_s))
    clock = ManualClock()
    with ThreadPoolExecutor(1) as thread:
        settling = Settling(thread, lambda: written_s + 1, clock.monotonic)
        first = await settling.look(os.fsencode(path), CORRUPT, None)
        assert isinstance(first, Look)
        clock.advance(STILL_S)
        path.write_bytes(b"half and more")
        os.utime(path, (written_s + ahead_s, written_s + ahead_s))  # a copy that keeps the date of its original
        second = await settling.look(os.fsencode(path), probe(repaired=True), first)
        assert isinstance(second, Look)
        assert second.delay_s > first.delay_s
        clock.advance(STILL_S - 1)
        third = await settling.look(os.fsencode(path), CORRUPT, second)  # a pause in the copy
        assert isinstance(third, Look)
        assert third.delay_s == 1
        clock.advance(third.delay_s)
        assert await settling.look(os.fsencode(path), CORRUPT, third) is CORRUPT


async def test_an_old_file_that_changed_is_final_once_it_is_seen_unchanged(tmp_path: Path) -> None:
    """A date far from now says that nobody writes to it, unless it was seen to change: then one more look decides."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"x")
    with ThreadPoolExecutor(1) as thread:
        settling = Settling(thread, lambda: path.stat().st_mtime + 3600, ManualClock().monotonic)
        first = await settling.look(os.fsencode(path), CHANGED, None)
        assert isinstance(first, Look)
        assert await settling.look(os.fsencode(path), CORRUPT, first) is CORRUPT


@pytest.mark.parametrize(
    ("found", "age_s", "waits"),
    [
        (CORRUPT, 1, True),
        (CORRUPT, 3600, False),
        (CORRUPT, -2, True),  # a share whose clock is ahead of ours
        (CORRUPT, -15, True),
        (CORRUPT, 60, True),  # or behind
        (CHANGED, 3600, True),  # a copy may carry the date of its original from its first byte on
        (probe(repaired=True), 1, True),
        (probe(repaired=False), 1, False),
        (Failure(reason=Reason.ENCRYPTED), 1, False),
    ],
)
async def test_only_what_may_be_half_a_file_waits(
    tmp_path: Path, found: Probe | Failure, age_s: float, *, waits: bool
) -> None:
    """Old files, and whole ones, are taken as they are at once."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"x")
    written_s = path.stat().st_mtime
    with ThreadPoolExecutor(1) as thread:
        look = await Settling(thread, lambda: written_s + age_s, ManualClock().monotonic).look(
            os.fsencode(path), found, None
        )
    assert isinstance(look, Look) is waits
    assert waits or look is found


async def test_a_file_that_never_stands_still_is_given_up_and_never_taken_for_the_whole(tmp_path: Path) -> None:
    """A file that is appended to for ever does not keep the run for ever; neither does one that is gone."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"x")
    with ThreadPoolExecutor(1) as thread:
        settling = Settling(thread, lambda: path.stat().st_mtime, ManualClock().monotonic)
        last = Look(number=MOST_LOOKS, version=(0, 0), since_s=0.0, delay_s=30.0)
        assert await settling.look(os.fsencode(path), probe(repaired=True), last) == CHANGED
        assert await settling.look(os.fsencode(tmp_path / "gone.pdf"), CHANGED, None) is CHANGED


@pytest.mark.one_loop("asyncio")
async def test_a_document_that_is_still_being_copied_is_extracted_whole(tmp_path: Path) -> None:
    """A probe meets half a file; the rest arrives; the pages of the whole file are accounted for, in one version."""
    folder = write_documents(tmp_path / "in", [3])
    extractor = ScriptedExtractor()

    def copying(document: DocumentRef) -> Failure | None:
        if extractor.probes[1] > 2:
            return None
        with Path(os.fsdecode(document.location)).open("ab") as file:
            file.write(b"y")
        os.utime(document.location, (time.time() - 60, time.time() - 60 + extractor.probes[1]))
        return CHANGED if extractor.probes[1] == 1 else CORRUPT

    extractor._probe = copying
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, small_flow())
    assert summary.counts.pages.extracted == 5
    assert summary.counts.reasons == {}
    assert [record["event"] for record in records_of(tmp_path / "c.sluice")].count("DOCUMENT") == 1
