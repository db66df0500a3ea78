"""What was in work for long when the application died: one strike each time, none for what had come to an end."""

from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.storage import ContradictionError
from engine.case.verify import verify_file
from engine.models.document import PageUnit
from engine.models.facts import Noted
from engine.models.outcome import Reason
from tests.case.factory import commit_all, dead, done, failed, found, probed, records, retried, slow, struck

STARTED = Noted(event="RUN_STARTED")


def test_a_page_that_was_in_work_when_the_application_died_is_struck_once_for_each_time(case: CaseFile) -> None:
    """The next run counts one strike, with its record; the one after that no more, unless it was in work again."""
    commit_all(case, STARTED, found("a.pdf"), probed(1, pages=3), slow(1, 2), slow(1, 2))
    assert struck(case) == {}
    commit_all(case, STARTED)
    assert struck(case) == {(1, 2): 1}
    commit_all(case, STARTED, STARTED)
    assert struck(case) == {(1, 2): 1}
    commit_all(case, slow(1, 2), STARTED)
    assert struck(case) == {(1, 2): 2}
    retries = [record for record in records(case) if record["event"] == "RETRY"]
    assert [(record["page"], record["reason"], record["attempt"]) for record in retries] == [
        (2, "worker_lost", 1),
        (2, "worker_lost", 2),
    ]
    assert [record["run"] for record in retries] == [2, 5]


def test_a_death_is_told_from_another_failed_try(case: CaseFile) -> None:
    """What ended its worker, or could not be read, counts as a strike; only what ended the application as a death."""
    commit_all(case, STARTED, found("a.pdf"), probed(1, pages=3), retried(1, 2, Reason.TIME_LIMIT), slow(1, 2), STARTED)
    (row,) = case.strikes(PageUnit(doc_id=0, page=0), 10)
    assert (row.count, row.deaths) == (2, 1)


def test_a_document_that_was_in_work_when_the_application_died_is_struck(case: CaseFile) -> None:
    """A look into a document that took the application down counts against the document as a whole."""
    commit_all(case, STARTED, found("a.pdf", "b.pdf"), slow(2, None), STARTED)
    assert struck(case) == {(2, 0): 1}
    (retry,) = (record for record in records(case) if record["event"] == "RETRY")
    assert retry["doc_id"] == "D0000002"
    assert "page" not in retry


@pytest.mark.parametrize(
    "ended",
    [
        [done(1, 2)],
        [done(1, dead(2))],
        [retried(1, 2, Reason.TIME_LIMIT)],
        [failed(1, Reason.SOURCE_VANISHED)],
        [Noted(event="RUN_ENDED")],
    ],
)
def test_what_had_come_to_an_end_is_not_suspected(case: CaseFile, ended: list[object]) -> None:
    """A page with its outcome, one already struck and counted, and anything in a run that ended, is not struck."""
    commit_all(case, STARTED, found("a.pdf"), probed(1, pages=3), slow(1, 2), *ended)
    before = struck(case)
    commit_all(case, STARTED)
    assert struck(case) == before


def test_a_document_whose_pages_are_known_is_no_longer_suspected_for_the_look_into_it(case: CaseFile) -> None:
    """The look ended well: an application that dies over its pages does not count against the document."""
    commit_all(case, STARTED, found("a.pdf"), slow(1, None), probed(1, pages=3), STARTED)
    assert struck(case) == {}


def test_suspicion_outlives_the_process(path: Path, tmp_path: Path) -> None:
    """Suspects stand in the file: a case opened again strikes them, and its log verifies with the strikes in it."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, STARTED, found("a.pdf", "b.pdf"), probed(1, pages=3), slow(1, 3), slow(2, None))
    with CaseFile.open(path) as case:
        commit_all(case, STARTED)
        assert struck(case) == {(1, 3): 1, (2, 0): 1}
        commit_all(case, done(1, 1, 2, dead(3)), failed(2), Noted(event="RECONCILED"))
        assert struck(case) == {}
        with case.reader() as reader:
            export_audit(reader, tmp_path / "log.jsonl")
    report = verify_file(tmp_path / "log.jsonl")
    assert report.ok, report.problems


def test_a_suspicion_must_name_what_is_there(case: CaseFile) -> None:
    """A page that the document does not have, or a document that the case does not have, is a fault of ours."""
    commit_all(case, found("a.pdf"), probed(1, pages=3))
    for impossible in (slow(1, 4), slow(1, 0), slow(2, None)):
        with pytest.raises(ContradictionError):
            case.commit([impossible])
