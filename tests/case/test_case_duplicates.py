"""The same bytes again: a no-op that the log proves, and never at the price of a page."""

import hashlib

import pytest

from engine.case.casefile import CaseFile
from engine.models.document import Failure
from engine.models.facts import Noted
from engine.models.outcome import Outcome, Reason, RowState
from engine.models.run import DocumentRow, Tally
from tests.case.factory import commit_all, dead, done, failed, found, probed, records


def _row(case: CaseFile, doc_id: int) -> DocumentRow:
    with case.reader() as reader:
        return reader.document_rows(doc_id, 1)[0]


def test_a_copy_of_a_finished_document_is_a_duplicate_at_once(case: CaseFile) -> None:
    """Its pages and itself get their terminal records with the probe, and nothing is to be processed."""
    commit_all(case, found("a.pdf", "b.pdf"), probed(1, "same", pages=2), done(1, 1, 2))
    receipt = case.commit([probed(2, "same", pages=2)])
    (decision,) = receipt.decisions
    assert (decision.doc_id, decision.process, decision.duplicate_of) == (2, False, 1)
    assert receipt.counts.documents == Tally(enumerated=2, extracted=1, duplicate=1)
    assert receipt.counts.pages == Tally(enumerated=4, extracted=2, duplicate=2)
    assert receipt.counts.reconciled
    assert (_row(case, 2).outcome, _row(case, 2).duplicate_of) == (Outcome.DUPLICATE, 1)
    pages = [record for record in records(case) if record["event"] == "DUPLICATE"]
    assert [(record["page"], record["duplicate_of"], record["chars"]) for record in pages] == [
        (1, "D0000001", 0),
        (2, "D0000001", 0),
    ]
    key = hashlib.sha256(hashlib.sha256(b"same").digest() + b"FOIA-2026-0117").hexdigest()
    assert {record["key"] for record in records(case) if "key" in record} == {key}


def test_a_copy_waits_for_a_document_under_way(case: CaseFile) -> None:
    """It is neither processed nor done until the other one is; then both end in one transaction."""
    commit_all(case, found("a.pdf", "b.pdf", "c.pdf"), probed(1, "same", pages=2))
    receipt = case.commit([probed(2, "same", pages=2), probed(3, "same", pages=2), done(1, 1)])
    assert [(item.process, item.duplicate_of) for item in receipt.decisions] == [(False, 1), (False, 1)]
    assert _row(case, 2).state is RowState.WAITING
    assert not case.pending_documents(0, 10)
    assert [item.doc_id for item in case.open_documents(0, 10)] == [1]
    assert receipt.counts.pages == Tally(enumerated=2, extracted=1)
    receipt = case.commit([done(1, 2)])
    assert receipt.counts.documents == Tally(enumerated=3, extracted=1, duplicate=2)
    assert receipt.counts.pages == Tally(enumerated=6, extracted=2, duplicate=4)
    assert receipt.new_pending == 0
    assert [_row(case, number).state for number in (1, 2, 3)] == [RowState.DONE] * 3


def test_original_copy_and_end_in_one_transaction(case: CaseFile) -> None:
    """The order within a group is kept: what a group opens, copies and ends is decided fact by fact."""
    case.commit([found("a.pdf", "b.pdf", "c.pdf")])
    receipt = case.commit([probed(1, "same"), probed(2, "same"), done(1, 1), probed(3, "same")])
    assert [(item.process, item.duplicate_of) for item in receipt.decisions] == [(True, None), (False, 1), (False, 1)]
    assert receipt.counts.documents == Tally(enumerated=3, extracted=1, duplicate=2)


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason.blames_source])
def test_a_copy_is_tried_itself_where_the_source_of_the_original_failed(case: CaseFile, reason: Reason) -> None:
    """The bytes are not to blame: the waiting copies become pending again, the first one to be probed goes on."""
    commit_all(case, found("a.pdf", "b.pdf", "c.pdf"), probed(1, "same", pages=2), probed(2, "same", pages=2))
    commit_all(case, probed(3, "same", pages=2))
    receipt = case.commit([failed(1, reason)])
    assert receipt.new_pending == 2
    assert [item.doc_id for item in case.pending_documents(0, 10)] == [2, 3]
    assert _row(case, 2).duplicate_of is None
    receipt = case.commit([probed(3, "same", pages=2), probed(2, "same", pages=2)])
    assert [(item.process, item.duplicate_of) for item in receipt.decisions] == [(True, None), (False, 3)]
    receipt = case.commit([done(3, 1, 2)])
    assert receipt.counts.documents == Tally(enumerated=3, extracted=1, dead_letter=1, duplicate=1)
    assert receipt.counts.pages == Tally(enumerated=6, extracted=2, dead_letter=2, duplicate=2)
    assert receipt.counts.reconciled


@pytest.mark.parametrize("reason", [reason for reason in Reason if not reason.blames_source])
def test_a_copy_is_not_tried_where_its_bytes_are_to_blame(case: CaseFile, reason: Reason) -> None:
    """What the bytes did once they would do again: waiting and later copies are duplicates of the dead letter."""
    commit_all(case, found("a.pdf", "b.pdf", "c.pdf"), probed(1, "same"), probed(2, "same"), done(1, dead(1, reason)))
    receipt = case.commit([probed(3, "same")])
    assert receipt.decisions[0].duplicate_of == 1
    assert receipt.counts.documents == Tally(enumerated=3, dead_letter=1, duplicate=2)


def test_no_page_is_lost_to_an_original_that_lost_it_to_its_source(case: CaseFile) -> None:
    """An original that is extracted in part, and whose other pages its file cost, is nobody's original."""
    commit_all(case, found("a.pdf", "b.pdf", "c.pdf"), probed(1, "same", pages=2), probed(2, "same", pages=2))
    case.commit([done(1, 1, dead(2, Reason.SOURCE_CHANGED))])
    assert _row(case, 1).outcome is Outcome.EXTRACTED
    assert case.commit([probed(2, "same", pages=2)]).decisions[0].process
    assert case.commit([probed(3, "same", pages=2)]).decisions[0].duplicate_of == 2


def test_a_document_that_could_not_be_opened_is_nobodys_original(case: CaseFile) -> None:
    """Nothing is known of its bytes: a file with the same name or size is looked into."""
    commit_all(case, found("a.pdf", "b.pdf"), failed(1, Reason.NOT_A_PDF))
    assert case.commit([probed(2, "same")]).decisions[0].process


def test_a_waiting_copy_that_vanishes_is_a_dead_letter_of_its_own(case: CaseFile) -> None:
    """It has no pages then, and the original neither waits for it nor answers it."""
    commit_all(case, found("a.pdf", "b.pdf"), probed(1, "same", pages=2), probed(2, "same", pages=2))
    receipt = commit_all(case, failed(2, Reason.SOURCE_VANISHED), done(1, 1, 2))
    assert receipt.counts.documents == Tally(enumerated=2, extracted=1, dead_letter=1)
    assert receipt.counts.reasons == {Reason.SOURCE_VANISHED: 1}
    assert receipt.counts.reconciled


def test_a_waiting_copy_that_fails_for_another_reason_leaves_the_original_alone(case: CaseFile) -> None:
    """A fault of the program with a copy must not take the place of the original."""
    commit_all(case, found("a.pdf", "b.pdf", "c.pdf"), probed(1, "same"), probed(2, "same"))
    commit_all(case, failed(2, Reason.INTERNAL_ERROR), done(1, 1))
    assert case.commit([probed(3, "same")]).decisions[0].duplicate_of == 1


def test_many_waiting_copies_end_together(case: CaseFile) -> None:
    """More copies than are read at a time all get their records with the original's end."""
    names = [f"copy {number}.pdf" for number in range(350)]
    case.commit([found(*names)])
    case.commit([probed(number, "same", pages=2) for number in range(1, 351)])
    receipt = case.commit([done(1, 1, 2)])
    assert receipt.counts.documents == Tally(enumerated=350, extracted=1, duplicate=349)
    assert receipt.counts.pages == Tally(enumerated=700, extracted=2, duplicate=698)


def test_waiting_outlasts_the_program(case: CaseFile, path: object) -> None:
    """A copy that waited when the program ended is answered when the original ends in a later run."""
    commit_all(case, found("a.pdf", "b.pdf"), probed(1, "same"), probed(2, "same"))
    case.close()
    with CaseFile.open(case.path) as again:
        again.commit([Noted(event="RUN_STARTED"), done(1, 1)])
        assert again.counts().documents == Tally(enumerated=2, extracted=1, duplicate=1)


def test_other_requests_are_other_cases(case: CaseFile) -> None:
    """The key of the same bytes differs between requests."""
    commit_all(case, found("a.pdf"), probed(1, "same"), done(1, 1))
    with CaseFile.create(case.path.with_name("other.sluice"), request_id="another") as other:
        commit_all(other, found("a.pdf"), probed(1, "same"), done(1, 1))
        assert records(other)[0]["key"] != records(case)[0]["key"]
        assert records(other)[0]["doc_sha256"] == records(case)[0]["doc_sha256"]


def test_failure_records_name_signal_and_code_only_where_there_is_one(case: CaseFile) -> None:
    """A field that says nothing is left out."""
    failure = Failure(reason=Reason.WORKER_CRASHED, signal=9)
    commit_all(case, found("a.pdf"), probed(1), done(1, dead(1, failure=failure)))
    record = records(case)[0]
    assert record["signal"] == 9
    assert "code" not in record
