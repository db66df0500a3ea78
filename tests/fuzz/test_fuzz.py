"""A short part of the fuzzing: broken documents through the real program, and broken answers through the parent's side.

The seed is `SLUICEGATE_SEED`, printed where a test fails. The whole is `make fuzz`.
"""

import hashlib
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.verify import verify_file
from engine.models.outcome import Reason, RunState
from engine.work.pool import WorkerPool
from tests.fuzz import exchange, tables
from tests.fuzz.mutants import CHANGES, bases, kind_of, mutants
from tests.fuzz.trial import Fate, Trial, check_records, narrowed, run_program, tried
from tests.support import pdfs
from tests.support.runs import assert_one_terminal_record_each, records_of, run_once, write_documents
from tests.work.kit import refused, running_pool

SEED = int(os.environ.get("SLUICEGATE_SEED") or random.SystemRandom().randrange(10**6))
DOCUMENTS = 64

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the crooked worker inherits descriptors")


@pytest.fixture(autouse=True)
def _print_seed() -> None:
    print(f"SLUICEGATE_SEED={SEED}")


def test_broken_documents_cost_nothing_but_themselves(tmp_path: Path) -> None:
    """Some of each kind through the program: it ends well, and accounts for every document and page once."""
    batch = list(mutants(SEED, DOCUMENTS, bases(tmp_path / "bases")))
    trial = tried(batch, tmp_path / "batch")
    assert not trial.broken, (trial.broken, [one.name for one in narrowed(batch, tmp_path / "batch")])
    assert {fate.path for fate in trial.fates} == {mutant.name for mutant in batch}


def test_a_broken_promise_is_noticed(tmp_path: Path) -> None:
    """A document that is missing, one with another hash, one too many, a page without record: each is blamed."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("good", "other", "surplus", "pages"):
        pdfs.text_pdf(folder / f"{name}.pdf", 2, seed=len(name))
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    trial = Trial()
    assert run_program(trial, folder, tmp_path, hang_s=120.0)
    records = records_of(tmp_path / "case.sluice")
    check_records(trial, records, hashes)
    assert not trial.broken
    del hashes["surplus.pdf"]
    hashes |= {"missing.pdf": "0" * 64, "other.pdf": "1" * 64}
    page = next(record for record in records if record.get("page") == 2 and is_of(record, "pages.pdf", records))
    check_records(trial, [record for record in records if record is not page], hashes)
    assert trial.guilty == {"missing.pdf", "other.pdf", "surplus.pdf", "pages.pdf"}


def is_of(record: dict[str, Any], path: str, records: Iterable[dict[str, Any]]) -> bool:
    """Whether a page's record is that of the document under a name."""
    return any(one.get("path") == path and one["doc_id"] == record["doc_id"] for one in records)


@pytest.mark.one_loop("asyncio")
async def test_a_length_beyond_every_file_is_the_fault_of_the_document(tmp_path: Path) -> None:
    """The system refuses to go there, which says nothing against the disk: it is not tried again."""
    path = pdfs.text_pdf(tmp_path / "far.pdf", 1)
    path.write_bytes(re.sub(rb"/Length \d+", b"/Length " + b"9" * 30, path.read_bytes()))
    async with running_pool() as pool:
        assert (await refused(pool, path)).reason is Reason.CORRUPT_DOCUMENT


def test_the_same_seed_breaks_documents_in_the_same_way(tmp_path: Path) -> None:
    """A mutant depends on the seed and its number alone; most are no longer what they were made of."""
    documents = bases(tmp_path / "bases", real=False)
    batch = list(mutants(SEED, 160, documents))
    assert batch[100:] == list(mutants(SEED, 60, documents, first=100))
    assert batch != list(mutants(SEED + 1, 160, documents))
    assert {kind_of(mutant.name) for mutant in batch} == set(CHANGES)
    assert sum(mutant.data in documents for mutant in batch) < len(batch) // 4


def test_mangled_answers_are_refused_or_right() -> None:
    """Nothing but the one error comes out of reading them, and every page of a span stays in one place."""
    found = exchange.read(SEED, 1500)
    assert not found.broken
    assert found.ends.total() == 1500
    assert min(found.ends["refused"], found.ends["accepted"]) > 50


@pytest.mark.one_loop("asyncio")
async def test_crooked_workers_cost_pages_and_nothing_else() -> None:
    """A pool of workers that mostly answer wrongly: each request has its answer, and nothing is left behind."""
    found = await exchange.storm(SEED, 60)
    assert not found.broken
    assert found.ends.total() == 60
    assert min(found.ends["all pages"], found.ends["worker_crashed"]) > 2


@pytest.mark.one_loop("asyncio")
async def test_a_run_on_crooked_workers_reconciles(tmp_path: Path) -> None:
    """Whatever they say, every document and page of the run ends once, and the log verifies."""
    folder = write_documents(tmp_path / "in", [3] * 9)
    pool = WorkerPool(exchange.SETTINGS, command=exchange.crooked(SEED), tick_s=0.05)
    summary = await run_once(tmp_path / "case.sluice", folder, pool, exchange.SETTINGS)
    assert summary.state is RunState.FINISHED
    assert summary.counts.reconciled
    assert_one_terminal_record_each(tmp_path / "case.sluice")
    with CaseFile.open(tmp_path / "case.sluice") as case, case.reader() as reader:
        _, head = export_audit(reader, tmp_path / "audit.jsonl")
    report = verify_file(tmp_path / "audit.jsonl", expect_head=head)
    assert report.ok, report.problems


def test_the_table_counts_what_became_of_each_kind() -> None:
    """Documents, pages and what workers suffered, by kind and in all; reasons for documents and for pages."""
    fates = [
        Fate(path="1-cut.pdf", outcome="DEAD_LETTER", reason="encrypted", pages=Counter(), strikes=Counter()),
        Fate(
            path="2-cut.pdf",
            outcome="EXTRACTED",
            reason=None,
            pages=Counter({"EXTRACTED": 3, "time_limit": 1}),
            strikes=Counter({"time_limit": 2}),
        ),
        Fate(path="3-xref.pdf", outcome="DUPLICATE", reason=None, pages=Counter({"DUPLICATE": 4}), strikes=Counter()),
    ]
    rows = {line.split()[0]: line.split()[1:] for line in tables.outcome_lines(fates)}
    assert rows["cut"] == ["2", "1", "1", "0", "4", "3", "1", "2", "0", "0", "0", "0"]
    assert rows["all"] == ["3", "1", "1", "1", "8", "3", "1", "2", "0", "0", "0", "0"]
    assert [line.split() for line in tables.reason_lines(fates)][1:] == [
        ["encrypted", "1", "0"],
        ["time_limit", "0", "1"],
    ]
