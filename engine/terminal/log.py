"""The log of the terminal program: one JSON object a line, written only when there is something to report.

Covers unexpected faults and warnings of the engine. It holds types and places of errors, never their messages: those of
libraries carry paths and content. What is evidence goes into the audit log of the case, never here.
"""

import json
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

FILE_NAME = "terminal.log"
FILE_BYTES = 1024 * 1024
"""Size at which the file is put aside and a new one begun; one older file is kept."""


class FaultFile(logging.Handler):
    """Appends records to a file, which is made with the first one; without a log the program works all the same."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.WARNING)
        self.path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Override: write one record as one line."""
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size > FILE_BYTES:
                self.path.replace(self.path.with_name(f"{self.path.name}.1"))
            with self.path.open("a", encoding="ascii") as file:
                file.write(json.dumps(_line(record), sort_keys=True) + "\n")


def _line(record: logging.LogRecord) -> dict[str, object]:
    line: dict[str, object] = {
        "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname,
        "logger": record.name,
        "message": record.getMessage(),
    }
    if record.exc_info and record.exc_info[1] is not None:
        line["trace"] = places(record.exc_info[1])
    return line


def places(error: BaseException) -> list[str]:
    """Return an error's type and where it came from, and the same of its causes, without any values."""
    found: list[str] = []
    next_error: BaseException | None = error
    while next_error is not None:
        found.append(type(next_error).__name__)
        frames = traceback.extract_tb(next_error.__traceback__)
        found += [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
        if isinstance(next_error, BaseExceptionGroup):
            found += [place for inner in next_error.exceptions for place in places(inner)]
        next_error = next_error.__cause__ or next_error.__context__
    return found


@contextmanager
def logging_to(folder: Path) -> Iterator[Path]:
    """Keep the engine's log in a folder, and nowhere else, for as long as the block runs.

    Yields:
        The file; it exists once something was written.
    """
    handler = FaultFile(folder / FILE_NAME)
    logger = logging.getLogger("engine")
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield handler.path
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated
        handler.close()
