"""The window's hold on a case: opening, running, pausing, limits, exports, and every error as a sentence."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from engine import (
    CaseInUseError,
    Counts,
    Directories,
    ExportError,
    RunState,
    Settings,
    SettingsError,
    SourceError,
    Tally,
    load_settings,
    recent_cases,
    remember_case,
    save_settings,
)
from gui.app.tasks import TaskOwner
from gui.views.labels import Tone
from gui.window.abilities import Abilities, abilities_of, at_rest
from gui.window.control import CaseControl
from gui.window.seams import Engine
from tests.support.scripted_session import ScriptedOpener, ScriptedSession, case_info, counts_of, until


@dataclass
class Desk:
    """A control with everything around it, and what it told."""

    control: CaseControl
    opener: ScriptedOpener
    directories: Directories
    tasks: TaskOwner
    said: list[tuple[str, Tone]] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    changes: list[RunState] = field(default_factory=list)

    @property
    def session(self) -> ScriptedSession:
        """The session opened last."""
        return self.opener.opened[-1]

    async def settle(self) -> None:
        """Wait until no task of the window is left but runs."""
        await until(lambda: not set(self.tasks.running) - {"run"})

    async def run_starts(self) -> None:
        """Wait until the session runs."""
        await until(lambda: self.session.state is RunState.RUNNING)

    async def run_ends(self) -> None:
        """Wait until the run has returned."""
        await until(lambda: not self.control.running)


@asynccontextmanager
async def _desk(tmp_path: Path) -> AsyncIterator[Desk]:
    directories = Directories.below(tmp_path)
    opener = ScriptedOpener()

    async def no_sample(_folder: Path) -> int:
        raise NotImplementedError

    engine = Engine(directories=directories, open_case=opener, write_sample_batch=no_sample)
    failures: list[tuple[str, Exception]] = []
    async with TaskOwner(lambda name, error: failures.append((name, error))) as tasks:
        control = CaseControl(engine=engine, tasks=tasks)
        desk = Desk(control, opener, directories, tasks)
        control.said.connect(lambda text, tone: desk.said.append((text.replace("\u00a0", " "), tone)))
        control.busy.connect(desk.busy.append)
        yield desk
        await control.close()
        await desk.settle()
    assert failures == []


async def test_opening_a_case_remembers_it(tmp_path: Path) -> None:
    """An opened case is there, and heads the list of recent ones."""
    case = tmp_path / "a.sluice"
    case.touch()
    async with _desk(tmp_path) as desk:
        assert await desk.control.open(case, request_id="R-9")
        assert desk.control.session is desk.session
        assert [recent.request_id for recent in recent_cases(desk.directories)] == ["R-9"]


async def test_a_case_that_cannot_be_opened_is_told_and_nothing_is_open(tmp_path: Path) -> None:
    """The engine's sentence is told as it is, and the control stays empty and usable."""
    async with _desk(tmp_path) as desk:
        desk.opener.refuse = CaseInUseError("Process 7 has this case open.")
        assert not await desk.control.open(tmp_path / "a.sluice")
        assert desk.control.session is None
        assert desk.said == [("Process 7 has this case open.", Tone.BAD)]
        assert await desk.control.open(tmp_path / "b.sluice")


async def test_a_note_of_the_case_is_told_on_opening(tmp_path: Path) -> None:
    """What the case wants to say on opening, such as a recovery, is told."""
    async with _desk(tmp_path) as desk:
        info = replace(case_info(tmp_path / "a.sluice"), note="Recovered after a crash.")
        desk.opener.prepare = ScriptedSession(info)
        await desk.control.open(tmp_path / "a.sluice")
        assert desk.said == [("Recovered after a crash.", Tone.INFO)]


@pytest.mark.parametrize("content", ["{", '{"flow": {"workers": -5}}', "[" * 100_000], ids=["cut", "wrong", "deep"])
async def test_settings_that_cannot_be_used_do_not_keep_a_case_closed(tmp_path: Path, content: str) -> None:
    """The case opens with the defaults, which is told; the file stays until other limits are applied."""
    async with _desk(tmp_path) as desk:
        desk.directories.settings_file.write_text(content)
        assert await desk.control.open(tmp_path / "a.sluice")
        assert desk.session.settings == Settings()
        [(sentence, tone)] = desk.said
        assert sentence.startswith(f"The settings file {desk.directories.settings_file} cannot be used.")
        assert "default limits hold" in sentence
        assert tone is Tone.WARN
        assert desk.directories.settings_file.read_text() == content
        desk.control.apply(replace(Settings().flow, workers=3))
        await desk.settle()
        assert load_settings(desk.directories) == Settings(flow=replace(Settings().flow, workers=3))
        assert len(desk.said) == 1


async def test_opening_another_case_stops_and_closes_the_first(tmp_path: Path) -> None:
    """One window holds one case: the first is stopped safely before the second opens."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        first = desk.session
        desk.control.run([tmp_path])
        await desk.run_starts()
        await desk.control.open(tmp_path / "b.sluice")
        assert first.calls == ["run 1", "stop", "close"]
        assert desk.control.session is desk.session
        assert desk.session is not first


async def test_two_openings_at_once_leave_one_case_open(tmp_path: Path) -> None:
    """Openings that overlap are carried out one after the other, and no session is lost unclosed."""
    async with _desk(tmp_path) as desk:
        await asyncio.gather(desk.control.open(tmp_path / "a.sluice"), desk.control.open(tmp_path / "b.sluice"))
        assert [session.calls for session in desk.opener.opened] == [["close"], []]


async def test_pause_holds_before_it_returns_and_says_so_at_once(tmp_path: Path) -> None:
    """Pause is synchronous: the session is held and `changed` is out when the call returns."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        desk.control.run([tmp_path])
        await desk.run_starts()
        desk.control.changed.connect(lambda: desk.changes.append(desk.session.state))
        desk.control.pause_or_resume()
        assert desk.session.calls[-1] == "pause"
        assert desk.changes == [RunState.PAUSING]
        desk.control.pause_or_resume()
        assert desk.changes[-1] is RunState.RUNNING
        assert desk.control.running


async def test_resuming_an_unfinished_case_goes_on_with_what_is_pending(tmp_path: Path) -> None:
    """Without a run, Resume starts one without sources and lets go of a kept pause."""
    async with _desk(tmp_path) as desk:
        info = replace(case_info(tmp_path / "a.sluice"), paused=True)
        desk.opener.prepare = ScriptedSession(info, counts=counts_of(5, pending=3))
        await desk.control.open(tmp_path / "a.sluice")
        snapshot = desk.control.snapshot()
        assert snapshot is not None
        assert snapshot.state is RunState.PAUSED
        desk.control.pause_or_resume()
        await desk.run_starts()
        assert desk.session.calls == ["resume", "run 0"]


async def test_a_finished_run_is_told_with_its_numbers(tmp_path: Path) -> None:
    """The message at the end names documents, pages and dead letters."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        desk.control.run([tmp_path])
        await desk.run_starts()
        desk.session.finish(counts_of(1200, dead=4))
        await desk.run_ends()
        assert desk.said == [
            ("Finished: 1,204 documents with 1,204 pages, all accounted for; 4 dead letters.", Tone.WARN)
        ]


async def test_a_run_that_cannot_start_is_told_and_another_can(tmp_path: Path) -> None:
    """A source that does not exist is a sentence; the control is ready for the next run."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        desk.session.refuse = SourceError("There is no folder here.")
        desk.control.run([tmp_path])
        await desk.run_ends()
        assert desk.said == [("There is no folder here.", Tone.BAD)]
        desk.control.run([tmp_path])
        await desk.run_starts()


async def test_a_second_run_is_not_started_beside_the_first(tmp_path: Path) -> None:
    """Starting twice runs once."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        desk.control.run([tmp_path])
        desk.control.run([tmp_path])
        await desk.run_starts()
        assert desk.session.calls == ["run 1"]


async def test_limits_hold_at_once_and_are_kept(tmp_path: Path) -> None:
    """Other limits reach the session, and the next start has them."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        limits = replace(desk.session.settings.flow, workers=3)
        desk.control.apply(limits)
        assert desk.session.settings.flow.workers == 3
        await desk.settle()
        assert load_settings(desk.directories).flow.workers == 3


class FirstWriteLast(ThreadPoolExecutor):
    """Threads that hold the first of some writes back until another is done, or until it is clear that none comes."""

    def __init__(self, write: object) -> None:
        super().__init__(max_workers=4)
        self.write = write
        self.writes = 0
        self._another = threading.Event()

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Override: hold back, or let go, where it is about such a write."""
        if self.write not in (function, *args, *getattr(function, "args", ())):
            return super().submit(function, *args, **kwargs)
        self.writes += 1
        return super().submit(self._first if self.writes == 1 else self._later, function, *args, **kwargs)

    def _first(self, function: Any, *args: Any) -> Any:
        self._another.wait(0.3)
        return function(*args)

    def _later(self, function: Any, *args: Any) -> Any:
        try:
            return function(*args)
        finally:
            self._another.set()


@pytest.mark.one_loop("asyncio")
async def test_the_limits_applied_last_are_those_that_are_kept(tmp_path: Path) -> None:
    """However long the first save takes, the limits of the last click are in the file; those between are left out."""
    threads = FirstWriteLast(save_settings)
    asyncio.get_running_loop().set_default_executor(threads)
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        for workers in (2, 3):
            desk.control.apply(replace(desk.session.settings.flow, workers=workers))
        await until(lambda: threads.writes)
        for workers in (4, 5, 6):
            desk.control.apply(replace(desk.session.settings.flow, workers=workers))
        await desk.settle()
        assert load_settings(desk.directories).flow.workers == 6
        assert threads.writes == 2


@pytest.mark.one_loop("asyncio")
async def test_a_cancelled_opening_does_not_undo_what_a_later_one_remembers(tmp_path: Path) -> None:
    """The case opened last heads the list, although the opening before it was cancelled as it wrote."""
    threads = FirstWriteLast(remember_case)
    asyncio.get_running_loop().set_default_executor(threads)
    paths = [tmp_path / "a.sluice", tmp_path / "b.sluice"]
    for path in paths:
        path.touch()
    async with _desk(tmp_path) as desk:
        first = desk.tasks.start(desk.control.open(paths[0], request_id="A"), name="open")
        assert first is not None
        await until(lambda: threads.writes)
        first.cancel()
        assert await desk.control.open(paths[1], request_id="B")
        await until(lambda: len(recent_cases(desk.directories)) == 2)
        assert [case.request_id for case in recent_cases(desk.directories)] == ["B", "A"]


async def test_limits_that_are_refused_are_told_and_not_kept(tmp_path: Path) -> None:
    """A refusal is the engine's sentence, and nothing is saved."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        desk.session.refuse = SettingsError("The rate is too high.")
        refused: list[str] = []
        desk.control.refused.connect(refused.append)
        desk.control.apply(desk.session.settings.flow)
        await desk.settle()
        assert refused == ["The rate is too high."]
        assert not desk.directories.settings_file.exists()


async def test_an_export_is_told_with_count_place_and_head(tmp_path: Path) -> None:
    """The message has the number of records, where they are, and the first digits of the chain's head."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        await desk.control.export_audit(tmp_path / "audit.jsonl", shown_as="audit.jsonl")
        assert desk.busy == ["Exporting the audit log…"]
        assert desk.said == [
            ("Exported 12,345 records to audit.jsonl; verified; head of the chain 0123456789abcdef", Tone.GOOD)
        ]


async def test_a_second_export_waits_for_the_first(tmp_path: Path) -> None:
    """While one export is written another is refused with a sentence; afterwards it works again."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        held = desk.session.hold_export = asyncio.Event()
        desk.tasks.start(desk.control.export_audit(tmp_path / "one.jsonl", shown_as="one"), name="export")
        await until(lambda: desk.session.calls)
        await desk.control.export_text(tmp_path / "texts", shown_as="texts")
        assert desk.said[-1][1] is Tone.WARN
        held.set()
        await desk.settle()
        await desk.control.export_text(tmp_path / "texts", shown_as="texts")
        assert desk.said[-1] == ("Exported the text of 1 page from 3 documents to texts", Tone.GOOD)


async def test_an_export_begun_while_the_case_is_closing_is_refused(tmp_path: Path) -> None:
    """While the case is being closed nothing is offered, and an export or a run that comes too late does not begin."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        desk.session.counts = counts_of(3)
        assert desk.control.abilities.export
        held = desk.session.hold_close = asyncio.Event()
        desk.tasks.start(desk.control.close(), name="close")
        await until(lambda: desk.session.calls == ["close"])
        assert desk.control.abilities == Abilities()
        await desk.control.export_audit(tmp_path / "late.jsonl", shown_as="late")
        await desk.control.export_text(tmp_path / "late", shown_as="late")
        desk.control.run([tmp_path])
        assert desk.said == [("The case is being closed; open it again to export from it.", Tone.WARN)] * 2
        assert not desk.control.running
        held.set()
        await desk.settle()
        assert desk.session.calls == ["close"]


async def test_closing_waits_for_every_export(tmp_path: Path) -> None:
    """An export that begins the moment another ends is written, too, before the case is closed."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        first = desk.session.hold_export = asyncio.Event()
        desk.tasks.start(desk.control.export_audit(tmp_path / "one", shown_as="one"), name="export")
        await until(lambda: desk.session.calls)
        desk.tasks.start(desk.control.close(), name="close")
        await until(lambda: desk.busy[-1].startswith("Closing"))
        first.set()  # the export ends in the next round of the loop, and the other begins in it, before closing goes on
        second = desk.session.hold_export = asyncio.Event()
        desk.tasks.start(desk.control.export_audit(tmp_path / "two", shown_as="two"), name="another export")
        await until(lambda: "export two" in desk.session.calls)
        for _ in range(5):
            await asyncio.sleep(0)
        assert desk.session.calls == ["export one", "export two"]
        second.set()
        await desk.settle()
        assert desk.session.calls == ["export one", "export two", "close"]
        assert [tone for _, tone in desk.said] == [Tone.GOOD, Tone.GOOD]


async def test_an_export_that_fails_is_told_and_frees_the_way(tmp_path: Path) -> None:
    """A failing export is the engine's sentence, and the next one works."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        desk.session.refuse = ExportError("The disk is full.")
        await desk.control.export_audit(tmp_path / "audit.jsonl", shown_as="audit.jsonl")
        assert desk.said[-1] == ("The disk is full.", Tone.BAD)
        await desk.control.export_audit(tmp_path / "audit.jsonl", shown_as="audit.jsonl")
        assert desk.said[-1][1] is Tone.GOOD


Act = Callable[[CaseControl, Path], Coroutine[Any, Any, object]]


@pytest.mark.parametrize(
    "act",
    [
        lambda control, path: control.open(path / "b.sluice"),
        lambda control, _path: control.close(),
        lambda control, path: control.export_audit(path / "x", shown_as="x"),
    ],
    ids=["open", "close", "export"],
)
async def test_cancelling_an_action_leaves_the_control_usable(tmp_path: Path, act: Act) -> None:
    """A cancelled opening, closing or export holds nothing: the next one goes through."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice")
        first = desk.session
        held = asyncio.Event()
        first.hold_close = first.hold_export = held
        task = desk.tasks.start(act(desk.control, tmp_path), name="act")
        assert task is not None
        await until(lambda: first.calls)
        task.cancel()
        await desk.settle()
        held.set()
        assert await desk.control.open(tmp_path / "c.sluice")
        await desk.control.export_audit(tmp_path / "x", shown_as="x")
        assert desk.session.calls == ["export x"]


def test_what_can_be_done_follows_from_state_and_run() -> None:
    """Each state of a run allows exactly what makes sense in it."""
    snapshot = ScriptedSession(case_info(Path("a.sluice")), counts=counts_of(1)).snapshot()

    def able(state: RunState, *, running: bool, read_only: bool = False) -> str:
        abilities = abilities_of(replace(snapshot, state=state), running=running, read_only=read_only)
        return " ".join(name for name in ("pause", "resume", "stop") if getattr(abilities, name))

    assert able(RunState.RUNNING, running=True) == "pause stop"
    assert able(RunState.PAUSING, running=True) == "resume stop"
    assert able(RunState.PAUSED, running=True) == "resume stop"
    assert able(RunState.STOPPING, running=True) == ""
    assert able(RunState.INCOMPLETE, running=False) == "resume"
    assert able(RunState.PAUSED, running=False) == "resume"
    assert able(RunState.PAUSED, running=False, read_only=True) == ""
    assert able(RunState.FINISHED, running=False) == ""
    assert able(RunState.IDLE, running=False) == ""


@pytest.mark.parametrize(
    ("counts", "paused", "unfinished", "state"),
    [
        (Counts(), False, (), RunState.IDLE),
        (counts_of(3), False, (), RunState.FINISHED),
        (counts_of(3), True, (), RunState.FINISHED),
        (counts_of(3, pending=1), False, (), RunState.INCOMPLETE),
        (counts_of(3, pending=1), True, (), RunState.PAUSED),
        (counts_of(3), False, (b"/source",), RunState.INCOMPLETE),
        (Counts(documents=Tally(enumerated=1)), False, (), RunState.INCOMPLETE),
    ],
)
def test_a_case_at_rest_shows_where_it_stands(
    counts: Counts,
    paused: bool,  # noqa: FBT001  # a parameter
    unfinished: tuple[bytes, ...],
    state: RunState,
) -> None:
    """Before the first run of a session, the state is read off the counts, the pause and the sources."""
    info = replace(case_info(Path("a.sluice")), paused=paused, unfinished_sources=unfinished)
    snapshot = ScriptedSession(info, counts=counts).snapshot()
    assert at_rest(snapshot, info).state is state
