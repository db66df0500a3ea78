"""Going on with a case: what is left to do, and sources that changed in between."""

from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.models.document import OpenDocument
from engine.models.facts import Noted
from engine.models.outcome import Outcome, Reason
from engine.models.run import Tally
from tests.case.factory import commit_all, dead, done, failed, found, outcomes, probed, records, retried, sha, struck


def _reopened(case: CaseFile) -> CaseFile:
    case.close()
    return CaseFile.open(case.path)


def test_what_is_left_is_read_in_pages(case: CaseFile) -> None:
    """Pending documents and open ones come by number, so many at a time, with all that a worker needs."""
    commit_all(case, found(*(f"{number}.pdf" for number in range(1, 8)), root=b"/in/"))
    commit_all(case, probed(2, pages=3, size_bytes=7, mtime_ns=8), probed(4), done(4, 1), probed(6, pages=2), failed(1))
    with _reopened(case) as again:
        assert [item.doc_id for item in again.pending_documents(0, 2)] == [3, 5]
        assert [item.doc_id for item in again.pending_documents(5, 2)] == [7]
        assert again.pending_documents(0, 1)[0].location == b"/in/3.pdf"
        first, second = again.open_documents(0, 10)
        assert first == OpenDocument(
            doc_id=2, location=b"/in/2.pdf", sha256=sha("document 2"), page_count=3, size_bytes=7, mtime_ns=8
        )
        assert second.doc_id == 6
        assert [item.doc_id for item in again.open_documents(2, 10)] == [6]


def test_unfinished_pages_are_read_in_pages(case: CaseFile) -> None:
    """Only pages without terminal record, in order; none of a document that is done or not looked into."""
    pages = 12_000
    commit_all(case, found("a.pdf", "b.pdf", "c.pdf"), probed(1, pages=pages), probed(2), done(2, 1))
    case.commit([done(1, *range(2, 11_001))])
    with _reopened(case) as again:
        assert again.pending_pages(1, 0, 3) == [1, 11_001, 11_002]
        assert len(again.pending_pages(1, 1, 5000)) == 1000
        assert again.pending_pages(1, pages, 10) == []
        assert again.pending_pages(2, 0, 10) == []
        assert again.pending_pages(3, 0, 10) == []
        assert again.pending_pages(99, 0, 10) == []


def test_a_run_that_was_interrupted_ends_like_an_undisturbed_one(case: CaseFile, tmp_path: Path) -> None:
    """Document, page, outcome and hash of the text are the same set, whether or not the program ended in between."""
    begin = [found("a.pdf", "b.pdf"), probed(1, pages=3), done(1, 2)]
    rest = [done(1, 1, dead(3)), probed(2), done(2, 1)]
    commit_all(case, *begin)
    with _reopened(case) as again:
        assert again.commit([probed(1, pages=3)]).decisions[0].process
        commit_all(again, *rest)
        with CaseFile.create(tmp_path / "other.sluice", request_id="FOIA-2026-0117") as undisturbed:
            commit_all(undisturbed, *begin, *rest)
            assert outcomes(again) == outcomes(undisturbed)
            assert again.counts().pages == undisturbed.counts().pages


def test_a_document_with_the_same_bytes_stays_open(case: CaseFile) -> None:
    """Touched or copied back: workers are told the new time, and the pages go on."""
    commit_all(case, found("a.pdf"), probed(1, pages=2), done(1, 1))
    receipt = case.commit([probed(1, pages=2, mtime_ns=77, size_bytes=101)])
    assert receipt.decisions[0].process
    assert (case.open_documents(0, 1)[0].mtime_ns, case.open_documents(0, 1)[0].size_bytes) == (77, 101)
    assert receipt.counts.pages == Tally(enumerated=2, extracted=1)


def test_a_document_with_other_bytes_is_never_mixed(case: CaseFile) -> None:
    """What was extracted before stays, every other page is a dead letter, and the new content is a new version."""
    commit_all(case, found("a.pdf"), probed(1, pages=3), done(1, 2))
    receipt = case.commit([probed(1, "other bytes", pages=9, mtime_ns=6)])
    assert (receipt.decisions[0].process, receipt.decisions[0].duplicate_of) == (False, None)
    assert receipt.counts.pages == Tally(enumerated=3, extracted=1, dead_letter=2)
    assert receipt.counts.reasons == {Reason.SOURCE_CHANGED: 2}
    assert not case.open_documents(0, 10)
    with case.reader() as reader:
        assert reader.document_rows(1, 1)[0].outcome is Outcome.EXTRACTED
    assert case.commit([found("a.pdf", mtime=6)]).new_pending == 1


def test_strikes_outlast_the_program(case: CaseFile) -> None:
    """A page that killed a worker in an earlier run is known to have done so."""
    commit_all(case, found("a.pdf"), probed(1, pages=2), retried(1, 2, Reason.TIME_LIMIT))
    with _reopened(case) as again:
        assert struck(again) == {(1, 2): 1}
        again.commit([retried(1, 2, attempt=2)])
        assert struck(again) == {(1, 2): 2}


def test_a_run_over_finished_work_records_that_there_was_nothing_to_do(case: CaseFile) -> None:
    """A second run over the same folder adds its start, its end and the number of files it knew: no page."""
    batch = found("a.pdf", "b.pdf")
    commit_all(case, Noted(event="RUN_STARTED"), batch, probed(1), probed(2), done(1, 1), done(2, 1))
    before = case.counts()
    with _reopened(case) as again:
        commit_all(again, Noted(event="RUN_STARTED"), batch, Noted(event="RECONCILED"))
        after = again.counts()
        assert (after.documents, after.pages) == (before.documents, before.pages)
        assert [record["event"] for record in records(again)][-2:] == ["RUN_STARTED", "RECONCILED"]
        assert records(again)[-1]["files_known"] == 2


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_rows_and_lines_are_read_in_pages(case: CaseFile, limit: int) -> None:
    """However many rows are asked for at a time, all of them come, once and in order."""
    commit_all(case, found(*(f"{number}.pdf" for number in range(1, 11))), *(failed(number) for number in range(1, 11)))
    with case.reader() as reader:
        numbers: list[int] = []
        while rows := reader.dead_letter_rows(len(numbers) + 1, limit):
            numbers += [row.number for row in rows]
        assert numbers == list(range(1, 11))
        documents: list[int] = []
        while found_rows := reader.document_rows(len(documents) + 1, limit):
            documents += [row.doc_id for row in found_rows]
        assert documents == list(range(1, 11))
        assert len(list(reader.audit_lines())) == 10
        assert len(list(reader.audit_lines(first=3, last=7))) == 5


def test_many_lines_are_read_in_order(case: CaseFile) -> None:
    """The log is read in groups, without gap or repetition at their borders."""
    case.commit([Noted(event="HELD", fields={"number": number}) for number in range(1700)])
    numbers = [record["number"] for record in records(case) if record["event"] == "HELD"]
    assert numbers == list(range(1700))
