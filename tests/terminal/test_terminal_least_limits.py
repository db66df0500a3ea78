"""Limits under which no page could ever be read are refused, with a sentence; the least ones do."""

from pathlib import Path

import pytest

from engine.errors import SettingsError
from engine.settings import LEAST_ADDRESS_SPACE_BYTES, LEAST_KILL_RSS_BYTES, Settings
from tests.support import pdfs
from tests.terminal.program import sluicegate, summary_of


@pytest.mark.parametrize("limit", ["--worker-address-space", "--worker-kill-rss"])
@pytest.mark.parametrize("size", ["1", "64M"])
def test_a_limit_that_no_worker_can_keep_is_wrong_usage(limit: str, size: str, tmp_path: Path) -> None:
    """In place of a dead letter for every document; no case is made."""
    pdfs.batch(tmp_path / "in", 1, 1)
    ended = sluicegate("run", tmp_path / "in", "--case", tmp_path / "case.sluice", limit, size)
    assert ended.returncode == 2
    assert "no worker can read an ordinary page" in ended.stderr
    assert not (tmp_path / "case.sluice").exists()


def test_saved_settings_are_held_to_the_same() -> None:
    """Wherever the settings come from."""
    for name, least in (("address_space_bytes", LEAST_ADDRESS_SPACE_BYTES), ("kill_rss_bytes", LEAST_KILL_RSS_BYTES)):
        assert getattr(Settings.from_json({"worker": {name: least}}).worker, name) == least
        with pytest.raises(SettingsError, match="must be at least"):
            Settings.from_json({"worker": {name: least - 1}})


def test_ordinary_pages_are_read_under_the_least_limits(tmp_path: Path) -> None:
    """What is accepted works."""
    pdfs.text_pdf(tmp_path / "in.pdf", 20, words=600)
    least = ("--worker-address-space", str(LEAST_ADDRESS_SPACE_BYTES), "--worker-kill-rss", str(LEAST_KILL_RSS_BYTES))
    ended = sluicegate(
        "run", tmp_path / "in.pdf", "--case", tmp_path / "case.sluice", *least, "--json", "--workers", "1"
    )
    assert ended.returncode == 0, ended.stderr
    assert summary_of(ended)["pages"]["extracted"] == 20
