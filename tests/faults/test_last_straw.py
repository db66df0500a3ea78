"""A page that takes the whole application down does so twice, not for ever."""

import contextlib
import sys
import time
from pathlib import Path

import apsw
import pytest

from engine.models.outcome import Reason
from engine.models.run import WorkerView
from engine.pipeline.suspicion import SLOW_S, Suspicion
from tests.faults import program
from tests.support import pdfs
from tests.support.runs import assert_one_terminal_record_each, golden_set, records_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX signal")


def suspects(case: Path, run: int) -> int:
    """Return how many pages a run notes as in work for long, while another process writes the case."""
    if not case.exists():
        return 0
    with contextlib.closing(apsw.Connection(str(case), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        connection.set_busy_timeout(5000)
        if not connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'suspects'").get:
            return 0
        return int(connection.execute("SELECT count(*) FROM suspects, state WHERE run = ?", (run,)).get)


@pytest.mark.slow
@pytest.mark.fault(12)
def test_a_page_in_work_each_time_the_application_dies_is_not_tried_a_third_time(tmp_path: Path) -> None:
    """Killed twice over the same page: the third run leaves that page alone, and everything else is extracted."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    pdfs.batch(folder, documents=3, pages_each=4, seed=3)
    pdfs.never_ending_pdf(folder / "straw.pdf", pages=3, bad_page=2)
    for run in (1, 2):
        process = program.start(case, folder, tmp_path, ("--page-clock", "600s"))
        while not suspects(case, run):
            assert process.poll() is None, program.ending(process)
            time.sleep(0.05)  # between two looks
        process.kill()
        program.ending(process)
        program.assert_no_process_left(tmp_path)
    program.finish(case, folder, tmp_path, ("--page-clock", "600s"))
    assert_one_terminal_record_each(case)
    dead = [record for record in records_of(case) if record["event"] == "DEAD_LETTER"]
    assert [(record["page"], record["reason"], record["attempt"]) for record in dead] == [(2, Reason.WORKER_CRASHED, 2)]
    retries = [record for record in records_of(case) if record["event"] == "RETRY"]
    assert [(record["page"], record["reason"]) for record in retries] == [(2, Reason.WORKER_LOST)] * 2
    assert len([page for _, page, outcome, _ in golden_set(case) if page and outcome == "EXTRACTED"]) == 14
    resumed = [record for record in records_of(case) if record["event"] == "RESUMED"]
    assert [record["recovered"] for record in resumed] == [True, True]


def worker_view(number: int, doc_id: int | None, page: int | None) -> WorkerView:
    """Return a worker that is at a page."""
    return WorkerView(number=number, pid=number, doc_id=doc_id, page=page, busy_s=0.0, rss_bytes=0, pages_done=0)


def test_only_what_stays_in_work_is_noted_and_only_once() -> None:
    """Pages that come and go are not written down; one that stays is, once; a worker without work never."""
    noted: list[tuple[int, int | None]] = []
    now_s = 0.0
    suspicion = Suspicion(lambda fact: noted.append((fact.doc_id, fact.page)), lambda: now_s)
    for step in range(6):
        now_s = step * SLOW_S / 2
        suspicion.look(
            [
                worker_view(number=1, doc_id=7, page=3),
                worker_view(number=2, doc_id=8, page=step + 1),
                worker_view(number=3, doc_id=9, page=None),
                worker_view(number=4, doc_id=None, page=None),
            ]
        )
        assert not suspicion.stuck
    assert noted == [(7, 3), (9, None)]
    suspicion.look([])
    now_s += SLOW_S
    suspicion.look([worker_view(number=1, doc_id=7, page=3)])
    now_s += SLOW_S
    suspicion.look([worker_view(number=1, doc_id=7, page=3)])
    assert noted[2:] == [(7, 3)]
    assert suspicion.stuck
