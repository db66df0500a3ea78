"""What an export must not take the place of: the case, a document of it, and whatever is no ordinary file.

Only names are looked at, before anything is written. Texts go into a folder of their own, which `texts` checks.
"""

import os
import stat
from pathlib import Path

from engine.case.reader import CaseReader
from engine.case.storage import shown
from engine.errors import CaseDamagedError, ExportError

_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def check_target(out: Path, reader: CaseReader) -> None:
    """Refuse a file that an export must not replace.

    Args:
        out: The file to write.
        reader: The case that is exported.

    Raises:
        ExportError: When that is the case, one of its documents, or no ordinary file.
        OSError: When the system does not let us look.
    """
    real = os.path.realpath(out)
    itself = os.path.realpath(reader.path)
    if real in {itself + suffix for suffix in ("", "-wal", "-shm", "-journal", ".lock")}:
        raise ExportError(f"{shown(out)} is the case itself. Choose another name for the export.")
    try:
        mode = os.lstat(out).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
        raise ExportError(
            f"{shown(out)} could not be written: {kind} of that name is there, and only an ordinary file is replaced. "
            "Choose another name for the export."
        )
    try:
        is_document = _is_document(os.fsencode(real), reader)
    except CaseDamagedError as error:
        # A log can be taken out of a damaged case as it is; then nothing tells a document from another file.
        if mode is None:
            return
        raise ExportError(
            f"{shown(out)} exists, and the case is damaged, so that nothing tells whether that is one of its "
            "documents. Choose a new name for the export."
        ) from error
    if is_document:
        raise ExportError(
            f"{shown(out)} is a document of this case, and is not replaced by the export. Choose another name."
        )


def _is_document(path: bytes, reader: CaseReader) -> bool:
    """Whether a real path is that of a document that was found, in whatever version."""
    for root_id, root in reader.root_paths():
        below = os.path.join(os.path.realpath(root), b"")  # noqa: PTH118  # paths are bytes
        if path.startswith(below) and reader.has_document(root_id, path.removeprefix(below)):
            return True
    return False
