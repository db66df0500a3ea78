"""Where the program keeps things that are not part of a case, and the small files in there.

Covers settings, the list of recent cases and the default places of case files, checkpoints and the log, all where
`platformdirs` says. What is inside a case file is the business of `engine.case`.
"""

import json
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import platformdirs

from engine.errors import CaseError, SettingsError
from engine.models.names import display_name
from engine.models.run import CaseInfo
from engine.settings import Settings

CASE_SUFFIX = ".sluice"
RECENT_CASES = 12
LARGEST_FILE_BYTES = 1024 * 1024
"""Size above which one of the small files is not read: it cannot be ours, and would fill memory."""


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
        SettingsError: When the file is damaged or holds an impossible combination; it says which file, and why.
    """
    path = directories.settings_file
    try:
        return _settings_of(_read_json(path))
    except FileNotFoundError:
        return Settings()
    except SettingsError as error:
        raise _unusable(path, error.user_message) from error
    except OSError as error:
        raise _unusable(path, f"The system refuses to read it ({error.strerror}).") from error
    except (ValueError, RecursionError) as error:
        raise _unusable(path, "It is damaged.") from error


def _settings_of(data: Any) -> Settings:
    if not isinstance(data, dict):
        raise SettingsError("It holds no settings.")
    return Settings.from_json(data)


def _unusable(path: Path, why: str) -> SettingsError:
    return SettingsError(
        f"The settings file {path} cannot be used. {why} Correct it, or remove it to go back to the defaults."
    )


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
    try:
        data = _read_json(directories.recent_file)
    except (OSError, ValueError, RecursionError, SettingsError):
        return ()
    found = map(_recent_case, data if isinstance(data, list) else [])
    return tuple(case for case in found if case is not None)[:RECENT_CASES]


def _recent_case(item: Any) -> RecentCase | None:
    """Return a case from the list; None where it is gone, out of reach, or nothing that we wrote."""
    try:
        path, request_id, opened_at = item["path"], item["request_id"], item["opened_at"]
        if not all(isinstance(value, str) for value in (path, request_id, opened_at)):
            return None
        case = RecentCase(path=Path(path).absolute(), request_id=request_id, opened_at=opened_at)
        return case if case.path.exists() else None
    except (KeyError, TypeError, ValueError, OSError):
        return None


def remember_case(directories: Directories, info: CaseInfo) -> None:
    """Put a case at the head of the recent ones; a list that cannot be written is not worth an error."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        path = info.path.absolute()  # the next start is elsewhere
        kept = [case for case in recent_cases(directories) if case.path != path]
        cases = [RecentCase(path=path, request_id=info.request_id, opened_at=now), *kept][:RECENT_CASES]
        data = [{"path": str(case.path), "request_id": case.request_id, "opened_at": case.opened_at} for case in cases]
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
    while os.path.exists(path):  # noqa: PTH110  # where the system refuses to look, making the case says why
        path = directories.cases / f"{stem}-{number}{CASE_SUFFIX}"
        number += 1
    return path


def require_checkpoints(directories: Directories) -> None:
    """Make sure that checkpoints can be kept, before there is anything to keep: without them no run goes on.

    Raises:
        CaseError: When nothing can be written where they are kept.
    """
    folder = directories.checkpoints
    probe = folder / f"{secrets.token_hex(8)}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise CaseError(
            f"The checkpoints of audit logs are kept in {display_name(os.fsencode(folder))}, outside the case files, "
            f"and nothing can be written there ({error.strerror}). Nothing was begun. Make room there, or make that "
            "folder writable for you, and try again."
        ) from error


def _read_json(path: Path) -> Any:
    """Return what a small file holds.

    Raises:
        OSError: When it cannot be read.
        SettingsError: When it is nothing that may be read: a pipe would be waited for, a huge file fill memory.
        ValueError: When it is not JSON.
        RecursionError: When it is nested too deeply.
    """
    # What a link leads to may be swapped at any time, so that it is opened first and looked at then.
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise SettingsError("It is not an ordinary file.")
        content = file.read(LARGEST_FILE_BYTES + 1)
    if len(content) > LARGEST_FILE_BYTES:
        raise SettingsError("It is larger than any file of settings.")
    return json.loads(content.decode("utf-8"))


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting for somebody at the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _write_json(path: Path, data: Any) -> None:
    """Write so that a reader sees the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    temporary.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    temporary.replace(path)
