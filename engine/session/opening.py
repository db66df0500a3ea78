"""Opening a case: from a path to a session, with everything that stands behind it on this system."""

import getpass
import random
from collections.abc import Sequence
from pathlib import Path

from engine.case.casefile import CaseFile
from engine.case.checkpoints import CheckpointLedger
from engine.errors import CaseError, CaseTooNewError, SettingsError
from engine.flow.clock import SystemClock
from engine.pipeline.seams import Source
from engine.session.directories import Directories, load_settings, require_checkpoints
from engine.session.session import Parts, Session, case_threads
from engine.settings import Settings
from engine.source.folder import FolderSource
from engine.work.pool import WorkerPool


async def open_case(
    path: Path,
    *,
    request_id: str | None = None,
    settings: Settings | None = None,
    directories: Directories | None = None,
    operator: str | None = None,
    parts: Parts | None = None,
    read_only: bool = False,
) -> Session:
    """Open a case, or begin a new one where there is no such file.

    Args:
        path: The case file.
        request_id: The request that the case is about: needed for a new one, checked for one that exists.
        settings: Limits and preferences, or None for the saved ones.
        directories: Where things outside the case are kept, or None for the usual places.
        operator: Who works with it, or None for the name of the system's user.
        parts: What runs are made of, or None for the usual.
        read_only: Whether to only look at it: beside another process that has it, or where something is wrong with it.

    Raises:
        CaseError: When the case cannot be used, or is about another request.
        SettingsError: When the saved settings are impossible, or a new case has no request id.
        MachineError: When the system refuses the threads that it takes; then no case was made or opened.
    """
    directories = directories or Directories.default()
    settings = settings or load_settings(directories)
    threads = case_threads()
    try:
        case = await threads.on("writer", lambda: _open(path, request_id, directories, read_only=read_only))
        try:
            return Session(
                case,
                settings=settings,
                operator=operator or operator_name(),
                parts=parts or usual_parts(path),
                threads=threads,
            )
        except BaseException:  # a cancellation, too: the case is closed
            case.close()
            raise
    except BaseException:  # as above: no thread stays behind
        threads.close()
        raise


def usual_parts(case: Path | None = None) -> Parts:
    """Return what runs are made of outside tests: worker processes, folders, the real clock.

    Args:
        case: The case file, which is no document, wherever it lies and whatever its name.
    """

    def folders(sources: Sequence[Path]) -> Source:
        source = FolderSource(sources, own=() if case is None else (case,))
        source.check()
        return source

    return Parts(extractor=WorkerPool, source=folders, clock=SystemClock(), random=random.random)


def operator_name() -> str:
    """Return the name of the system's user: asserted, not proved, and recorded as that."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user in the system's list, as in many containers
        return "unknown"


def make_folder(folder: Path) -> None:
    """Make the usual folder for case files, private to its owner: cases hold the text of other people's documents.

    Raises:
        CaseError: When it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CaseError(
            f"The folder {folder} for case files cannot be made ({error.strerror}). Choose another place for the case."
        ) from error


def _open(path: Path, request_id: str | None, directories: Directories, *, read_only: bool) -> CaseFile:
    ledger = CheckpointLedger(directories.checkpoints)
    if read_only:
        return CaseFile.open(path, ledger=ledger, read_only=True)
    require_checkpoints(directories)
    if path.absolute().parent == directories.cases.absolute():
        make_folder(path.parent)
    if CaseFile.is_new(path):
        if not request_id:
            raise SettingsError(
                f"There is no case at {path}: it was moved or deleted, or has not been made. Choose a case that "
                "exists; to make a new one, give its request id."
            )
        return CaseFile.create(path, request_id=request_id, ledger=ledger)
    try:
        case = CaseFile.open(path, ledger=ledger)
    except CaseTooNewError:
        case = CaseFile.open(path, ledger=ledger, read_only=True)
    held = case.info().request_id
    if request_id and request_id != held:
        case.close()
        raise CaseError(
            f"The case {path} is about the request {held!r}, not {request_id!r}. Nothing was changed. Use another "
            "case file for another request, or leave the request id out."
        )
    return case
