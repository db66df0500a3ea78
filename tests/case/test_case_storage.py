"""A disk that fails: nothing half, nothing acknowledged lost, no going on where it proves nothing."""

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from engine.case.casefile import CaseFile
from engine.case.storage import CACHE_KIB
from engine.case.writer import CaseWriter
from engine.errors import CaseDamagedError, StorageError
from tests.case.factory import commit_all, done, extracted, found, probed

BIG = "text that fills the disk " * 4000


def _writer(case: CaseFile) -> CaseWriter:
    assert case._writer is not None
    return case._writer


def test_a_full_disk_stops_and_then_goes_on(case: CaseFile) -> None:
    """SQLite's own limit stands in for the disk: nothing of the group is kept, and with room again the case goes on."""
    commit_all(case, found("a.pdf"), probed(1, pages=40), done(1, 1))
    before = case.counts()
    connection = _writer(case)._connection
    connection.pragma("max_page_count", connection.pragma("page_count") + 3)
    for _ in range(2):
        with pytest.raises(StorageError, match=r"is full.*Everything acknowledged so far is kept"):
            case.commit([done(1, *(extracted(page, BIG) for page in range(2, 30)))])
        assert case.counts() == before
    with case.reader() as reader:
        assert reader.counts() == before
    connection.pragma("max_page_count", 2**30)
    assert case.commit([done(1, *(extracted(page, BIG) for page in range(2, 41)))]).counts.reconciled
    case.close()
    with CaseFile.open(case.path) as again:
        assert again.info().note == ""


def test_a_new_case_keeps_no_more_of_its_file_in_memory_than_it_may(case: CaseFile) -> None:
    """The writer's cache has its bound from the first run on, though the file had no pages when it was set."""
    commit_all(case, found("a.pdf"), probed(1, pages=400))
    for first in range(1, 401, 20):
        case.commit([done(1, *(extracted(page, "x" * 40_000) for page in range(first, first + 20)))])
    used_bytes, _ = _writer(case)._connection.status(apsw.SQLITE_DBSTATUS_CACHE_USED)
    assert CACHE_KIB * 512 < used_bytes < CACHE_KIB * 1024 * 1.1  # 16 MB were written


LIMITED = """
import resource, sys
from pathlib import Path
from engine.case.casefile import CaseFile
from engine.errors import StorageError
from tests.case.factory import commit_all, done, extracted, found, probed

case = CaseFile.create(Path(sys.argv[1]), request_id="R")
commit_all(case, found("a.pdf"), probed(1, pages=4000))
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, resource.RLIM_INFINITY))
acknowledged = 0
sentences = []
for page in range(1, 4001):
    try:
        case.commit([done(1, extracted(page, "x" * 20_000))])
        acknowledged = page
    except StorageError as error:
        sentences.append(str(error))
        if len(sentences) == 2:
            break
print(acknowledged)
print(sentences[0] == sentences[1])
print(sentences[0])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
try:
    case.commit([done(1, 4000)])
    print("went on")
except StorageError:
    print("stopped")
case.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are a thing of POSIX")
def test_after_an_error_of_the_disk_nothing_is_written_until_the_case_is_opened_again(path: Path) -> None:
    """A limit on the size of files makes real I/O errors: what was acknowledged is there, what failed is not."""
    ended = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    acknowledged, is_same, sentence, after = ended.stdout.splitlines()
    assert int(acknowledged) > 0
    assert (is_same, after) == ("True", "stopped")
    assert "the disk reported an error" in sentence
    assert str(path.name) in sentence
    with CaseFile.open(path) as case:
        assert case.info().note != ""
        assert case.pending_pages(1, 0, 1) == [int(acknowledged) + 1]
        assert case.commit([done(1, int(acknowledged) + 1)]).counts.pages.extracted == int(acknowledged) + 1


def test_damage_found_while_writing_forbids_further_writing(case: CaseFile) -> None:
    """Rubbish in the file under the writer's feet: a sentence, and from then on a refusal."""
    commit_all(case, found(*(f"{number}.pdf" for number in range(600))))
    _writer(case)._connection.wal_checkpoint(mode=3)
    _writer(case)._connection.pragma("shrink_memory")
    size = case.path.stat().st_size
    with case.path.open("r+b") as file:
        for start in range(16384, size, 16384):
            file.seek(start)
            file.write(b"\xa5" * 16384)
    with pytest.raises(CaseDamagedError, match="damaged"):
        commit_all(case, *(found(f"{number}.pdf", mtime=9) for number in range(600)))
    with pytest.raises(StorageError, match="damaged"):
        case.commit([found("more.pdf")])
