"""Repair of a case whose write-ahead log is damaged: what SQLite leaves out of it is read all the same, and kept."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.checkpoints import CheckpointLedger
from engine.case.logframes import FRAME_HEADER_BYTES, HEADER_BYTES
from engine.case.reader import CaseReader
from engine.case.repair import repair
from engine.case.schema import VERSION
from engine.case.storage import PAGE_BYTES, log_of
from engine.errors import CaseDamagedError, CaseError, CaseTooNewError
from engine.models.facts import Noted
from tests.case.factory import (
    commit_all,
    done,
    extracted,
    first_version,
    found,
    killed,
    outcomes,
    probed,
    with_log,
    without_guard,
)

FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a case as a killed program left it, with short and long texts in the log only; tests copy it."""
    path = tmp_path_factory.mktemp("crashed") / "case.sluice"
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf", "b.pdf", "c.pdf"))
        for number in (1, 2, 3):
            long = extracted(2, f"{number} " + "word " * 9000)
            commit_all(case, probed(number, pages=3), done(number, 1, long), done(number, 3))
        return killed(case)


def _lines(path: Path) -> list[bytes]:
    with CaseReader(path) as reader:
        return list(reader.audit_lines())


def _copy(crashed: Path, place: Path) -> Path:
    place.mkdir()
    for name in (crashed.name, f"{crashed.name}-wal"):
        shutil.copy(crashed.with_name(name), place)
    return place / crashed.name


def _at(byte: int, *, frame: int = -1) -> Callable[[bytearray], None]:
    """Turn a bit of the log's header, or of a frame."""

    def damage(log: bytearray) -> None:
        log[byte if frame < 0 else HEADER_BYTES + frame * FRAME_BYTES + byte] ^= 1

    return damage


def _no_header(log: bytearray) -> None:
    log[:HEADER_BYTES] = bytes(HEADER_BYTES)


def _first_frames(log: bytearray) -> None:
    """Lose the header and the first frames of the log, as far as they say what they are."""
    _no_header(log)
    for frame in (0, 1, 2):
        at = HEADER_BYTES + frame * FRAME_BYTES
        log[at + 8 : at + FRAME_HEADER_BYTES] = bytes([frame]) * 16


def _every_salt(log: bytearray) -> None:
    """Give every other frame some salts of its own."""
    for at in range(HEADER_BYTES, len(log), 2 * FRAME_BYTES):
        struct.pack_into(">II", log, at + 8, at, at)


DAMAGES = {
    "magic": _at(0),
    "byte order": _at(3),
    "version": _at(6),
    "page size": _at(9),
    "round": _at(14),
    "first salt": _at(18),
    "second salt": _at(22),
    "checksum": _at(28),
    "salt of the first frame": _at(9, frame=0),
    "salt of a frame": _at(12, frame=2),
    "number of a frame": _at(3, frame=2),
    "commit of a frame": _at(7, frame=2),
    "checksum of a frame": _at(17, frame=2),
    "page of a frame": _at(FRAME_HEADER_BYTES + 100, frame=2),
    "whole header": _no_header,
    "header and first frames": _first_frames,
    "every other salt": _every_salt,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_what_sqlite_leaves_out_of_the_log_is_kept(
    crashed: Path, tmp_path: Path, damage: Callable[[bytearray], None]
) -> None:
    """Wherever the log is damaged: the case is refused, and its repair keeps every record and every text."""
    path = _copy(crashed, tmp_path / "case")
    whole = _copy(crashed, tmp_path / "whole")
    log = bytearray(log_of(path).read_bytes())
    damage(log)
    log_of(path).write_bytes(log)
    with pytest.raises(CaseDamagedError):
        CaseFile.open(path)
    out = tmp_path / "new" / "new.sluice"
    out.parent.mkdir()
    report = repair(path, out)
    expected = _lines(whole)
    assert (report.kept, report.left) == (len(expected), 0)
    assert _lines(out)[: report.kept] == expected
    assert log_of(path).read_bytes() == log
    with CaseFile.open(out) as new, CaseFile.open(whole) as old:
        assert outcomes(new) == outcomes(old)
        with new.reader() as one, old.reader() as other:
            pages = [(document, page) for document in (1, 2, 3) for page in (1, 2, 3)]
            assert [one.page_text(*page) for page in pages] == [other.page_text(*page) for page in pages]


def test_frames_of_an_earlier_round_are_not_taken_for_the_present(path: Path, tmp_path: Path) -> None:
    """A log that was begun anew has old frames behind the new ones: with a damaged header, too, the latest counts."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf", "b.pdf"), probed(1, pages=8))
        for page in range(1, 9):
            commit_all(case, done(1, extracted(page, f"{page} " + "word " * 9000)))
        assert case._writer is not None
        case._writer._connection.wal_checkpoint()
        commit_all(case, probed(2, pages=1), done(2, 1))
        bad = killed(case)
    log = bytearray(log_of(bad).read_bytes())
    salts = [bytes(log[at + 8 : at + 16]) for at in range(HEADER_BYTES, len(log), FRAME_BYTES)]
    assert salts.count(salts[0]) < salts.count(salts[-1])
    _no_header(log)
    log_of(bad).write_bytes(log)
    report = repair(bad, tmp_path / "new.sluice")
    assert (report.kept, report.left) == (len(_lines(path)), 0)
    assert _lines(tmp_path / "new.sluice")[: report.kept] == _lines(path)
    with CaseFile.open(tmp_path / "new.sluice") as case:
        assert case.counts().documents.terminal == 2
    with pytest.raises(CaseError, match="Nothing is wrong"):
        repair(path, tmp_path / "again.sluice")


@pytest.mark.parametrize("open_", [False, True])
def test_a_sound_case_of_an_older_version_is_left_alone(path: Path, tmp_path: Path, *, open_: bool) -> None:
    """Closed or killed, nothing is wrong with it: a second one would shut it out. It opens as before."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf"), probed(1, pages=2), done(1, 1, 2))
    first_version(path)
    if open_:
        with_log(path, lambda connection: connection.execute("UPDATE state SET clean = 0"))
    ledger = CheckpointLedger(tmp_path / "kept")
    before = path.read_bytes()
    with pytest.raises(CaseError, match="Nothing is wrong with"):
        repair(path, tmp_path / "new.sluice", ledger=ledger)
    assert path.read_bytes() == before
    CaseFile.open(path, ledger=ledger).close()


def test_a_damaged_case_of_an_older_version_is_repaired(path: Path, tmp_path: Path) -> None:
    """What is wrong with it is found as in a new one, and the new one has the tables of today."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf"), probed(1, pages=2), done(1, 1, 2))
    first_version(path)
    without_guard(path, lambda connection: connection.execute("UPDATE state SET documents = documents + 1"))
    report = repair(path, tmp_path / "new.sluice")
    assert report.left == 0
    assert report.counts.documents.enumerated == 1


def test_a_case_of_a_newer_version_is_not_repaired(path: Path, tmp_path: Path) -> None:
    """Its tables are none of ours; a version that is only a turned bit is repaired."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"))
    without_guard(path, lambda connection: connection.pragma("user_version", VERSION + 1))
    assert repair(path, tmp_path / "new.sluice").left == 0
    without_guard(path, lambda connection: connection.execute("CREATE TABLE more (a)"))
    with pytest.raises(CaseTooNewError, match="newer version"):
        repair(path, tmp_path / "other.sluice")


def test_nothing_stands_beside_a_repaired_case(path: Path, tmp_path: Path) -> None:
    """The new case is closed in order: one file, whatever was kept of its checkpoint."""
    with CaseFile.create(path, request_id="R") as case:
        commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf"))
    without_guard(path, lambda connection: connection.execute("UPDATE state SET documents = documents + 1"))
    (tmp_path / "new").mkdir()
    repair(path, tmp_path / "new" / "new.sluice", ledger=CheckpointLedger(tmp_path / "kept"))
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["new.sluice"]
    assert len(list((tmp_path / "kept").iterdir())) == 1
