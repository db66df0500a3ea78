"""Looking into documents ahead: how many one worker gets at once, and that none of them waits for another's trouble."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from engine.case.casefile import CaseFile
from engine.models.document import DocumentRef, Failure, Probe
from engine.models.facts import DocumentProbed, Fact, Receipt
from engine.models.outcome import Reason
from engine.settings import FlowLimits, Settings
from tests.support.runs import assert_one_terminal_record_each, open_run, records_of, run_once, write_documents
from tests.support.scripted_extractor import ScriptedExtractor


class Recording(ScriptedExtractor):
    """Notes which documents it was asked to look into at once."""

    def __init__(self, **script: object) -> None:
        super().__init__(**script)  # type: ignore[arg-type]  # passed on as it is
        self.together: list[list[int]] = []

    async def probe(self, documents: Sequence[DocumentRef]) -> Sequence[Probe | Failure]:
        """Override: note it."""
        self.together.append([document.doc_id for document in documents])
        return await super().probe(documents)


def one_page(document: DocumentRef) -> Probe:
    """Find one page, whatever the file holds."""
    return Probe(
        sha256=f"{document.doc_id:064x}",
        page_count=1,
        size_bytes=document.size_bytes,
        mtime_ns=document.mtime_ns,
        repaired=False,
    )


async def test_short_documents_are_looked_into_together_and_every_worker_gets_its_share(tmp_path: Path) -> None:
    """At most sixteen at once, in the order of the manifest, and as many for the second worker as for the first."""
    folder = write_documents(tmp_path / "in", [1] * 100)
    extractor = Recording(probe=one_page)
    settings = Settings(flow=FlowLimits.build(workers=2))
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, settings)
    assert summary.counts.reconciled
    assert sorted(doc_id for batch in extractor.together for doc_id in batch) == list(range(1, 101))
    assert all(batch == list(range(batch[0], batch[0] + len(batch))) for batch in extractor.together)
    assert max(map(len, extractor.together)) == 16
    assert len(extractor.together) < 50


async def test_few_documents_are_shared_among_idle_workers(tmp_path: Path) -> None:
    """Three documents and two workers: nobody stands idle beside a pile."""
    folder = write_documents(tmp_path / "in", [1] * 3)
    extractor = Recording(probe=one_page)
    await run_once(tmp_path / "c.sluice", folder, extractor, Settings(flow=FlowLimits.build(workers=2)))
    assert extractor.together == [[1, 2], [3]]


async def test_large_files_are_looked_into_one_by_one(tmp_path: Path) -> None:
    """What takes long to hash is not piled up on one worker: eight megabytes in all, or one file."""
    folder = write_documents(tmp_path / "in", [1] * 6)
    for number, megabytes in enumerate((5, 5, 20, 3, 3, 3), start=1):
        os.truncate(folder / f"{number:06}.pdf", megabytes * 1024 * 1024)
    extractor = Recording(probe=one_page)
    await run_once(tmp_path / "c.sluice", folder, extractor, Settings(flow=FlowLimits.build(workers=1)))
    assert extractor.together == [[1], [2], [3], [4, 5], [6]]


async def test_a_document_to_try_again_goes_alone(tmp_path: Path) -> None:
    """One that failed for a passing reason does not take others with it when it is tried once more."""
    folder = write_documents(tmp_path / "in", [1] * 4)
    tries: list[int] = []

    def fail_once(document: DocumentRef) -> Probe | Failure:
        tries.append(document.doc_id)
        passing = document.doc_id in {2, 3} and tries.count(document.doc_id) == 1
        return Failure(reason=Reason.READ_FAILED) if passing else one_page(document)

    extractor = Recording(probe=fail_once)
    settings = Settings(flow=FlowLimits.build(workers=1))
    summary = await run_once(tmp_path / "c.sluice", folder, extractor, settings)
    assert summary.counts.documents.extracted == 4
    assert extractor.together[0] == [1, 2, 3, 4]
    assert sorted(extractor.together[1:]) == [[2], [3]]


async def test_documents_that_come_back_untried_are_the_next_ones(tmp_path: Path) -> None:
    """Where one takes long, those behind it are looked into next, in their order, and it was no try of theirs."""
    folder = write_documents(tmp_path / "in", [1] * 5)

    class Hasty(Recording):
        async def probe(self, documents: Sequence[DocumentRef]) -> Sequence[Probe | Failure | None]:  # type: ignore[override]  # as the seam has it
            """Override: look into two of them."""
            found = await super().probe(documents)
            return [*found[:2], *(None for _ in found[2:])]

    extractor = Hasty(probe=one_page)
    case = tmp_path / "c.sluice"
    summary = await run_once(case, folder, extractor, Settings(flow=FlowLimits.build(workers=1)))
    assert summary.counts.documents.extracted == 5
    assert extractor.together == [[1, 2, 3, 4, 5], [3, 4, 5], [5]]
    assert not [record for record in records_of(case) if record["event"] == "RETRY"]


async def test_a_document_that_an_earlier_run_suspected_goes_alone(tmp_path: Path) -> None:
    """One more worker that ends, whoever is to blame, would make it a dead letter."""
    folder, case = write_documents(tmp_path / "in", [1] * 4), tmp_path / "c.sluice"
    settings = Settings(flow=FlowLimits.build(workers=1))
    alone = asyncio.Event()

    class Stopping(Recording):
        async def probe(self, documents: Sequence[DocumentRef]) -> Sequence[Probe | Failure]:
            """Override: never come back from a second try."""
            if len(documents) == 1:
                alone.set()
                await asyncio.get_running_loop().create_future()
            return await super().probe(documents)

    def blame(_document: DocumentRef) -> Failure:
        return Failure(reason=Reason.WORKER_CRASHED)

    async with open_run(case, folder, Stopping(probe=blame), settings) as run:
        running = asyncio.ensure_future(run.execute())
        async with asyncio.timeout(60):
            await alone.wait()
        running.cancel()
        await asyncio.wait([running])
    extractor = Recording(probe=one_page)
    summary = await run_once(case, None, extractor, settings)
    assert summary.counts.documents.extracted == 4
    assert extractor.together == [[1], [2], [3], [4]]


class Groups:
    """A case that notes how many looks into documents each commit holds."""

    def __init__(self, case: CaseFile) -> None:
        self._case = case
        self.looks: list[int] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._case, name)

    def commit(self, facts: Sequence[Fact]) -> Receipt:
        """Commit and note."""
        self.looks.append(sum(isinstance(fact, DocumentProbed) for fact in facts))
        return self._case.commit(facts)


async def test_resumed_documents_do_not_wait_for_one_another(tmp_path: Path) -> None:
    """Each of a pile of them needs the case's decision before it goes on, and one commit decides on all."""
    folder, case = write_documents(tmp_path / "in", [3] * 12), tmp_path / "c.sluice"
    settings = Settings(flow=FlowLimits.build(workers=1))

    async def never(_span: object) -> None:
        await asyncio.get_running_loop().create_future()

    async with open_run(case, folder, ScriptedExtractor(work=never), settings) as run:
        running = asyncio.ensure_future(run.execute())
        async with asyncio.timeout(60):
            while run.snapshot().counts.pages.enumerated < 36:
                await asyncio.sleep(0.005)
        running.cancel()
        await asyncio.wait([running])
    extractor = Recording()
    groups: list[Groups] = []

    def watched(opened: CaseFile) -> Groups:
        groups.append(Groups(opened))
        return groups[-1]

    async with open_run(case, None, extractor, settings, store=watched) as run:
        summary = await run.execute()
    assert summary.counts.reconciled
    assert max(map(len, extractor.together)) > 1
    assert sum(groups[0].looks) == 12
    assert max(groups[0].looks) >= max(map(len, extractor.together))
    assert_one_terminal_record_each(case)
