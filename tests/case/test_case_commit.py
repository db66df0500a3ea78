"""What facts become: rows, counters, records, all or nothing."""

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.case.casefile import CaseFile
from engine.case.storage import ContradictionError
from engine.models.document import Failure, PageUnit
from engine.models.facts import Fact, FilesFound, Noted, PagesDone
from engine.models.outcome import Outcome, Reason, RowState, SkipReason
from engine.models.run import DocumentRow, Tally
from tests.case.conftest import Clock
from tests.case.factory import (
    commit_all,
    dead,
    done,
    extracted,
    failed,
    file,
    found,
    probed,
    records,
    retried,
    struck,
)


def _rows(case: CaseFile) -> list[DocumentRow]:
    with case.reader() as reader:
        return list(reader.document_rows(1, 1000))


def test_the_manifest_is_dense_over_all_that_was_met(case: CaseFile) -> None:
    """Numbers run from 1 without gaps, left-out entries included, in the order of finding."""
    receipt = case.commit(
        [FilesFound(files=(file("a.pdf"), file("b.txt", skip=SkipReason.NOT_SELECTED), file("c.pdf")))]
    )
    assert [(row.doc_id, row.path, row.state) for row in _rows(case)] == [
        (1, "a.pdf", RowState.PENDING),
        (2, "b.txt", RowState.SKIPPED),
        (3, "c.pdf", RowState.PENDING),
    ]
    assert receipt.new_pending == 2
    assert (receipt.counts.documents.enumerated, receipt.counts.skipped) == (2, 1)
    assert _rows(case)[1].reason is SkipReason.NOT_SELECTED


def test_meeting_the_same_files_again_is_a_no_op(case: CaseFile) -> None:
    """Unchanged files get no second row, whatever their state; the next reconciliation says how many there were."""
    again = FilesFound(files=(file("a.pdf"), file("b.pdf"), file("c", skip=SkipReason.FIFO, mtime=8)))
    commit_all(case, Noted(event="RUN_STARTED"), again, probed(1), done(1, 1), probed(2))
    before = case.counts()
    receipt = commit_all(case, Noted(event="RUN_STARTED"), again)
    assert receipt.new_pending == 0
    assert receipt.counts.documents == before.documents
    assert len(_rows(case)) == 3
    case.commit([Noted(event="RECONCILED")])
    assert records(case)[-1]["files_known"] == 3


def test_a_pending_file_that_changed_is_taken_as_it_is_now(case: CaseFile) -> None:
    """Nobody has looked into it yet: size and time are corrected, and it stays the same document."""
    commit_all(case, found("a.pdf"), found("a.pdf", size=200, mtime=9))
    assert [(item.doc_id, item.size_bytes, item.mtime_ns) for item in case.pending_documents(0, 10)] == [(1, 200, 9)]
    assert case.counts().documents.enumerated == 1


@pytest.mark.parametrize("is_done", [False, True])
def test_a_file_that_changed_later_is_a_new_document(case: CaseFile, is_done: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """What was looked into keeps its record; the new version gets a number of its own, and its content is read."""
    commit_all(case, found("a.pdf"), probed(1))
    if is_done:
        case.commit([done(1, 1)])
    receipt = case.commit([found("a.pdf", mtime=6)])
    assert receipt.new_pending == 1
    assert [item.doc_id for item in case.pending_documents(0, 10)] == [2]
    assert case.commit([probed(2, "new content", mtime_ns=6)]).decisions[0].process
    commit_all(case, found("a.pdf"))
    assert [row.doc_id for row in _rows(case)] == [1, 2, 3]


def test_a_left_out_name_that_becomes_a_document_is_taken(case: CaseFile) -> None:
    """A link or a vanished name that is a file later is enumerated as a document."""
    case.commit([FilesFound(files=(file("a.pdf", skip=SkipReason.SYMBOLIC_LINK),))])
    assert case.commit([found("a.pdf")]).new_pending == 1
    case.commit([FilesFound(files=(file("a.pdf", skip=SkipReason.VANISHED),))])
    assert [row.state for row in _rows(case)] == [RowState.SKIPPED, RowState.PENDING, RowState.SKIPPED]


def test_the_same_path_twice_in_one_batch_is_one_document(case: CaseFile) -> None:
    """A source that names a file twice does not make two documents of it."""
    assert case.commit([found("a.pdf", "a.pdf")]).new_pending == 1


def test_impossible_times_of_files_do_not_stop_the_run(case: CaseFile) -> None:
    """Some file systems allow years that SQLite cannot hold: the document is taken, with the nearest time."""
    case.commit([found("a.pdf", mtime=10**23), found("b.pdf", mtime=-(10**23))])
    assert [item.mtime_ns for item in case.pending_documents(0, 10)] == [2**63 - 1, -(2**63)]
    assert case.commit([found("a.pdf", mtime=10**23)]).new_pending == 0


def test_pages_become_texts_rows_and_counts(case: CaseFile) -> None:
    """A document ends with its last page: extracted where at least one page is; texts are kept as given."""
    commit_all(case, found("a.pdf"))
    decision = case.commit([probed(1, pages=3, repaired=True)]).decisions[0]
    assert (decision.process, decision.duplicate_of) == (True, None)
    receipt = case.commit([done(1, extracted(2, "zwei ✓"), dead(1, Reason.TIME_LIMIT))])
    assert receipt.counts.pages == Tally(enumerated=3, extracted=1, dead_letter=1)
    assert receipt.counts.documents.terminal == 0
    receipt = case.commit([done(1, extracted(3, ""))])
    assert receipt.counts.documents == Tally(enumerated=1, extracted=1)
    assert receipt.counts.reasons == {Reason.TIME_LIMIT: 1}
    assert receipt.counts.reconciled
    (row,) = _rows(case)
    assert (row.outcome, row.page_count, row.pages_done, row.pages_dead, row.repaired) == (
        Outcome.EXTRACTED, 3, 3, 1, True,
    )  # fmt: skip
    with case.reader() as reader:
        assert [reader.page_text(1, page) for page in (1, 2, 3, 4)] == [None, "zwei ✓", "", None]


def test_a_document_without_any_extracted_page_is_a_dead_letter(case: CaseFile) -> None:
    """Its reason is that of most of its pages; its pages are counted, and it is not counted once more."""
    reasons = [Reason.CORRUPT_PAGE, Reason.TIME_LIMIT, Reason.TIME_LIMIT]
    commit_all(case, found("a.pdf"), probed(1, pages=3))
    receipt = case.commit([done(1, *(dead(page, reason) for page, reason in enumerate(reasons, start=1)))])
    assert receipt.counts.documents == Tally(enumerated=1, dead_letter=1)
    assert receipt.counts.reasons == {Reason.CORRUPT_PAGE: 1, Reason.TIME_LIMIT: 2}
    assert _rows(case)[0].reason is Reason.TIME_LIMIT
    assert records(case)[-1]["reason"] == "time_limit"


def test_of_equally_frequent_reasons_the_first_page_decides(case: CaseFile) -> None:
    """The same pages always give the same reason for the document."""
    commit_all(case, found("a.pdf"), probed(1, pages=2))
    case.commit([done(1, dead(2, Reason.CORRUPT_PAGE), dead(1, Reason.SIZE_LIMIT))])
    assert _rows(case)[0].reason is Reason.SIZE_LIMIT


def test_a_document_that_cannot_be_opened_has_one_dead_letter(case: CaseFile) -> None:
    """It has no pages, one record, one row to triage, and its envelope."""
    started = Noted(event="RUN_STARTED", fields={"sandbox": "landlock", "limits": "cpu memory", "parser": "P 1"})
    receipt = commit_all(case, started, found("a.pdf"), failed(1, Reason.ENCRYPTED, attempt=2))
    assert receipt.counts.documents == Tally(enumerated=1, dead_letter=1)
    assert receipt.counts.pages == Tally()
    assert receipt.counts.reasons == {Reason.ENCRYPTED: 1}
    with case.reader() as reader:
        (row,) = reader.dead_letter_rows(1, 10)
    assert (row.number, row.doc_id, row.page, row.reason, row.attempts) == (1, 1, None, Reason.ENCRYPTED, 2)
    assert row.posture == "sandbox landlock, limits cpu memory, parser P 1"
    assert (row.run, row.request_id, row.path) == (1, "FOIA-2026-0117", "a.pdf")


def test_a_dead_page_keeps_its_whole_envelope(case: CaseFile, clock: Clock) -> None:
    """Reason, class, signal, code, attempts, run, time and trace are there for triage, in the record and the row."""
    clock.seconds = 2
    crashed = Failure(reason=Reason.WORKER_CRASHED, signal=11, code=-4)
    commit_all(case, found("a.pdf"), probed(1, pages=2), done(1, dead(2, failure=crashed, attempt=2, dur_ms=50)))
    with case.reader() as reader:
        (row,) = reader.dead_letter_rows(1, 10)
    assert (row.page, row.signal, row.code, row.attempts, row.failure_class) == (2, 11, -4, 2, "structural")
    record = records(case)[-1]
    assert row.trace_id == record["trace_id"]
    assert row.at == record["ts"] == "2026-03-04T05:06:09.000089+00:00"
    assert (record["method"], record["chars"], record["text_sha256"], record["dur_ms"]) == ("none", 0, "", 50)


def test_a_document_that_fails_under_way_takes_its_unfinished_pages_along(case: CaseFile) -> None:
    """What was extracted stays; every other page becomes a dead letter for the same reason; the document ends."""
    commit_all(case, found("a.pdf"), probed(1, pages=5), done(1, 2, 4))
    receipt = case.commit([failed(1, Reason.SOURCE_VANISHED)])
    assert receipt.counts.pages == Tally(enumerated=5, extracted=2, dead_letter=3)
    assert receipt.counts.reasons == {Reason.SOURCE_VANISHED: 3}
    assert receipt.counts.documents == Tally(enumerated=1, extracted=1)
    buried = [record["page"] for record in records(case) if record["event"] == "DEAD_LETTER"]
    assert buried == [1, 3, 5]


def _snapshot(case: CaseFile) -> tuple[Any, ...]:
    with case.reader() as reader:
        return (
            case.counts(),
            reader.counts(),
            tuple(reader.audit_lines()),
            tuple(reader.document_rows(1, 100)),
            tuple(reader.dead_letter_rows(1, 100)),
            tuple(case.strikes(PageUnit(doc_id=0, page=0), 100)),
            case.info(),
        )


@pytest.mark.parametrize(
    "bad",
    [
        done(1, 1),
        done(1, 9),
        done(1, 2, 2),
        done(2, 1),
        done(99, 1),
        done(1, 2, 3, 4),
        probed(3),
        probed(4, "x", pages=0),
        failed(3),
        failed(99),
        retried(1, 1),
        retried(1, 7),
        retried(3, None),
        PagesDone(doc_id=1, results=(replace(extracted(2), text="half \ud83d"),)),
        PagesDone(doc_id=1, results=(replace(extracted(2), outcome=Outcome.DUPLICATE),)),
        PagesDone(doc_id=1, results=(replace(dead(2), failure=None),)),
        Noted(event="HELD", fields={"x": "\udc80"}),
    ],
)
def test_a_group_with_one_impossible_fact_leaves_no_trace(case: CaseFile, bad: Fact) -> None:
    """Whatever stands before it in the same transaction is gone with it, on disk and in memory; going on works."""
    commit_all(
        case, Noted(event="RUN_STARTED"), found("a.pdf", "b.pdf", "c.pdf", "d.pdf"), probed(1, pages=3), done(1, 1),
        failed(3),
    )  # fmt: skip
    before = _snapshot(case)
    good: list[Fact] = [
        found("new.pdf", root=b"/other"),
        done(1, dead(3)),
        retried(2, None),
        Noted(event="HELD", paused=True, sources=(b"/s",)),
    ]
    with pytest.raises(ContradictionError):
        case.commit([*good, bad])
    assert _snapshot(case) == before
    case.commit([*good, done(1, 2)])
    assert case.counts().documents.extracted == 1
    assert case.counts().audit_records == before[0].audit_records + 5


def test_a_second_outcome_of_a_page_is_refused_even_where_counts_would_allow_it(case: CaseFile) -> None:
    """The unique index stops what the counters cannot see, and what was said before still holds."""
    commit_all(case, found("a.pdf"), probed(1, pages=2), done(1, 1))
    with pytest.raises(ContradictionError, match="audit"):
        case.commit([done(1, extracted(1, "something else"))])
    with case.reader() as reader:
        assert reader.page_text(1, 1) == "text of page 1"


def test_pause_and_sources_outlast_the_program(case: CaseFile, path: Path) -> None:
    """The lasting pause, and which sources were not looked through to the end, are read back on opening."""
    commit_all(case, Noted(event="RUN_STARTED", sources=(b"/b", b"/a\xff")), Noted(event="HELD", paused=True))
    case.close()
    with CaseFile.open(path) as again:
        assert again.info().paused
        assert again.info().unfinished_sources == (b"/b", b"/a\xff")
        again.commit([Noted(event="ENUMERATED", sources=(b"/b",), enumerated=True)])
        assert again.info().unfinished_sources == (b"/a\xff",)  # one that was not named is not finished by it
        again.commit([Noted(event="ENUMERATED", sources=(b"/a\xff",), enumerated=True)])
        again.commit([Noted(event="RELEASED", paused=False)])
        assert not again.info().paused
        assert again.info().unfinished_sources == ()
        assert again.info().sources == 2
        again.commit([Noted(event="RUN_STARTED", sources=(b"/b",))])
        assert again.info().unfinished_sources == (b"/b",)


def test_a_reconciliation_states_the_counts_of_the_case_itself(case: CaseFile) -> None:
    """Whatever the note said: the numbers in the record are those of the same transaction."""
    commit_all(case, found("a.pdf", "b.pdf"), probed(1), done(1, 1))
    case.commit([Noted(event="RECONCILED", fields={"reconciled": True, "documents_enumerated": 77})])
    record = records(case)[-1]
    assert record["reconciled"] is False
    assert (record["documents_enumerated"], record["documents_extracted"], record["documents_pending"]) == (2, 1, 1)
    case.commit([failed(2), Noted(event="RECONCILED")])
    assert records(case)[-1]["reconciled"] is True


def test_a_case_is_not_reconciled_before_its_sources_are_looked_through(case: CaseFile) -> None:
    """Everything found is done, and more may be found: counts and record say so, after opening again, too."""
    commit_all(case, Noted(event="RUN_STARTED", sources=(b"/a", b"/b")), found("a.pdf"), probed(1), done(1, 1))
    case.commit([Noted(event="RECONCILED")])
    case.close()
    with CaseFile.open(case.path) as again:
        assert again.counts().unfinished_sources == 2
        assert not again.counts().reconciled
        assert (records(again)[-1]["reconciled"], records(again)[-1]["unfinished_sources"]) == (False, 2)
        again.commit([Noted(event="ENUMERATED", sources=(b"/a", b"/b"), enumerated=True), Noted(event="RECONCILED")])
        assert again.counts().reconciled
        assert records(again)[-1]["reconciled"] is True


def test_strikes_count_until_there_is_a_terminal_record(case: CaseFile) -> None:
    """Strikes of pages and documents add up over transactions, and are no longer told of what has its record."""
    commit_all(case, found("a.pdf", "b.pdf"), retried(1, None), probed(1, pages=3), retried(1, 2), retried(1, 3))
    commit_all(case, retried(1, 2, attempt=2), done(1, 3), retried(2, None))
    first = PageUnit(doc_id=0, page=0)
    assert struck(case) == {(1, 0): 1, (1, 2): 2, (2, 0): 1}
    assert [row.unit.page for row in case.strikes(first, 10)] == [0, 2, 0]
    assert [row.unit.page for row in case.strikes(PageUnit(doc_id=1, page=0), 1)] == [2]
    retries = [record for record in records(case) if record["event"] == "RETRY"]
    assert [(record["doc_id"], record.get("page"), record["attempt"]) for record in retries][3] == ("D0000001", 2, 2)


def test_a_huge_document_fails_in_bounded_memory(case: CaseFile) -> None:
    """A document of 2,000 pages ends in one transaction without a list of all its pages or records in memory."""
    pages = 2_000
    commit_all(case, found("binder.pdf", "copy.pdf"), probed(1, pages=pages), probed(2, "document 1", pages=pages))
    tracemalloc.start()
    try:
        counts = case.commit([failed(1, Reason.TIME_LIMIT)]).counts
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert counts.pages == Tally(enumerated=2 * pages, dead_letter=pages, duplicate=pages)
    assert counts.reconciled
    assert peak < 1024 * 1024  # the records alone are 3.6 MB


def test_nothing_to_commit_writes_nothing(case: CaseFile) -> None:
    """An empty group costs no transaction and gives the counts."""
    case.commit([found("a.pdf")])
    assert case.commit([]).counts == case.counts()
