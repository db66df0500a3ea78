"""Checkpoints kept outside the case file: what tells a shortened or rewritten log from the one that was written.

A chain proves that nothing inside it was changed, and cannot tell whether its end was cut off or all of it was made
anew. A few numbers kept elsewhere can. One file a case, one JSON object a line, only ever appended to.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from engine.case.journal import Checkpoint
from engine.case.storage import shown, sync_folder
from engine.errors import StorageError

_TAIL_BYTES: Final = 64 * 1024


class CheckpointKeeper(Protocol):
    """Keeps checkpoints of cases somewhere else."""

    def keep(self, case_id: str, checkpoints: Sequence[Checkpoint]) -> None:
        """Keep checkpoints, the oldest first; they are safe when this returns.

        Raises:
            StorageError: When they could not be kept.
        """
        ...

    def last(self, case_id: str) -> Checkpoint | None:
        """Return the last checkpoint kept for a case, or None where there is none."""
        ...


class CheckpointLedger:
    """Keeps checkpoints in a folder of the person's own.

    Args:
        folder: Where; it is made when something is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, case_id: str, checkpoints: Sequence[Checkpoint]) -> None:
        """Append checkpoints and wait until they are on disk.

        Raises:
            StorageError: When they could not be written.
        """
        if not checkpoints:
            return
        path = self._path(case_id)
        lines = "".join(
            json.dumps({"case_id": case_id, "count": point.count, "head": point.head}, sort_keys=True) + "\n"
            for point in checkpoints
        )
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            with path.open("a+b") as file:
                # A crash may have left half a line: it is closed off, so that it cannot spoil the next one.
                if file.seek(0, os.SEEK_END) and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                    file.write(b"\n")
                file.write(lines.encode())
                file.flush()
                os.fsync(file.fileno())
            if is_new:
                sync_folder(self._folder)
        except OSError as error:
            raise StorageError(
                f"The checkpoint of the audit log could not be kept in {shown(self._folder)} ({error.strerror}), so "
                "that the run stopped. Everything acknowledged so far is kept. Make room or make that folder writable, "
                "then resume."
            ) from error

    def last(self, case_id: str) -> Checkpoint | None:
        """Return the last checkpoint kept for a case; None where there is none or the file cannot be read."""
        try:
            with self._path(case_id).open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL_BYTES))
                lines = file.read().splitlines()
        except OSError:
            return None
        for line in reversed(lines):
            try:
                fields = json.loads(line)
                if fields["case_id"] == case_id:
                    return Checkpoint(count=int(fields["count"]), head=str(fields["head"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return None

    def _path(self, case_id: str) -> Path:
        return self._folder / f"{case_id}.jsonl"
