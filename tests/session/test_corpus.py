"""Real PDFs, from end to end: what becomes of every document and page of the shared corpus, where it is there."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from engine import Clocks, Directories, FlowLimits, Outcome, Reason, RunState, Settings, open_case
from tests.support.corpus import FOLDER, CorpusRow, corpus_rows, expected
from tests.support.runs import records_of

pytestmark = [pytest.mark.corpus, pytest.mark.slow]

READ_BETTER = frozenset({"operator-in-TJ-array.pdf"})
"""Files of which MuPDF 1.28.5 reads more than 1.28.2, with which the rows were made."""


def fates(case: Path) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return each document's own record and those of its pages, by path."""
    records = records_of(case)
    pages: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        if "page" in record and record["event"] in {"EXTRACTED", "DEAD_LETTER", "DUPLICATE"}:
            pages.setdefault(record["doc_id"], []).append(record)
    return {
        record["path"]: (record, pages.get(record["doc_id"], [])) for record in records if record["event"] == "DOCUMENT"
    }


def differences(row: CorpusRow, document: dict[str, Any], pages: list[dict[str, Any]]) -> list[str]:
    """Return in what a document differs from what its row lets expect."""
    wanted = expected(row)
    reason = document.get("reason")
    fate = (Outcome(document["outcome"]), None if reason is None else Reason(reason))
    extracted = sum(page["event"] == "EXTRACTED" for page in pages)
    dead = [page for page in pages if page["event"] == "DEAD_LETTER"]
    reasons = {Reason(page["reason"]) for page in dead}
    found = []
    if fate not in wanted.documents:
        found.append(f"is {fate}, expected one of {sorted(map(str, wanted.documents))}")
    if document["doc_sha256"] not in {row.sha256, None}:
        found.append("has another hash")
    if len(pages) != wanted.pages:
        found.append(f"has {len(pages)} pages, expected {wanted.pages}")
    if not wanted.extracted[0] <= extracted <= wanted.extracted[1]:
        found.append(f"has {extracted} extracted pages, expected {wanted.extracted}")
    if not wanted.dead[0] <= len(dead) <= wanted.dead[1]:
        found.append(f"has {len(dead)} dead pages, expected {wanted.dead}")
    if not reasons <= wanted.reasons:
        found.append(f"has dead pages for {sorted(reasons)}, expected {sorted(wanted.reasons)}")
    if wanted.repaired is not None and bool(document.get("repaired")) is not wanted.repaired:
        found.append(f"is flagged repaired: {document.get('repaired')}, expected {wanted.repaired}")
    chars = sum(page["chars"] for page in pages)
    if row.found == "ok" and wanted.pages and row.path.name not in READ_BETTER and chars != row.chars:
        found.append(f"has {chars} characters, expected {row.chars}")
    return found


def _copies(rows: list[CorpusRow], folder: Path) -> Path:
    """Copy some of the files, with their dates, to where they are alone."""
    for row in rows:
        copy = folder / row.path.relative_to(FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(row.path, copy)
    return folder


@pytest.mark.skipif(corpus_rows() is None, reason="the shared corpus is not beside this checkout")
@pytest.mark.one_loop("asyncio")
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.whole), 4])
async def test_every_document_of_the_corpus_ends_as_its_row_says(tmp_path: Path, every: int) -> None:
    """Outcome, reason, pages, characters, the repaired flag of every file, or of every fourth that ends by itself."""
    rows = sorted(corpus_rows() or (), key=lambda row: (row.found, row.category, row.path))
    if every > 1:
        rows = [row for row in rows if row.found not in {"timeout", "memory"}][::every]
    folder = FOLDER if every == 1 else _copies(rows, tmp_path / "corpus")
    settings = Settings(flow=FlowLimits.build(workers=2), clocks=Clocks(page_s=8.0))
    session = await open_case(
        tmp_path / "case.sluice",
        request_id="corpus",
        settings=settings,
        directories=Directories.below(tmp_path / "places"),
    )
    try:
        summary = await session.run([folder])
    finally:
        await session.close()
    assert summary.state is RunState.FINISHED
    assert summary.counts.reconciled
    fate_of = fates(tmp_path / "case.sluice")
    assert len(rows) == summary.counts.documents.enumerated
    wrong = [
        f"{row.path.relative_to(FOLDER)} {difference}"
        for row in rows
        for difference in differences(row, *fate_of[str(row.path.relative_to(FOLDER))])
    ]
    assert not wrong, "\n".join(wrong)
