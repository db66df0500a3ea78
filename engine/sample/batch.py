"""The sample batch, written on demand: a folder of documents, good and bad, to try the program on.

Covers putting the batch into a folder. What it consists of is in `documents`; the documents are drawn by `writer`, in
a process of its own, since nothing else here may load MuPDF.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.errors import SourceError
from engine.models.names import display_name
from engine.sample.documents import NOTE, Kind, SampleCopy, SampleDocument, SampleFile, SampleLink, SampleRaw, files
from engine.sample.shaping import drawn

_TIME_LIMIT_S = 300
_NOTE_TEXT = """\
These are sample documents, written to try the program on.

The town, the people and the sums are made up. Most documents are plain office papers. Some are bad on purpose, as some
are in every large folder: scans without text, damaged and truncated files, one with a password, one that is no PDF at
all, copies, and odd names. None of them does any harm, and the whole folder may be thrown away.

Batch {digest}
"""


async def write_sample_batch(folder: Path) -> int:
    """Write the sample batch to a folder; see `write_sample_batch_now`.

    Cancelling ends the wait, not the writing, which takes some seconds.

    Args:
        folder: Where to; it is made where it does not exist.

    Returns:
        The number of files in the batch, those included that a run will leave out.

    Raises:
        SourceError: When the folder holds something else, or cannot be written.
    """
    return await asyncio.get_running_loop().run_in_executor(None, write_sample_batch_now, folder)


def write_sample_batch_now(folder: Path) -> int:
    """Write the sample batch to a folder; blocking.

    A folder that already holds the batch is left as it is; one in which writing it was interrupted is completed.

    Args:
        folder: Where to; it is made where it does not exist.

    Returns:
        The number of files in the batch, those included that a run will leave out.

    Raises:
        SourceError: When the folder holds something else, or cannot be written.
    """
    batch = tuple(files())
    plan = json.dumps([_planned(file) for file in batch if isinstance(file, SampleDocument)])
    note = _NOTE_TEXT.format(digest=hashlib.sha256(plan.encode()).hexdigest()[:16]).encode()
    shown = display_name(os.fsencode(folder))
    try:
        if not _is_ours(folder, note):
            raise SourceError(
                f"{shown} is not empty, and holds something other than the sample batch of this version. Nothing was "
                "written. Choose an empty folder, or the name of a new one."
            )
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / NOTE).exists():
            _put(folder / NOTE, note)
        if any(_is_missing(folder, file) for file in batch):
            _draw(folder, plan)
            for file in batch:
                _add(folder, file)
            for file in batch:
                _date(folder / file.path)
    except OSError as error:
        cause = os.strerror(error.errno) if error.errno else "unknown error"
        raise SourceError(f"The sample batch cannot be written to {shown} ({cause}). Choose another folder.") from error
    return 1 + sum(os.path.lexists(folder / file.path) for file in batch)


def _date(path: Path) -> None:
    """Date a file an hour back: a run waits with bad files that somebody may still be writing."""
    changed_s = time.time() - 3600
    if path.is_file() and not path.is_symlink():
        os.utime(path, (changed_s, changed_s))


def _planned(document: SampleDocument) -> dict[str, Any]:
    """Return a document as the writer takes it: lines in the order in which they are drawn."""
    planned = asdict(document)
    for page in planned["pages"]:
        if page["kind"] is Kind.RIGHT_TO_LEFT:
            page["lines"] = [drawn(line) for line in page["lines"]]
    return planned


def _is_ours(folder: Path, note: bytes) -> bool:
    try:
        with os.scandir(folder) as entries:
            if next(entries, None) is None:
                return True
        return (folder / NOTE).read_bytes() == note
    except FileNotFoundError:
        return not folder.exists()


def _is_missing(folder: Path, file: SampleFile) -> bool:
    may_be_missing = isinstance(file, SampleLink) or (isinstance(file, SampleDocument) and file.optional)
    return not may_be_missing and not (folder / file.path).exists()


def _draw(folder: Path, plan: str) -> None:
    writer = Path(__file__).with_name("writer.py")
    try:
        subprocess.run(  # noqa: S603  # our own program, by its path
            [sys.executable, "-I", os.fspath(writer), os.fspath(folder.absolute())],
            input=plan.encode(),
            capture_output=True,
            check=True,
            timeout=_TIME_LIMIT_S,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # on Windows a console would flash up
        )
    except subprocess.SubprocessError as error:
        raise SourceError(
            "The sample documents could not be drawn. Free some disk space and try again, or install the program anew."
        ) from error


def _add(folder: Path, file: SampleFile) -> None:
    """Put a file into the folder that needs no drawing."""
    path = folder / file.path
    match file:
        case SampleRaw():
            path.parent.mkdir(parents=True, exist_ok=True)
            _put(path, file.content)
        case SampleCopy():
            path.parent.mkdir(parents=True, exist_ok=True)
            _put(path, (folder / file.of).read_bytes())
        case SampleLink():
            with contextlib.suppress(OSError):  # it is there, or this system does not let us make one
                path.symlink_to(file.to)


def _put(path: Path, content: bytes) -> None:
    """Write a file wholly or not at all, so that a file that is there is a whole one."""
    part = path.with_name("unfinished.part")
    part.write_bytes(content)
    part.replace(path)
