"""Checkpoints kept outside the case file, and what they find out that the chain cannot."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from engine.case.casefile import CaseFile
from engine.case.checkpoints import CheckpointLedger
from engine.case.journal import CHECKPOINT_EVERY, Checkpoint
from engine.errors import CaseDamagedError, StorageError
from engine.models.facts import Noted
from tests.case.factory import commit_all, done, found, probed, records, without_guard
from tests.case.test_case_opening import GUARDS

CASE_ID = "ab" * 16


@pytest.fixture
def ledger(tmp_path: Path) -> CheckpointLedger:
    """Give a ledger in a folder that is not there yet."""
    return CheckpointLedger(tmp_path / "state" / "checkpoints")


def _point(count: int) -> Checkpoint:
    return Checkpoint(count=count, head=f"{count:064x}")


def test_the_last_checkpoint_kept_is_found(ledger: CheckpointLedger) -> None:
    """Checkpoints are appended by case; the last one is what is asked for."""
    assert ledger.last(CASE_ID) is None
    ledger.keep(CASE_ID, [_point(1), _point(2)])
    ledger.keep(CASE_ID, [])
    ledger.keep("cd" * 16, [_point(9)])
    ledger.keep(CASE_ID, [_point(3)])
    assert ledger.last(CASE_ID) == _point(3)
    assert ledger.last("cd" * 16) == _point(9)


@pytest.mark.parametrize("torn", [b'{"case_id": "', b"\xff\x00", b"null\n", b'{"count": 1}\n', b"[" * 5000])
def test_a_torn_line_costs_itself_only(ledger: CheckpointLedger, tmp_path: Path, torn: bytes) -> None:
    """What a crash left half is passed over, and does not spoil what is appended after it."""
    ledger.keep(CASE_ID, [_point(1)])
    file = tmp_path / "state" / "checkpoints" / f"{CASE_ID}.jsonl"
    with file.open("ab") as end:
        end.write(torn)
    assert ledger.last(CASE_ID) == _point(1)
    ledger.keep(CASE_ID, [_point(2)])
    assert ledger.last(CASE_ID) == _point(2)
    assert json.loads(file.read_bytes().splitlines()[-1])["count"] == 2


def test_a_ledger_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """A file in the place of the folder: a sentence that names the place."""
    (tmp_path / "state").write_text("")
    with pytest.raises(StorageError, match="could not be kept"):
        CheckpointLedger(tmp_path / "state").keep(CASE_ID, [_point(1)])


def test_each_checkpoint_of_a_case_is_kept(path: Path, ledger: CheckpointLedger) -> None:
    """After 1,000 records, on demand and at a pause: what the log states and what is kept elsewhere are the same."""
    kept: list[Checkpoint] = []
    with CaseFile.create(path, request_id="R", ledger=ledger) as case:
        case_id = case.info().case_id
        held = Noted(event="HELD")
        for group in ([held] * (CHECKPOINT_EVERY - 1), [held], [Noted(event="HELD", checkpoint=True)]):
            before = ledger.last(case_id)
            case.commit(group)
            after = ledger.last(case_id)
            if after is not None and after != before:
                kept.append(after)
        case.commit([Noted(event="RELEASED")])
        case.checkpoint()
        last = ledger.last(case_id)
        assert last is not None
        kept.append(last)
        stated = [
            Checkpoint(count=record["count"], head=record["head"])
            for record in records(case)
            if record["event"] == "CHECKPOINT"
        ]
    assert kept == stated
    assert [point.count for point in kept] == [1000, 1002, 1004]


class _Watching:
    """A keeper that looks into the case when it is told of a checkpoint, or fails."""

    def __init__(self) -> None:
        self.path = Path()
        self.seen: list[tuple[int, int]] = []
        self.is_failing = False

    def keep(self, case_id: str, checkpoints: Sequence[Checkpoint]) -> None:
        """Note how many records a reader sees at this moment."""
        assert case_id
        if self.is_failing:
            raise StorageError("The folder is full.")
        with CaseFile.open(self.path, read_only=True) as reading:
            self.seen += [(point.count, reading.counts().audit_records) for point in checkpoints]

    def last(self, case_id: str) -> Checkpoint | None:
        """Return nothing."""
        assert case_id
        return None


def test_a_checkpoint_is_kept_after_its_commit(path: Path) -> None:
    """When it leaves the program, every record that it counts is already on disk."""
    keeper = _Watching()
    keeper.path = path
    with CaseFile.create(path, request_id="R", ledger=keeper) as case:
        case.commit([Noted(event="HELD") for _ in range(2500)])
    assert keeper.seen == [(1000, 2502), (2001, 2502)]


def test_a_checkpoint_that_cannot_be_kept_stops_what_comes_after(path: Path) -> None:
    """What was committed stays so; nothing more is written until the checkpoint could be kept, and then it goes on."""
    keeper = _Watching()
    keeper.path, keeper.is_failing = path, True
    with CaseFile.create(path, request_id="R", ledger=keeper) as case:
        receipt = case.commit([Noted(event="HELD", checkpoint=True)])
        assert receipt.counts.audit_records == 2
        for _ in range(2):
            with pytest.raises(StorageError, match="folder is full"):
                case.commit([Noted(event="RELEASED")])
        assert case.counts().audit_records == 2
        keeper.is_failing = False
        case.commit([Noted(event="RELEASED")])
        assert keeper.seen == [(1, 2)]
        assert [record["event"] for record in records(case)] == ["HELD", "CHECKPOINT", "RELEASED"]


def test_a_case_is_closed_even_where_its_last_checkpoint_cannot_be_kept(path: Path) -> None:
    """The close says so, and lets go of the case all the same."""
    keeper = _Watching()
    keeper.path, keeper.is_failing = path, True
    case = CaseFile.create(path, request_id="R", ledger=keeper)
    case.commit([Noted(event="HELD", checkpoint=True)])
    with pytest.raises(StorageError):
        case.close()
    with CaseFile.open(path) as again:
        assert again.info().note == ""


def _begun(path: Path, ledger: CheckpointLedger) -> None:
    with CaseFile.create(path, request_id="R", ledger=ledger) as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf"), probed(1), Noted(event="HELD", checkpoint=True))


def test_a_case_that_goes_on_is_recognised(path: Path, ledger: CheckpointLedger) -> None:
    """More records than at the last checkpoint are what is expected."""
    _begun(path, ledger)
    with CaseFile.open(path, ledger=ledger) as case:
        commit_all(case, done(1, 1))
    CaseFile.open(path, ledger=ledger).close()


def test_an_older_copy_is_found_out(path: Path, ledger: CheckpointLedger) -> None:
    """A backup put back in the place of the case is shorter than the checkpoint: refused, not written, readable."""
    _begun(path, ledger)
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    with CaseFile.open(path, ledger=ledger) as case:
        commit_all(case, done(1, 1), Noted(event="RUN_ENDED", checkpoint=True))
    shutil.copy(backup, path)
    with pytest.raises(CaseDamagedError, match="shorter than the last known checkpoint"):
        CaseFile.open(path, ledger=ledger)
    assert path.read_bytes() == backup.read_bytes()
    with CaseFile.open(path, ledger=ledger, read_only=True) as case:
        assert "shorter than the last known checkpoint" in case.info().note
        assert case.counts().pages.enumerated == 1


def test_a_log_that_was_cut_with_its_counters_is_found_out(path: Path, ledger: CheckpointLedger) -> None:
    """Whoever cuts the end off and makes everything in the file agree cannot change what is kept elsewhere."""
    _begun(path, ledger)

    def cut(connection: apsw.Connection) -> None:
        connection.execute("DELETE FROM audit WHERE seq > 1")
        head = hashlib.sha256(connection.execute("SELECT line FROM audit WHERE seq = 1").get).digest()
        connection.execute("UPDATE state SET records = 1, checkpointed = 0, head = ?", (head,))

    without_guard(path, cut, triggers=GUARDS)
    CaseFile.open(path).close()  # the file agrees with itself
    with pytest.raises(CaseDamagedError, match="shorter than the last known checkpoint"):
        CaseFile.open(path, ledger=ledger)


def test_another_history_of_the_same_length_is_found_out(path: Path, ledger: CheckpointLedger) -> None:
    """Two copies that went on apart: the one that the checkpoint does not belong to is refused."""
    with CaseFile.create(path, request_id="R") as case:
        case.commit([Noted(event="RUN_STARTED")])
    copy = path.with_name("copy.sluice")
    shutil.copy(path, copy)
    with CaseFile.open(path, ledger=ledger) as case:
        case.commit([Noted(event="HELD", checkpoint=True)])
    with CaseFile.open(copy) as case:
        case.commit([Noted(event="RELEASED", checkpoint=True)])
    with pytest.raises(CaseDamagedError, match="not the one that the last known checkpoint belongs to"):
        CaseFile.open(copy, ledger=ledger)
    CaseFile.open(path, ledger=ledger).close()
