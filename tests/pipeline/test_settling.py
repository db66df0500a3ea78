"""Files that somebody is still writing are left alone until they stand still."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.models.document import DocumentRef, Failure, Probe
from engine.models.outcome import Reason
from engine.pipeline.settling import MOST_LOOKS, Look, Settling
from tests.support.runs import records_of, run_once, small_flow, write_documents
from tests.support.scripted_extractor import ScriptedExtractor

CORRUPT = Failure(reason=Reason.CORRUPT_DOCUMENT)
CHANGED = Failure(reason=Reason.SOURCE_CHANGED)


def probe(*, repaired: bool) -> Probe:
    """Return a document that opens."""
    return Probe(sha256="0" * 64, page_count=1, size_bytes=1, mtime_ns=0, repaired=repaired)


async def test_a_damaged_document_is_final_once_its_file_stands_still(tmp_path: Path) -> None:
    """A fresh file that looks damaged is looked at again; unchanged since, it is what it is."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"half")
    written_s = path.stat().st_mtime
    with ThreadPoolExecutor(1) as thread:
        settling = Settling(thread, lambda: written_s + 1)
        first = await settling.look(os.fsencode(path), CORRUPT, None)
        assert first is not None
        assert await settling.look(os.fsencode(path), CORRUPT, first) is None
        path.write_bytes(b"half and more")
        second = await settling.look(os.fsencode(path), probe(repaired=True), first)
        assert second is not None
        assert second.delay_s > first.delay_s


@pytest.mark.parametrize(
    ("found", "age_s", "waits"),
    [
        (CORRUPT, 1, True),
        (CORRUPT, 3600, False),
        (CORRUPT, -2, True),  # a share whose clock is ahead of ours
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
        look = await Settling(thread, lambda: written_s + age_s).look(os.fsencode(path), found, None)
    assert (look is not None) is waits


async def test_a_file_that_never_stands_still_is_taken_in_the_end(tmp_path: Path) -> None:
    """A file that is appended to for ever does not keep the run for ever; neither does one that is gone."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"x")
    with ThreadPoolExecutor(1) as thread:
        settling = Settling(thread, lambda: path.stat().st_mtime)
        last = Look(number=MOST_LOOKS, version=(0, 0))
        assert await settling.look(os.fsencode(path), CHANGED, last) is None
        assert await settling.look(os.fsencode(tmp_path / "gone.pdf"), CHANGED, None) is None


async def test_a_document_that_is_still_being_copied_is_extracted_whole(tmp_path: Path) -> None:
    """A probe meets half a file; the rest arrives; the pages of the whole file are accounted for, in one version."""
    folder = write_documents(tmp_path / "in", [3])
    extractor = ScriptedExtractor()

    def copying(document: DocumentRef) -> Failure | None:
        if extractor.probes[1] > 2:
            return None
        with Path(os.fsdecode(document.location)).open("ab") as file:
            file.write(b"y")
        return CHANGED if extractor.probes[1] == 1 else CORRUPT

    extractor._probe = copying
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, small_flow())
    assert summary.counts.pages.extracted == 5
    assert summary.counts.reasons == {}
    assert [record["event"] for record in records_of(tmp_path / "c.sluice")].count("DOCUMENT") == 1
