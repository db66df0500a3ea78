"""The errors that leave the engine: one flat tree, each with a sentence for the person in front of it.

A message says what happened, what it means for their pages and what to do next. It never carries document text,
passwords or raw text from a parser. `exit_code` is what the terminal ends with. Errors of libraries and of the
system are mapped to these once, where they enter.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """How the terminal program ends."""

    ALL_EXTRACTED = 0  # Every page and document was extracted or is a duplicate.
    DEAD_LETTERS = 1  # Everything is accounted for, and some of it is a dead letter.
    USAGE = 2  # The call or a setting is impossible.
    STOPPED = 3  # Stopped early; the case can be resumed.
    CASE_UNUSABLE = 4  # The case file cannot be used.


class EngineError(Exception):
    """Any error that the engine raises on purpose; `str(error)` is a finished sentence for people."""

    exit_code: ExitCode = ExitCode.STOPPED

    @property
    def user_message(self) -> str:
        """The sentence to show."""
        return str(self)


class SettingsError(EngineError):
    """A setting, or a combination of settings, is impossible; raised before anything has started."""

    exit_code = ExitCode.USAGE


class MachineError(EngineError):
    """The machine refuses what the program cannot work without, such as threads; nothing was begun."""


class SourceError(EngineError):
    """A source that was asked for cannot be used at all, such as a folder that does not exist."""

    exit_code = ExitCode.USAGE


class CaseError(EngineError):
    """The case file cannot be used; raised when it is opened, created or read."""

    exit_code = ExitCode.CASE_UNUSABLE


class NotACaseError(CaseError):
    """The file exists and is not a Sluicegate case."""


class CaseInUseError(CaseError):
    """Another process has the case open."""


class CaseTooNewError(CaseError):
    """The case was written by a newer version, so that this one may only read it."""


class CaseDamagedError(CaseError):
    """The case file or its audit chain is damaged; nothing is written to it any more."""


class StorageError(EngineError):
    """Writing to the case failed (disk full, I/O error): what was acknowledged is kept, the run stops."""


class WorkerStartError(EngineError):
    """Worker processes cannot be started, so that no page can be tried."""


class ExportError(EngineError):
    """An export could not be written; nothing stands under its final name."""

    exit_code = ExitCode.USAGE
