"""Killed while it exports: what stood under the final name still does, or the whole of the new export does.

The audit log and the texts; killed at each step at which the program changes anything on disk.
"""

import os
import re
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.case.verify import verify_file
from tests.faults import doomed
from tests.faults.program import ACCOUNTED, age, assert_no_process_left, assert_sound, ending, finish, launch
from tests.support import pdfs

DOOMED = ("-m", "tests.faults.doomed")
OLD = b"what was exported before"

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal"),
    pytest.mark.fault(14),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """One kind of export of one finished case."""

    case: Path
    arguments: Callable[[Path], list[str]]
    """Given a folder with the case in it."""
    prepare: Callable[[Path], object]
    is_old: Callable[[Path], bool]
    is_new: Callable[[Path], bool]
    steps: int = 0


def audit_arguments(home: Path) -> list[str]:
    """Return the command that exports the audit log."""
    return ["export", str(home / "case.sluice"), "--audit", str(home / "out.jsonl")]


def text_arguments(home: Path) -> list[str]:
    """Return the command that exports the texts."""
    return ["text", str(home / "case.sluice"), str(home / "texts")]


def is_whole_log(home: Path) -> bool:
    """Whether a whole audit log stands under the final name."""
    out = home / "out.jsonl"
    return out.exists() and out.read_bytes() != OLD and verify_file(out).ok


def is_whole_folder(home: Path) -> bool:
    """Whether all texts stand under the final name."""
    texts = [path for path in (home / "texts").rglob("*") if path.is_file()]
    return len(texts) == 3 and all(path.read_bytes().count(b"\f") == 3 for path in texts)


@pytest.fixture(scope="module", params=["audit", "text"])
def export(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Export:
    """Give an export of a finished case of three documents, and how many steps it takes."""
    home = tmp_path_factory.mktemp("finished")
    pdfs.batch(home / "in", documents=3, pages_each=4, seed=2)
    age(home / "in")
    case = home / "case.sluice"
    finish(case, home / "in", home, ("--workers", "1"))
    if request.param == "audit":
        kind = Export(
            case=case,
            arguments=audit_arguments,
            prepare=lambda place: (place / "out.jsonl").write_bytes(OLD),
            is_old=lambda place: (place / "out.jsonl").read_bytes() == OLD,
            is_new=is_whole_log,
        )
    else:
        kind = Export(
            case=case,
            arguments=text_arguments,
            prepare=lambda _: None,
            is_old=lambda place: not (place / "texts").exists(),
            is_new=is_whole_folder,
        )
    place = tmp_path_factory.mktemp("counted")
    code, said = run_export(kind, place, 0)
    assert code == 0, said
    assert kind.is_new(place)
    counted = re.search(r"steps: (\d+)", said)
    assert counted is not None
    return Export(
        case=case,
        arguments=kind.arguments,
        prepare=kind.prepare,
        is_old=kind.is_old,
        is_new=kind.is_new,
        steps=int(counted[1]),
    )


def run_export(export: Export, place: Path, at: int) -> tuple[int, str]:
    """Export a copy of the case, and die before a step."""
    shutil.copy(export.case, place / "case.sluice")
    export.prepare(place)
    return ending(launch(export.arguments(place), place, module=DOOMED, extra={doomed.DIE_AT: str(at)}))


def die_and_look(export: Export, place: Path, at: int) -> bool:
    """Kill an export, check what stands there, and export again; return whether it was killed."""
    code, said = run_export(export, place, at)
    assert code in {-signal.SIGKILL, 0}, said
    assert export.is_old(place) != export.is_new(place)
    assert_no_process_left(place)
    assert_sound(place / "case.sluice")
    if code == -signal.SIGKILL and export.is_old(place):
        again, words = ending(launch(export.arguments(place), place))
        assert again in ACCOUNTED, words
        assert export.is_new(place)
    return code == -signal.SIGKILL


@pytest.mark.parametrize("before_end", [2, 6, 12])
def test_an_export_that_is_killed_leaves_nothing_half_done_under_its_name(
    export: Export, tmp_path: Path, before_end: int
) -> None:
    """Around the moment at which the new one takes its name."""
    assert die_and_look(export, tmp_path, export.steps - before_end)


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_export_killed_at_every_step_leaves_nothing_half_done(export: Export, tmp_path: Path) -> None:
    """Each step in turn, until an export survives."""
    killed = 0
    for at in range(1, 10 * export.steps):
        place = tmp_path / str(at)
        place.mkdir()
        if not die_and_look(export, place, at):
            break
        killed += 1
        shutil.rmtree(place)
    print(f"{killed} kills, each with the old or the whole new export afterwards")
    assert killed > export.steps // 2
