"""Where the program keeps things that are not part of a case, and the small files in there.

Covers settings, the list of recent cases and the default places of case files, checkpoints and the log, all where
`platformdirs` says. What is inside a case file is the business of `engine.case`.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import platformdirs

from engine.errors import SettingsError
from engine.models.run import CaseInfo
from engine.settings import Settings

CASE_SUFFIX = ".sluice"
RECENT_CASES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Directories:
    """The places of a person's own files; nothing is created before it is written to."""

    cases: Path
    """Where case files go unless another place is asked for."""
    checkpoints: Path
    """Where checkpoints are kept outside the case files."""
    logs: Path
    settings_file: Path
    recent_file: Path
    samples: Path
    """Where the sample batch goes."""

    @classmethod
    def default(cls) -> Self:
        """Return the places that the system's conventions name."""
        places = platformdirs.PlatformDirs("sluicegate", appauthor=False)
        return cls(
            cases=places.user_data_path / "cases",
            checkpoints=places.user_state_path / "checkpoints",
            logs=places.user_log_path,
            settings_file=places.user_config_path / "settings.json",
            recent_file=places.user_state_path / "recent.json",
            samples=places.user_data_path / "samples",
        )

    @classmethod
    def below(cls, folder: Path) -> Self:
        """Return places that all lie below one folder."""
        return cls(
            cases=folder / "cases",
            checkpoints=folder / "checkpoints",
            logs=folder / "logs",
            settings_file=folder / "settings.json",
            recent_file=folder / "recent.json",
            samples=folder / "samples",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentCase:
    """A case that was opened before."""

    path: Path
    request_id: str
    opened_at: str
    """UTC, ISO 8601."""


def load_settings(directories: Directories) -> Settings:
    """Return the saved settings, or the defaults where none were saved.

    Raises:
        SettingsError: When the file is damaged or holds an impossible combination.
    """
    data = _read_json(directories.settings_file, {})
    if not isinstance(data, dict):
        raise SettingsError(
            f"The settings file {directories.settings_file} cannot be read, so that no run can start with it. "
            "Correct it, or remove it to go back to the defaults."
        )
    return Settings.from_json(data)


def save_settings(directories: Directories, settings: Settings) -> None:
    """Keep the settings for later runs.

    Raises:
        SettingsError: When they cannot be written.
    """
    try:
        _write_json(directories.settings_file, settings.to_json())
    except OSError as error:
        raise SettingsError(
            f"The settings could not be saved to {directories.settings_file} ({error.strerror}). They hold for "
            "this run, and will be the old ones at the next start."
        ) from error


def recent_cases(directories: Directories) -> tuple[RecentCase, ...]:
    """Return the cases opened before that still exist, the latest first."""
    data = _read_json(directories.recent_file, [])
    cases = []
    for item in data if isinstance(data, list) else []:
        try:
            case = RecentCase(path=Path(item["path"]), request_id=item["request_id"], opened_at=item["opened_at"])
        except (KeyError, TypeError):
            continue
        if case.path.exists():
            cases.append(case)
    return tuple(cases)


def remember_case(directories: Directories, info: CaseInfo) -> None:
    """Put a case at the head of the recent ones; a list that cannot be written is not worth an error."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    kept = [case for case in recent_cases(directories) if case.path != info.path]
    cases = [RecentCase(path=info.path, request_id=info.request_id, opened_at=now), *kept][:RECENT_CASES]
    data = [{"path": str(case.path), "request_id": case.request_id, "opened_at": case.opened_at} for case in cases]
    try:
        _write_json(directories.recent_file, data)
    except (OSError, UnicodeEncodeError):
        return


def default_request_id(sources: Sequence[Path]) -> str:
    """Return a request id to offer: the name of what was dropped and the date, printable characters only."""
    name = sources[0].absolute().name if sources else ""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip("-.")
    day = datetime.now(UTC).astimezone().strftime("%Y-%m-%d")
    return f"{kept[:60] or 'request'}-{day}"


def default_case_path(directories: Directories, sources: Sequence[Path]) -> Path:
    """Return a place for a new case file that is not taken yet."""
    stem = default_request_id(sources)
    path, number = directories.cases / f"{stem}{CASE_SUFFIX}", 2
    while path.exists():
        path = directories.cases / f"{stem}-{number}{CASE_SUFFIX}"
        number += 1
    return path


def _read_json(path: Path, default: Any) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError):
        return None


def _write_json(path: Path, data: Any) -> None:
    """Write so that a reader sees the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    temporary.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    temporary.replace(path)
