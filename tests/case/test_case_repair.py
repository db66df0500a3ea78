"""A damaged case is repaired into a new file: what is kept is the old log byte for byte, and a resume does the rest.

The seeds of the random damage are fixed; `SLUICEGATE_TEST_SEED` tries another one.
"""

import asyncio
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from engine.case.casefile import CaseFile
from engine.case.checkpoints import CheckpointLedger
from engine.case.export import export_audit
from engine.case.journal import Checkpoint
from engine.case.reader import CaseReader
from engine.case.repair import RepairReport, repair
from engine.case.soundness import is_sound
from engine.case.storage import has_log
from engine.case.verify import verify_file
from engine.errors import CaseDamagedError, CaseError, CaseInUseError, StorageError
from engine.models.facts import FilesFound, Noted
from engine.models.outcome import SkipReason
from tests.case.factory import (
    commit_all,
    dead,
    done,
    extracted,
    failed,
    file,
    found,
    killed,
    outcomes,
    probed,
    records,
    retried,
    slow,
    struck,
    without_guard,
)
from tests.support.runs import (
    GoldenSet,
    assert_one_terminal_record_each,
    golden_set,
    open_run,
    run_once,
    small_flow,
    write_documents,
)
from tests.support.wordy_extractor import WordyExtractor

PAGE = 16384
SEEDS = (
    [int(os.environ["SLUICEGATE_TEST_SEED"])]
    if "SLUICEGATE_TEST_SEED" in os.environ
    else [1, *(pytest.param(seed, marks=pytest.mark.whole) for seed in (2, 3, 4))]
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the cases to repair are killed with SIGKILL")

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.support.runs import run_once, small_flow
from tests.support.wordy_extractor import WordyExtractor

extractor = WordyExtractor(120, lambda: os.kill(os.getpid(), signal.SIGKILL))
asyncio.run(run_once(Path(sys.argv[1]), Path(sys.argv[2]), extractor, small_flow()))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch, what an undisturbed run makes of it, and cases of it to damage."""

    folder: Path
    expected: GoldenSet
    finished: Path
    """A folder with a case that was done and closed."""
    killed: Path
    """A folder with a case whose program was killed in the middle of a second run."""


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """Give the batch; its cases are copied before they are damaged."""
    place = tmp_path_factory.mktemp("batch")
    folder = write_documents(place / "in", [1, 30, 0, 40, 7, 16, 17, 25, 3, 60, 0, 12, 33, 5, 21, 18, 9, 44])
    (folder / "notes.txt").write_text("left out")
    (folder / "zz copy of 4.pdf").write_bytes((folder / "000004.pdf").read_bytes())
    for name in ("finished", "killed"):
        (place / name).mkdir()
    finished, killed = place / "finished" / "case.sluice", place / "killed" / "case.sluice"
    asyncio.run(run_once(finished, folder, WordyExtractor(), small_flow()))
    asyncio.run(_stopped_run(killed, folder))
    assert subprocess.run([sys.executable, "-c", KILLED, str(killed), str(folder)], check=False).returncode == -9
    assert killed.with_name("case.sluice-wal").stat().st_size > 0
    return Batch(folder=folder, expected=golden_set(finished), finished=finished.parent, killed=killed.parent)


async def _stopped_run(case: Path, folder: Path) -> None:
    """Run until a third of the pages is done; the case is closed then."""
    extractor = WordyExtractor(100)
    async with open_run(case, folder, extractor, small_flow()) as run:
        extractor.act = run.stop
        await run.execute()


def _lines(case: Path) -> list[bytes]:
    with CaseReader(case) as reader:
        return [reader.identity.line, *reader.audit_lines()]


def _contents(folder: Path) -> dict[str, str]:
    names = (
        name for name in folder.iterdir() if name.suffix != ".lock"
    )  # its owner is dead, and it goes with the lock
    return {name.name: hashlib.sha256(name.read_bytes()).hexdigest() for name in names}


def _verify(case: Path) -> None:
    out = case.with_name("audit.jsonl")
    with CaseReader(case) as reader:
        _, head = export_audit(reader, out)
    report = verify_file(out, expect_head=head)
    assert report.ok, report.problems


def _damage_repair_resume(
    batch: Batch, original: Path, place: Path, damage: Callable[[Path], object], least: int = 0
) -> RepairReport:
    """Damage a copy of a case, repair it, and check all that must hold; then finish the new case and compare.

    Args:
        batch: The batch.
        original: The folder with the case.
        place: The test's own folder.
        damage: Damages the case at the path that it is given.
        least: How many records must at least be kept.
    """
    bad = Path(shutil.copytree(original, place / "bad")) / "case.sluice"
    before = _lines(Path(shutil.copytree(original, place / "before")) / "case.sluice")
    damage(bad)
    if is_sound(bad, None):  # chance hit nothing that is in use: repaired all the same, for something else
        (_tear_log if has_log(bad) else _miscount)(bad)
    files = _contents(bad.parent)
    out = place / "new.sluice"
    report = repair(bad, out)
    print(report)
    assert _contents(bad.parent) == files  # not a byte of it was touched, and nothing stands beside it
    assert {name.name for name in place.iterdir()} == {"bad", "before", "new.sluice"}
    assert _lines(out)[: report.kept + 1] == before[: report.kept + 1]
    assert least <= report.kept <= len(before) - 1
    assert json.loads(_lines(out)[report.kept + 1])["event"] == "REPAIRED"
    with CaseFile.open(out) as case:
        assert case.info().note == ""
        assert case.counts() == report.counts
    _verify(out)
    asyncio.run(run_once(out, batch.folder, WordyExtractor(), small_flow()))
    assert golden_set(out) == batch.expected
    assert_one_terminal_record_each(out)
    _verify(out)
    with CaseFile.open(out) as case:
        assert case.counts().reconciled
    return report


def _turn_bits(number: int, seed: int) -> Callable[[Path], None]:
    """Turn some bits anywhere in a file."""

    def damage(path: Path) -> None:
        dice = random.Random(seed)  # noqa: S311  # repeatable, not secret
        content = bytearray(path.read_bytes())
        for _ in range(number):
            content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        path.write_bytes(content)

    return damage


def _overwrite_pages(number: int, seed: int) -> Callable[[Path], None]:
    """Write rubbish over some whole pages."""

    def damage(path: Path) -> None:
        dice = random.Random(seed)  # noqa: S311  # repeatable, not secret
        content = bytearray(path.read_bytes())
        for _ in range(number):
            start = dice.randrange(len(content) // PAGE) * PAGE
            content[start : start + PAGE] = dice.randbytes(PAGE)
        path.write_bytes(content)

    return damage


def _truncate(seed: int) -> Callable[[Path], None]:
    """Cut the end of a file off."""

    def damage(path: Path) -> None:
        size = random.Random(seed).randrange(6 * PAGE, path.stat().st_size)  # noqa: S311  # repeatable, not secret
        os.truncate(path, size)

    return damage


def _unlink_log(path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()


def _in_log(damage: Callable[[Path], None]) -> Callable[[Path], None]:
    """Damage the write-ahead log instead of the file."""
    return lambda path: damage(path.with_name(path.name + "-wal"))


def _miscount(path: Path) -> None:
    """Make a closed case wrong in what nothing is worked out from."""
    without_guard(path, lambda connection: connection.execute("UPDATE state SET skipped = skipped + 1"))


def _tear_log(path: Path) -> None:
    """Leave a frame in the write-ahead log of which only the beginning was written."""
    log = path.with_name(path.name + "-wal")
    header = log.read_bytes()[32:56]
    with log.open("ab") as file:
        file.write(header + bytes(PAGE))


@pytest.mark.parametrize("kind", ["finished", "killed"])
def test_nothing_is_done_about_a_sound_case(batch: Batch, tmp_path: Path, kind: str) -> None:
    """It is not changed, no second one is made, and it can be opened as before, whatever the ledger holds."""
    original = batch.finished if kind == "finished" else batch.killed
    case = Path(shutil.copytree(original, tmp_path / "sound")) / "case.sluice"
    ledger = CheckpointLedger(tmp_path / "kept")
    files = _contents(case.parent)
    with pytest.raises(CaseError, match="Nothing is wrong with"):
        repair(case, tmp_path / "new.sluice", ledger=ledger)
    assert _contents(case.parent) == files
    assert [name.name for name in tmp_path.iterdir()] == ["sound"]
    CaseFile.open(case, ledger=ledger).close()


WRONG = [
    "UPDATE state SET pages_extracted = pages_extracted - 1, pages_dead = pages_dead + 1",
    "UPDATE state SET documents = documents + 1",
    "UPDATE state SET unfinished_sources = 1",
    "UPDATE reasons SET count = count + 1 WHERE reason = 'not_a_pdf'",
    "UPDATE manifest SET pages_done = pages_done - 1 WHERE doc_id = 1",
    "UPDATE manifest SET state = 'skipped' WHERE doc_id = 1",
    "UPDATE texts SET text = 'x' WHERE place = 1 << 32 | 1",
    "DELETE FROM texts WHERE place = 1 << 32 | 1",
    "INSERT INTO texts VALUES (9 << 32 | 1, 'x')",
    "DELETE FROM dead_letters",
    "DELETE FROM header_copy",
    "CREATE TABLE more (a)",
    "UPDATE sqlite_schema SET sql = replace(sql, 'IS NOT NULL', 'IS NULL') WHERE name = 'manifest_original'",
]


@pytest.mark.parametrize("change", WRONG)
def test_whatever_is_wrong_a_case_is_not_called_sound(path: Path, change: str) -> None:
    """Counters, texts, tables: each is compared with the log, and not only what opening a case looks at."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(
            case,
            Noted(event="SOURCES", fields={"count": 1}, sources=(b"/in",), enumerated=True),
            Noted(event="RUN_STARTED"),
            found("a.pdf", "b.pdf", "c.pdf", "d.pdf"),
            FilesFound(files=(file("e.txt", skip=SkipReason.NOT_SELECTED),)),
            probed(1, "same", pages=3),
            done(1, 1, dead(2)),
            probed(2, "same", pages=3),
            failed(3),
            Noted(event="RECONCILED"),
        )
    assert is_sound(path, None)

    def damage(connection: apsw.Connection) -> None:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        connection.pragma("writable_schema", True)
        connection.execute(change)
        assert connection.changes() or change.startswith("CREATE")

    without_guard(path, damage)
    assert not is_sound(path, None)


def test_a_case_of_which_only_a_counter_is_wrong_is_kept_whole(batch: Batch, tmp_path: Path) -> None:
    """With nothing wrong in the log, all records are kept, and a resume has nothing to do."""
    report = _damage_repair_resume(batch, batch.finished, tmp_path, _miscount)
    assert (report.left, report.mended, report.sources) == (0, 0, 1)
    assert report.kept == len(_lines(tmp_path / "bad" / "case.sluice")) - 1
    new = list(map(json.loads, _lines(tmp_path / "new.sluice")[report.kept + 1 :]))
    assert not {"EXTRACTED", "DEAD_LETTER", "DUPLICATE", "DOCUMENT"} & {record["event"] for record in new}


def test_a_case_that_was_killed_keeps_all_that_was_acknowledged(batch: Batch, tmp_path: Path) -> None:
    """What stands in the write-ahead log only is read, too."""
    report = _damage_repair_resume(batch, batch.killed, tmp_path, _tear_log)
    assert report.left == 0
    assert report.kept == len(_lines(tmp_path / "before" / "case.sluice")) - 1


KILLED_REPAIR = """
import os, signal, sys
from pathlib import Path
from engine.case import repair

def killed(*_):
    print(sorted(os.listdir(sys.argv[2])))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)

repair.rebuild = killed
repair.repair(Path(sys.argv[1]), Path(sys.argv[2]) / "new.sluice")
"""


def test_what_a_killed_repair_left_is_removed_by_the_next(batch: Batch, tmp_path: Path) -> None:
    """Its scratch files stand in one folder of its own, which goes; nothing stands under the new name."""
    bad = Path(shutil.copytree(batch.finished, tmp_path / "bad")) / "case.sluice"
    _miscount(bad)
    place = tmp_path / "place"
    place.mkdir()
    ended = subprocess.run([sys.executable, "-c", KILLED_REPAIR, str(bad), str(place)], check=False)
    assert ended.returncode == -9
    (left,) = place.iterdir()
    assert left.name.endswith(".part")
    repair(bad, place / "new.sluice")
    assert [name.name for name in place.iterdir()] == ["new.sluice"]


@pytest.mark.fault(24)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["finished", "killed"])
def test_turned_bits_cost_no_outcome(batch: Batch, tmp_path: Path, kind: str, seed: int) -> None:
    """Thirty bits turned anywhere in the file: after repair and resume all outcomes are those of a calm run."""
    original = batch.finished if kind == "finished" else batch.killed
    _damage_repair_resume(batch, original, tmp_path, _turn_bits(30, seed))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["finished", "killed"])
def test_overwritten_pages_cost_no_outcome(batch: Batch, tmp_path: Path, kind: str, seed: int) -> None:
    """Three pages of rubbish anywhere in the file, with the same end."""
    original = batch.finished if kind == "finished" else batch.killed
    _damage_repair_resume(batch, original, tmp_path, _overwrite_pages(3, seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_case_whose_end_was_cut_off_costs_no_outcome(batch: Batch, tmp_path: Path, seed: int) -> None:
    """A file that lost its end, at any byte, with the same end."""
    _damage_repair_resume(batch, batch.finished, tmp_path, _truncate(seed))


@pytest.mark.fault(26)
def test_a_case_whose_log_was_deleted_costs_no_outcome(batch: Batch, tmp_path: Path) -> None:
    """Without its write-ahead log after a kill, the case goes on from what stands in the file itself."""
    _damage_repair_resume(batch, batch.killed, tmp_path, _unlink_log)


@pytest.mark.parametrize(
    "damage", [_turn_bits(20, 5), _overwrite_pages(2, 6), _truncate(7)], ids=["bits", "pages", "cut"]
)
def test_a_damaged_write_ahead_log_costs_no_outcome(
    batch: Batch, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """Damage in the log beside the file, with the same end."""
    _damage_repair_resume(batch, batch.killed, tmp_path, _in_log(damage))


def test_a_case_without_its_first_page_is_read_all_the_same(batch: Batch, tmp_path: Path) -> None:
    """SQLite finds nothing in a file whose first page, with the list of tables, is gone; the rows are still there."""

    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.write(bytes(PAGE))
        with pytest.raises(CaseError):
            CaseFile.open(path)

    report = _damage_repair_resume(batch, batch.finished, tmp_path, damage)
    assert report.left == 0


def test_a_header_that_is_lost_is_taken_from_its_copy(batch: Batch, tmp_path: Path) -> None:
    """The line to which the whole log chains stands on two pages: either is enough."""

    def damage(path: Path) -> None:
        connection = apsw.Connection(str(path))
        page: int = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'header'").get
        connection.close()
        with path.open("r+b") as file:
            file.seek((page - 1) * PAGE)
            file.write(b"\xa5" * PAGE)

    assert _damage_repair_resume(batch, batch.finished, tmp_path, damage).left == 0


def _change_line(path: Path, seq: int, old: str, new: str) -> None:
    query = "UPDATE audit SET line = CAST(replace(CAST(line AS TEXT), ?, ?) AS BLOB) WHERE seq = ?"
    without_guard(
        path, lambda connection: connection.execute(query, (old, new, seq)), triggers=["audit_is_never_updated"]
    )


@pytest.mark.fault(24, by="a line of the log changed in the case")
def test_a_changed_line_ends_what_is_kept(batch: Batch, tmp_path: Path) -> None:
    """A record that somebody changed, and all after it, are left; the case is refused before, and says what to do."""
    seq = 200

    def damage(path: Path) -> None:
        _change_line(path, seq, '"attempt":1', '"attempt":12')

    report = _damage_repair_resume(batch, batch.finished, tmp_path, damage, least=seq - 64)
    assert report.kept < seq
    assert report.left == len(_lines(tmp_path / "bad" / "case.sluice")) - 1 - report.kept


@pytest.mark.parametrize("what", ["line", "text"])
def test_one_turned_bit_in_a_line_or_a_text_is_turned_back(batch: Batch, tmp_path: Path, what: str) -> None:
    """The hash beside it tells which bit it was: nothing is lost."""

    def damage(path: Path) -> None:
        content = path.read_bytes()
        with CaseReader(path) as reader:
            line, text = reader.page_record(4, 6) or (b"", None)
        assert text is not None
        whole = line if what == "line" else text.encode()
        turned = bytearray(whole)
        turned[len(turned) // 2] ^= 4
        # Everywhere: SQLite leaves copies of rows behind where it has moved them from.
        path.write_bytes(content.replace(whole, turned))

    report = _damage_repair_resume(batch, batch.finished, tmp_path, damage)
    assert (report.left, report.mended) == (0, 1)


def test_a_lost_text_puts_its_page_back_to_pending(batch: Batch, tmp_path: Path) -> None:
    """A record of a page whose text is gone cannot be kept: what follows it is done again."""

    def damage(path: Path) -> None:
        without_guard(
            path,
            lambda connection: connection.execute(
                "UPDATE texts SET text = 'x' WHERE rowid = (SELECT max(rowid) FROM texts WHERE place < (5 << 32))"
            ),
        )

    report = _damage_repair_resume(batch, batch.finished, tmp_path, damage)
    assert report.left > 0


def test_what_the_log_says_is_worked_out_anew(path: Path, tmp_path: Path) -> None:
    """Counters, runs, strikes, deaths, dead letters, copies and the pause are in the new case as in the old."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(
            case,
            Noted(event="SOURCES", fields={"count": 1}, sources=(b"/in",)),
            Noted(event="RUN_STARTED"),
            found("a.pdf", "b.pdf", "c.pdf", "d.pdf", "e.pdf"),
            probed(1, "same", pages=3),
            done(1, 1, dead(2)),
            probed(2, "same", pages=3),
            probed(3, pages=4),
            retried(3, 2),
            slow(3, 2),
            slow(4, None),
        )
        path = killed(case)
    with CaseFile.open(path) as case:
        commit_all(
            case,
            Noted(event="RUN_STARTED"),
            failed(4),
            done(1, extracted(3, "")),
            done(3, 1),
            Noted(event="HELD", paused=True),
        )
        before = (case.counts(), case.info().paused, outcomes(case), struck(case))
        with case.reader() as reader:
            rows = (reader.document_rows(1, 99), reader.dead_letter_rows(1, 99))
    _miscount(path)
    report = repair(path, tmp_path / "new.sluice")
    assert (report.left, report.kept) == (0, before[0].audit_records)
    with CaseFile.open(tmp_path / "new.sluice") as case:
        counts = case.counts()
        assert counts.audit_records == before[0].audit_records + 2
        assert (counts.documents, counts.pages, counts.reasons) == (
            before[0].documents,
            before[0].pages,
            before[0].reasons,
        )
        assert (case.info().paused, outcomes(case), struck(case)) == before[1:]
        with case.reader() as reader:
            assert (reader.document_rows(1, 99), reader.dead_letter_rows(1, 99)) == rows
            assert reader.page_text(1, 1) == "text of page 1"
            assert reader.page_text(1, 3) == ""
        assert case.info().unfinished_sources == (b"/in",)
        assert [item.doc_id for item in case.pending_documents(0, 9)] == [5]
        commit_all(case, Noted(event="RUN_STARTED"), done(3, 2, 3, 4))
        assert records(case)[-1]["run"] == 3


def test_a_checkpoint_kept_elsewhere_goes_on_from_the_repaired_case(path: Path, tmp_path: Path) -> None:
    """The shorter log is no surprise to the ledger, which still holds the old checkpoints; the old file then is one."""
    ledger = CheckpointLedger(tmp_path / "kept")
    with CaseFile.create(path, request_id="R", ledger=ledger) as case:
        commit_all(case, found("a.pdf"), probed(1, pages=9), done(1, 1), done(1, 2), done(1, 3), done(1, 4))
        case.checkpoint()
        case_id = case.info().case_id
    _change_line(path, 4, '"dur_ms":3', '"dur_ms":4')
    noted = ledger.last(case_id)
    assert noted is not None
    new = tmp_path / "new.sluice"
    report = repair(path, new, ledger=ledger)
    assert (report.kept, report.left) == (3, 2)
    CaseFile.open(new, ledger=ledger).close()
    assert json.dumps(noted.head) in next((tmp_path / "kept").iterdir()).read_text()
    with CaseFile.open(new, read_only=True) as case:
        repaired = records(case)[3]
    assert (repaired["event"], repaired["records_kept"], repaired["records_left"]) == ("REPAIRED", 3, 2)


def test_a_log_that_was_written_anew_is_not_made_good_by_a_repair(path: Path, tmp_path: Path) -> None:
    """A log that contradicts its checkpoint is refused, with the one exception named; then it says so in the ledger."""
    ledger = CheckpointLedger(tmp_path / "kept")
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, found("a.pdf"), probed(1, pages=9), done(1, 1), done(1, 2))
        case_id = case.info().case_id
    ledger.keep(case_id, [Checkpoint(count=2, head="0" * 64)])
    new = tmp_path / "new.sluice"
    with pytest.raises(CaseDamagedError, match=r"record 2 differs.*--ignore-checkpoint"):
        repair(path, new, ledger=ledger)
    assert not new.exists()
    assert repair(path, new, ledger=ledger, ignore_checkpoint=True).left == 0
    CaseFile.open(new, ledger=ledger).close()


def test_a_file_without_a_header_cannot_be_repaired(tmp_path: Path) -> None:
    """A file in which nothing of a case is left says so; no new file appears."""
    bad = tmp_path / "bad.sluice"
    bad.write_bytes(random.Random(3).randbytes(20 * PAGE))  # noqa: S311  # repeatable, not secret
    with pytest.raises(CaseDamagedError, match="header"):
        repair(bad, tmp_path / "new.sluice")
    assert [name.name for name in tmp_path.iterdir()] == ["bad.sluice"]


def test_nothing_is_written_over(case: CaseFile, tmp_path: Path) -> None:
    """A new name that stands for something already, a case that is not there, and one in use, are refused."""
    other = tmp_path / "other"
    other.write_text("precious")
    with pytest.raises(CaseError, match="already"):
        repair(case.path, other)
    with pytest.raises(CaseError, match="no case"):
        repair(tmp_path / "missing", tmp_path / "new.sluice")
    with pytest.raises(CaseInUseError):
        repair(case.path, tmp_path / "new.sluice")
    case.close()
    with pytest.raises(CaseError, match="could not be repaired"):
        repair(case.path, tmp_path / "no such folder" / "new.sluice")
    assert other.read_text() == "precious"
    assert not (tmp_path / "new.sluice").exists()


class _FullLedger(CheckpointLedger):
    def keep(self, case_id: str, checkpoints: object) -> None:  # noqa: ARG002  # its caller's call
        raise StorageError("no room")


def test_without_its_checkpoint_there_is_no_new_case(path: Path, tmp_path: Path) -> None:
    """A repaired case that the ledger does not know could never be opened: it is taken back."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, found("a.pdf"))
    _miscount(path)
    with pytest.raises(StorageError):
        repair(path, tmp_path / "new.sluice", ledger=_FullLedger(tmp_path / "kept"))
    assert not (tmp_path / "new.sluice").exists()
