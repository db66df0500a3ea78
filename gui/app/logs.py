"""The application's log: rotating files of JSON lines, without any text that comes from documents.

Covers the format and the files. What is evidence goes into the audit log of the case, never here.
"""

import json
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

OURS = ("engine", "gui")
FILE_BYTES = 1024 * 1024
FILES_KEPT = 5


class JsonLines(logging.Formatter):
    """One JSON object a line, in ASCII, so that nothing that is logged can forge a line.

    An exception is written as its type and the places it went through. Its message is left out, because messages of
    libraries carry paths and content; for the same reason a library's record is written as its bare template.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Override: return the line for a record."""
        ours = record.name.split(".", 1)[0] in OURS
        line: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage() if ours else str(record.msg)[:200],
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["trace"] = places(record.exc_info[1])
        return json.dumps(line, sort_keys=True)


def places(error: BaseException | None) -> list[str]:
    """Return where an error came from and its causes with it, as `file:line function`, without any values."""
    found = []
    while error is not None:
        found.append(type(error).__name__)
        frames = traceback.extract_tb(error.__traceback__)
        found += [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
        error = error.__cause__ or error.__context__
    return found


@contextmanager
def log_files(folder: Path) -> Iterator[Path | None]:
    """Write the log to files in a folder for as long as the context lasts.

    Yields:
        The current file, or None where the folder cannot be written: the program works without a log.
    """
    path = folder / "sluicegate.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = RotatingFileHandler(
            path, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="ascii", errors="backslashreplace"
        )
    except OSError:
        yield None
        return
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    levels = {name: logging.getLogger(name).level for name in OURS}
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    root.addHandler(handler)
    try:
        yield path
    finally:
        root.removeHandler(handler)
        handler.close()
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
