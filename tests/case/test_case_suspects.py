"""What was in work for long when the application died: one strike each time, none for what had come to an end."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.lock import CaseLock
from engine.case.storage import ContradictionError
from engine.case.verify import verify_file
from engine.models.document import PageUnit
from engine.models.facts import Noted
from engine.models.outcome import Reason
from tests.case.factory import commit_all, dead, done, failed, found, killed, probed, records, retried, slow, struck

STARTED = Noted(event="RUN_STARTED")

FULL = """
import resource, signal, sys
from pathlib import Path
from engine.case.casefile import CaseFile
from engine.errors import StorageError
from engine.models.facts import Noted
from tests.case.factory import commit_all, extracted, done, slow

case = CaseFile.open(Path(sys.argv[1]))
commit_all(case, Noted(event="RUN_STARTED"), slow(1, 2))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
try:
    case.commit([Noted(event="RUN_ENDED")])
except StorageError:
    case.close()
    raise SystemExit(0)
raise SystemExit("the disk was not full")
"""


def _after_death(case: CaseFile, *facts: object, name: str = "killed.sluice") -> CaseFile:
    """Open the case as a kill would leave it now, and commit facts."""
    opened = CaseFile.open(killed(case, name))
    commit_all(opened, *facts)
    return opened


def test_a_page_that_was_in_work_when_the_application_died_is_struck_once_for_each_time(case: CaseFile) -> None:
    """The next run counts one strike, with its record; the one after that no more, unless it was in work again."""
    commit_all(case, STARTED, found("a.pdf"), probed(1, pages=3), slow(1, 2), slow(1, 2))
    assert struck(case) == {}
    with _after_death(case, STARTED) as second:
        assert struck(second) == {(1, 2): 1}
        commit_all(second, STARTED, STARTED)
        assert struck(second) == {(1, 2): 1}
        commit_all(second, slow(1, 2))
        with _after_death(second, STARTED, name="again.sluice") as third:
            assert struck(third) == {(1, 2): 2}
            retries = [record for record in records(third) if record["event"] == "RETRY"]
    assert [(record["page"], record["reason"], record["attempt"]) for record in retries] == [
        (2, "worker_lost", 1),
        (2, "worker_lost", 2),
    ]
    assert [record["run"] for record in retries] == [2, 5]


def test_a_run_that_could_not_say_that_it_ended_strikes_nothing(path: Path) -> None:
    """The application lives: neither the next run in it, nor one after a close in order, blames what was in work."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, STARTED, found("a.pdf"), probed(1, pages=3), slow(1, 2), STARTED)
        assert struck(case) == {}
        commit_all(case, slow(1, 2))
    with CaseFile.open(path) as case:
        commit_all(case, STARTED)
        assert struck(case) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on the size of files stands in for the full disk")
def test_a_full_disk_is_no_strike_however_often(path: Path) -> None:
    """Runs that found the disk full let go of the case, though nothing could be written: the page is not blamed."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, found("a.pdf"), probed(1, pages=3))
    for _ in range(2):
        subprocess.run([sys.executable, "-c", FULL, str(path)], check=True)
        assert not path.with_name(path.name + ".lock").exists()
    with CaseFile.open(path) as case:
        assert case.info().recovered
        commit_all(case, STARTED)
        assert struck(case) == {}
    assert not path.with_name(path.name + ".lock").exists()


def test_a_death_is_not_forgotten_by_who_only_looks(case: CaseFile) -> None:
    """A case opened and closed without a run, or not opened after all, still strikes in the next run, once."""
    commit_all(case, STARTED, found("a.pdf"), probed(1, pages=3), slow(1, 2))
    dead_one = killed(case)
    lock = CaseLock(dead_one)
    assert lock.died
    lock.release()
    CaseFile.open(dead_one).close()
    assert not dead_one.with_name(dead_one.name + ".lock").exists()
    for _ in range(2):
        with CaseFile.open(dead_one) as opened:
            commit_all(opened, STARTED)
            assert struck(opened) == {(1, 2): 1}


def test_a_lock_that_stays_behind_empty_tells_of_no_death(path: Path) -> None:
    """Where its file cannot be removed, it is emptied, and the next owner sees that the case was let go of."""
    CaseFile.create(path, request_id="R").close()
    path.with_name(path.name + ".lock").touch()
    lock = CaseLock(path)
    assert not lock.died
    lock.release()


def test_a_death_is_told_from_another_failed_try(case: CaseFile) -> None:
    """What ended its worker, or could not be read, counts as a strike; only what ended the application as a death."""
    commit_all(case, STARTED, found("a.pdf"), probed(1, pages=3), retried(1, 2, Reason.TIME_LIMIT), slow(1, 2))
    with _after_death(case, STARTED) as opened:
        (row,) = opened.strikes(PageUnit(doc_id=0, page=0), 10)
    assert (row.count, row.deaths) == (2, 1)


def test_a_document_that_was_in_work_when_the_application_died_is_struck(case: CaseFile) -> None:
    """A look into a document that took the application down counts against the document as a whole."""
    commit_all(case, STARTED, found("a.pdf", "b.pdf"), slow(2, None))
    with _after_death(case, STARTED) as opened:
        assert struck(opened) == {(2, 0): 1}
        (retry,) = (record for record in records(opened) if record["event"] == "RETRY")
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
    with _after_death(case, STARTED) as opened:
        assert struck(opened) == before


def test_a_document_whose_pages_are_known_is_no_longer_suspected_for_the_look_into_it(case: CaseFile) -> None:
    """The look ended well: an application that dies over its pages does not count against the document."""
    commit_all(case, STARTED, found("a.pdf"), slow(1, None), probed(1, pages=3))
    with _after_death(case, STARTED) as opened:
        assert struck(opened) == {}


def test_the_log_with_the_strikes_of_a_death_verifies(case: CaseFile, tmp_path: Path) -> None:
    """What was struck after a death ends as anything else, and the whole log is in order."""
    commit_all(case, STARTED, found("a.pdf", "b.pdf"), probed(1, pages=3), slow(1, 3), slow(2, None))
    with _after_death(case, STARTED) as opened:
        assert struck(opened) == {(1, 3): 1, (2, 0): 1}
        commit_all(opened, done(1, 1, 2, dead(3)), failed(2), Noted(event="RECONCILED"))
        assert struck(opened) == {}
        with opened.reader() as reader:
            export_audit(reader, tmp_path / "log.jsonl")
    report = verify_file(tmp_path / "log.jsonl")
    assert report.ok, report.problems


def test_a_suspicion_must_name_what_is_there(case: CaseFile) -> None:
    """A page that the document does not have, or a document that the case does not have, is a fault of ours."""
    commit_all(case, found("a.pdf"), probed(1, pages=3))
    for impossible in (slow(1, 4), slow(1, 0), slow(2, None)):
        with pytest.raises(ContradictionError):
            case.commit([impossible])
