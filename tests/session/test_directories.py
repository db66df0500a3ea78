"""Small files beside the cases: settings, recent cases, default names."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine import (
    CaseInfo,
    Directories,
    FlowLimits,
    Settings,
    SettingsError,
    default_case_path,
    default_request_id,
    load_settings,
    recent_cases,
    remember_case,
    save_settings,
)
from engine.session.directories import LARGEST_FILE_BYTES, RECENT_CASES
from tests.faults.injection import needs_posix


def info(path: Path) -> CaseInfo:
    """Return what identifies a case at a path."""
    path.touch()
    return CaseInfo(path=path, case_id="c", request_id=f"about {path.stem}", created="2026-01-01", roots=())


def test_settings_survive_being_saved(tmp_path: Path) -> None:
    """What was saved is loaded; without a file the defaults hold."""
    places = Directories.below(tmp_path)
    assert load_settings(places) == Settings()
    chosen = Settings(flow=FlowLimits.build(workers=3, max_queue=100, rate_per_s=12.5))
    save_settings(places, chosen)
    assert load_settings(places) == chosen


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "damaged"),
        ("\xff", "damaged"),
        ("[" * 100_000, "damaged"),
        ("[]", "holds no settings"),
        ('{"flow": 3}', "wrong kind"),
        ('{"flow": {"workers": "many"}}', "wrong kind for flow.workers"),
        ('{"flow": {"workers": 2.5}}', "wrong kind for flow.workers"),
        ('{"flow": {"burst": true}}', "wrong kind for flow.burst"),
        ('{"clocks": {"page_s": null}}', "wrong kind for clocks.page_s"),
        ('{"clocks": {"page_s": 1%s}}' % ("0" * 400), "wrong kind"),
        ('{"flow": {"workers": -5}}', "number of workers is -5"),
        (" " * LARGEST_FILE_BYTES + "{}", "larger"),
    ],
    ids=lambda value: value[:24],
)
def test_a_damaged_settings_file_is_refused_with_a_sentence(tmp_path: Path, content: str, why: str) -> None:
    """A file that cannot be used never becomes silently the defaults: the sentence says which, why and what to do."""
    places = Directories.below(tmp_path)
    places.settings_file.write_bytes(content.encode("latin-1"))
    with pytest.raises(SettingsError, match="remove") as refused:
        load_settings(places)
    assert str(places.settings_file) in refused.value.user_message
    assert why in refused.value.user_message


def _pipe(path: Path) -> None:
    os.mkfifo(path)


@needs_posix
@pytest.mark.parametrize("make", [_pipe, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_only_ordinary_files_are_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A pipe is not waited for, and a device without an end not read."""
    places = Directories.below(tmp_path)
    make(places.settings_file)
    make(places.recent_file)
    with pytest.raises(SettingsError, match="remove"):
        load_settings(places)
    assert recent_cases(places) == ()


def test_settings_behind_a_link_are_settings(tmp_path: Path) -> None:
    """Whoever keeps such files elsewhere links to them."""
    places, elsewhere = Directories.below(tmp_path), tmp_path / "kept.json"
    elsewhere.write_text('{"clocks": {"page_s": 7}}')
    try:
        places.settings_file.symlink_to(elsewhere)
    except OSError:
        pytest.skip("no link can be made here")
    assert load_settings(places).clocks.page_s == 7


def test_recent_cases_come_latest_first_and_only_where_they_exist(tmp_path: Path) -> None:
    """Opening a case again moves it to the front; one that was deleted is not offered."""
    places = Directories.below(tmp_path)
    first, second = info(tmp_path / "first.sluice"), info(tmp_path / "second.sluice")
    for case in (first, second, first):
        remember_case(places, case)
    assert [case.path.name for case in recent_cases(places)] == ["first.sluice", "second.sluice"]
    first.path.unlink()
    assert [case.request_id for case in recent_cases(places)] == ["about second"]


@pytest.mark.parametrize(
    "content",
    [
        '[{"path": 3}, 7',
        '{"path": 3}',
        "[" * 100_000,
        '[7, null, "x", [], {"path": 3}, {"path": "/", "request_id": {}, "opened_at": "x"}]',
        json.dumps([{"path": path, "request_id": "r", "opened_at": "x"} for path in ("a\0b", "\ud800", "x" * 9999)]),
        " " * LARGEST_FILE_BYTES + "[]",
    ],
    ids=lambda value: value[:24],
)
def test_a_damaged_list_of_recent_cases_is_no_trouble(tmp_path: Path, content: str) -> None:
    """It is only a convenience: nothing is offered, and the next case begins it anew."""
    places = Directories.below(tmp_path)
    places.recent_file.write_text(content)
    assert recent_cases(places) == ()
    remember_case(places, info(tmp_path / "a.sluice"))
    assert len(recent_cases(places)) == 1


def test_recent_cases_are_the_same_ones_from_wherever_the_program_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case that was named by a relative path is kept, and offered, by its absolute one, and only once."""
    places = Directories.below(tmp_path / "places")
    case = info(tmp_path / "a.sluice")
    monkeypatch.chdir(tmp_path)
    remember_case(places, case)
    remember_case(places, replace(case, path=Path("a.sluice")))
    monkeypatch.chdir("/")
    assert [case.path for case in recent_cases(places)] == [tmp_path / "a.sluice"]
    item = {"path": str(tmp_path.relative_to("/") / "a.sluice"), "request_id": "r", "opened_at": "2026-01-01"}
    places.recent_file.write_text(json.dumps([item]))
    assert [case.path for case in recent_cases(places)] == [tmp_path / "a.sluice"]


def test_a_list_that_somebody_made_long_is_offered_in_part(tmp_path: Path) -> None:
    """No more cases are offered than we would keep."""
    places = Directories.below(tmp_path)
    item = {"path": str(tmp_path), "request_id": "r", "opened_at": "2026-01-01"}
    places.recent_file.write_text(json.dumps([item] * 500))
    assert len(recent_cases(places)) == RECENT_CASES


def test_a_place_is_offered_where_nobody_may_look(tmp_path: Path) -> None:
    """A folder for cases that the system refuses is no error yet: making the case there says what is wrong."""
    places = Directories.below(tmp_path / ("x" * 300))
    assert default_case_path(places, [Path("/x/records")]).parent == places.cases


def test_default_names_are_printable_and_not_taken(tmp_path: Path) -> None:
    """A hostile folder name gives a harmless request id, and a second case another file."""
    places = Directories.below(tmp_path)
    hostile = Path("/x/..\n=cmd|'/C calc'!A0\u202e")
    offered = default_request_id([hostile])
    assert offered.isprintable()
    assert not set(offered) & set("/\\\n=|'!")
    first = default_case_path(places, [Path("/x/records")])
    first.parent.mkdir(parents=True)
    first.touch()
    second = default_case_path(places, [Path("/x/records")])
    assert first != second
    assert second.suffix == ".sluice"
