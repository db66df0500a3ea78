"""What the tests of the terminal share: a home of their own, and a case that one run has finished."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import pdfs
from tests.terminal.program import Ended, sluicegate

# Nothing around the tests may decide how the terminal looks.
LOOKS = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES")


def settle(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let every place that the system's conventions name lie in a folder, so that no person's files are touched."""
    patch.setenv("HOME", str(folder))
    patch.setenv("USERPROFILE", str(folder))
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        patch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    for name in ("LOCALAPPDATA", "APPDATA"):
        patch.setenv(name, str(folder / "appdata"))
    for name in LOOKS:
        patch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for one test."""
    folder = tmp_path / "home"
    folder.mkdir()
    settle(folder, monkeypatch)
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A case that was run to its end for the request REQ-1: two documents of two pages, and a file that is no PDF."""

    folder: Path
    case: Path
    ended: Ended
    """How that run ended; it was called with `--json`."""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The finished case that tests copy."""
    place = tmp_path_factory.mktemp("made")
    folder, case = place / "batch", place / "made.sluice"
    pdfs.batch(folder, 2, 2)
    pdfs.not_a_pdf(folder / "page.pdf")
    with pytest.MonkeyPatch.context() as patch:
        settle(place, patch)
        ended = sluicegate("run", folder, "--case", case, "--request-id", "REQ-1", "--json", "--workers", "1")
    assert ended.returncode == 1, ended.stderr
    return Finished(folder=folder, case=case, ended=ended)


@pytest.fixture
def finished(made: Finished, tmp_path: Path) -> Finished:
    """A finished case of the test's own."""
    case = tmp_path / "case.sluice"
    shutil.copy(made.case, case)
    return Finished(folder=made.folder, case=case, ended=made.ended)
