"""Small files beside the cases: settings, recent cases, default names."""

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


@pytest.mark.parametrize("content", ["{", "[]", '{"flow": {"workers": "many"}}', '{"flow": 3}', "\xff"])
def test_a_damaged_settings_file_is_refused_with_a_sentence(tmp_path: Path, content: str) -> None:
    """A file that cannot be understood never becomes silently the defaults."""
    places = Directories.below(tmp_path)
    places.settings_file.write_bytes(content.encode("latin-1"))
    with pytest.raises(SettingsError, match="remove"):
        load_settings(places)


def test_recent_cases_come_latest_first_and_only_where_they_exist(tmp_path: Path) -> None:
    """Opening a case again moves it to the front; one that was deleted is not offered."""
    places = Directories.below(tmp_path)
    first, second = info(tmp_path / "first.sluice"), info(tmp_path / "second.sluice")
    for case in (first, second, first):
        remember_case(places, case)
    assert [case.path.name for case in recent_cases(places)] == ["first.sluice", "second.sluice"]
    first.path.unlink()
    assert [case.request_id for case in recent_cases(places)] == ["about second"]


def test_a_damaged_list_of_recent_cases_is_no_trouble(tmp_path: Path) -> None:
    """It is only a convenience: nothing is offered, and the next case begins it anew."""
    places = Directories.below(tmp_path)
    places.recent_file.write_text('[{"path": 3}, 7')
    assert recent_cases(places) == ()
    remember_case(places, info(tmp_path / "a.sluice"))
    assert len(recent_cases(places)) == 1


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
