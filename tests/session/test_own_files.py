"""What the program keeps for itself: no document of anybody's, and checked before there is work to lose."""

import os
from pathlib import Path

import pytest

from engine import CaseError, Directories, FlowLimits, RunState, Settings, SkipReason, open_case
from engine.case.casefile import CaseFile
from engine.case.checkpoints import CheckpointLedger
from tests.support import pdfs

pytestmark = pytest.mark.one_loop("asyncio")  # where files lie has nothing to do with the event loop

ONE_WORKER = Settings(flow=FlowLimits.build(workers=1))


async def test_a_case_is_no_document_of_its_own_source(tmp_path: Path) -> None:
    """Named like a document, and met under a link besides, it is left out, with every run again, and named once."""
    folder, places = tmp_path / "in", Directories.below(tmp_path / "places")
    pdfs.batch(folder, documents=2, pages_each=1)
    case = folder / "case.pdf"
    CaseFile.create(case, request_id="r", ledger=CheckpointLedger(places.checkpoints)).close()
    os.link(case, folder / "link.pdf")
    for _ in range(2):
        session = await open_case(case, settings=ONE_WORKER, directories=places)
        try:
            summary = await session.run([folder])
            rows = await session.document_rows(1, 100)
        finally:
            await session.close()
        assert summary.state is RunState.FINISHED
        assert (summary.counts.documents.enumerated, summary.counts.documents.extracted) == (2, 2)
        left_out = [(row.path, row.reason) for row in rows if row.path in {"case.pdf", "link.pdf"}]
        assert sorted(left_out) == [("case.pdf", SkipReason.HIDDEN_JUNK), ("link.pdf", SkipReason.HIDDEN_JUNK)]


async def test_a_place_for_checkpoints_that_takes_none_is_told_at_the_start(tmp_path: Path) -> None:
    """No case is made; one that is there is not touched, and can still be read."""
    places, new, old = Directories.below(tmp_path / "places"), tmp_path / "new.sluice", tmp_path / "old.sluice"
    CaseFile.create(old, request_id="r").close()
    before = old.read_bytes()
    (tmp_path / "places").write_text("a file in the way")
    for path in (new, old):
        with pytest.raises(CaseError, match=r"checkpoints of audit logs.*Nothing was begun"):
            await open_case(path, request_id="r", settings=ONE_WORKER, directories=places)
    assert set(os.listdir(tmp_path)) == {"places", "old.sluice"}  # noqa: PTH208  # blocks as little as a test may
    assert old.read_bytes() == before
    session = await open_case(old, settings=ONE_WORKER, directories=places, read_only=True)
    await session.close()
