"""One headless run: open the case, follow the run on the terminal, stop it safely when asked, tell how it ended.

Covers the order of these steps. What is drawn is in `progress`, what is told at the end in `summary`.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from engine.case.casefile import CaseFile
from engine.errors import CaseError, EngineError, ExitCode, SettingsError
from engine.models.run import CaseInfo, RunSummary
from engine.session.directories import Directories, default_case_path, default_request_id, remember_case
from engine.session.opening import open_case
from engine.session.session import Session
from engine.session.threads import OwnThreads
from engine.settings import Settings
from engine.source.root import resolve
from engine.terminal.console import messages, output, shown
from engine.terminal.progress import Progress, screen_for
from engine.terminal.signals import SafeStop
from engine.terminal.summary import exit_code, print_summary, print_trouble, resume_command, summary_json


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What somebody asked to run."""

    sources: tuple[Path, ...]
    """Folders and files; none to go on with what the case has pending."""
    case: Path | None
    """The case file, or None for a new one in the usual place."""
    request_id: str | None
    operator: str | None
    settings: Settings
    as_json: bool
    quiet: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ended."""

    info: CaseInfo
    summary: RunSummary | None
    """None where an end was asked for before the run began."""


def run(request: RunRequest) -> ExitCode:
    """Run a case to its end, or to a safe stop.

    Args:
        request: What to run.

    Returns:
        The exit code.

    Raises:
        EngineError: When the case cannot be opened, or the run cannot begin.
    """
    resolve(request.sources)  # a mistyped folder is told before a case file is made for it
    directories = Directories.default()
    case = request.case or default_case_path(directories, request.sources)
    if not request.sources and not case.exists():
        raise CaseError(f"There is no case file {shown(case)} to go on with. Check its name, or name a folder to run.")
    if not request.sources and CaseFile.is_new(case):
        raise CaseError(f"{shown(case)} holds nothing: its creation was cut short. Name the folder to run again.")
    console = messages()
    end = asyncio.run(_Run(request, case, directories, Progress(screen_for(console, quiet=request.quiet))).run())
    if end.summary is None:
        console.write_line(f"Stopped before anything began. Go on with: {resume_command(case, request.sources)}")
        return ExitCode.STOPPED
    if request.as_json:
        output().write_line(json.dumps(summary_json(end.summary), allow_nan=False))
    if request.quiet:
        print_trouble(console, end.summary, end.info, request.sources)
    else:
        print_summary(console if request.as_json else output(), end.summary, end.info, request.sources)
    return exit_code(end.summary)


class _Run:
    """The part of a run that lives on the event loop."""

    def __init__(self, request: RunRequest, case: Path, directories: Directories, progress: Progress) -> None:
        self._request = request
        self._case = case
        self._directories = directories
        self._progress = progress
        self._stop = SafeStop(say=progress.say)

    async def run(self) -> RunEnd:
        """Run with the display beside it, and with signals taken as requests to stop."""
        end: RunEnd | EngineError
        with OwnThreads("terminal", "display", "files") as threads, self._stop.listening():
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._progress.follow(threads["display"]), name="progress")
                try:
                    end = await self._run_case(threads)
                except EngineError as error:
                    end = error  # raised below: the group would wrap it
                finally:
                    self._progress.end()
        if isinstance(end, EngineError):
            raise end
        return end

    async def _run_case(self, threads: OwnThreads) -> RunEnd:
        new = await threads.on("files", lambda: CaseFile.is_new(self._case))
        session = await self._open(new=new)
        try:
            self._check(session.info)
            await threads.on("files", lambda: remember_case(self._directories, session.info))
            return RunEnd(info=session.info, summary=await self._run_session(session))
        finally:
            await session.close()

    async def _open(self, *, new: bool) -> Session:
        request = self._request
        return await open_case(
            self._case,
            # Where the case exists, its id is compared below: another id is a fault of the call, not of the case.
            request_id=request.request_id or default_request_id(request.sources) if new else None,
            settings=request.settings,
            directories=self._directories,
            operator=request.operator,
        )

    def _check(self, info: CaseInfo) -> None:
        """Refuse a case that is not the one that was meant."""
        asked = self._request.request_id
        if asked is not None and asked != info.request_id:
            raise SettingsError(
                f"The case {shown(info.path)} belongs to the request {shown(info.request_id)}, not to {shown(asked)}. "
                "Leave --request-id out to go on with it, or name another case file."
            )

    async def _run_session(self, session: Session) -> RunSummary | None:
        self._stop.bind(stop=session.stop, cancel=session.cancel)
        if self._stop.requested:
            return None
        info = session.info
        if info.note:
            self._progress.say(info.note)
        if info.paused:
            self._progress.say("The case was paused. It goes on now, because you asked for a run.")
            session.resume()
        self._progress.watch(session.snapshot)
        return await session.run(self._request.sources)
