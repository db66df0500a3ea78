"""The progress display, from made-up snapshots."""

import asyncio
import io
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace

import pytest

from engine.models.flow import Hold
from engine.models.outcome import HoldCause, Reason, RunState
from engine.models.run import Counts, Snapshot
from engine.terminal.console import PlainWordsConsole
from engine.terminal.progress import (
    HOLD_WORDS,
    LiveScreen,
    PlainScreen,
    Progress,
    QuietScreen,
    plain_line,
    render,
    screen_for,
    span_words,
)
from tests.terminal.records import STAGE, snapshot


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Override: it is one."""
        return True


def held(*causes: HoldCause, since_s: float = 100.0) -> Snapshot:
    """Return a snapshot with standing holds."""
    return snapshot(stage=replace(STAGE, holds=tuple(Hold(cause=cause, since_s=since_s) for cause in causes)))


def drawn(shot: Snapshot, now_s: float = 100.0) -> str:
    """Return the display as it stands on a wide screen, blanks folded."""
    console = PlainWordsConsole(io.StringIO())
    console.width = 200
    with console.capture() as capture:
        console.print(render(shot, now_s))
    return "\n".join(" ".join(line.split()) for line in capture.get().splitlines())


def test_the_display_names_all_that_was_promised() -> None:
    """Pages done and enumerated, speed, memory, dead letters and the flow stand there in numbers."""
    text = drawn(snapshot())
    assert "1,023 of 4,321 pages, still finding files" in text
    assert "23 %" in text
    assert "speed 212.2 pages/s, on average 198.0" in text
    assert "documents 33 of 50" in text
    assert "dead letters 5" in text
    assert "in flight 20 of 288 permits, 12 of 256 queued, 1 of 2 workers busy" in text
    assert "memory 210 MB of 1,400 MB, main process 90 MB" in text
    assert "state running, 1 min 15 s" in text
    assert "note Workers are the bottleneck." in text
    assert "held" not in text


def test_an_open_total_is_marked_only_while_files_are_found() -> None:
    """Once all files are found, the total is the total."""
    assert "still finding" not in drawn(snapshot(enumerating=False))


def test_a_run_that_has_only_begun_can_be_shown() -> None:
    """Nothing is divided by zero pages."""
    assert "0 of 0 pages" in drawn(snapshot(counts=Counts(), state=RunState.IDLE))


@pytest.mark.parametrize("cause", HoldCause)
def test_every_hold_is_named_with_its_reason_and_age(cause: HoldCause) -> None:
    """A hold is told by name, with why and since when, in both forms of the display."""
    words = f"{cause}, for 1 min 05 s: {HOLD_WORDS[cause]}"
    assert f"held {words}" in drawn(held(cause), now_s=165.0)
    assert f"held by {words}" in plain_line(held(cause), now_s=165.0)


def test_several_holds_are_all_named() -> None:
    """One cause does not hide another."""
    text = drawn(held(HoldCause.USER, HoldCause.DISK))
    assert "user" in text
    assert "disk" in text


def test_words_of_a_snapshot_are_never_markup() -> None:
    """What looks like markup is shown as it stands, and changes no style."""
    text = drawn(snapshot(bottleneck="[red]a[/red] [link=x]", error=":warning: [/nonsense] [bold]"))
    assert "note [red]a[/red] [link=x]" in text
    assert "error :warning: [/nonsense] [bold]" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.9, "59 s"), (60, "1 min 00 s"), (3599, "59 min 59 s"), (3720, "1 h 02 min")],
)
def test_lengths_of_time_are_told_in_fitting_units(seconds: float, words: str) -> None:
    """Nobody has to divide by sixty."""
    assert span_words(seconds) == words


def lines_of(screen_calls: Callable[[PlainScreen], None]) -> list[str]:
    """Return the lines that a plain screen printed."""
    stream = io.StringIO()
    screen_calls(PlainScreen(PlainWordsConsole(stream)))
    return stream.getvalue().splitlines()


def test_a_day_of_plain_progress_is_a_few_lines() -> None:
    """Without a terminal a long run leaves a readable log, whatever the gate does."""

    def a_day(screen: PlainScreen) -> None:
        shots = (snapshot(), held(HoldCause.MEMORY, HoldCause.WATERMARK))
        for second in range(86_400):
            screen.show(shots[second % 2], float(second))

    assert 20 < len(lines_of(a_day)) < 200


def test_a_short_run_prints_no_plain_line() -> None:
    """A run of a second needs no progress."""

    def a_second(screen: PlainScreen) -> None:
        for step in range(5):
            screen.show(snapshot(), step / 4)

    assert lines_of(a_second) == []


def test_a_lasting_hold_is_told_at_once_and_once() -> None:
    """A hold of a new kind does not wait for the next line; the queue's own rhythm is no news."""

    def calls(screen: PlainScreen) -> None:
        screen.show(held(HoldCause.WATERMARK), 0.0)
        screen.show(held(HoldCause.DISK), 0.25)
        screen.show(held(HoldCause.DISK), 0.5)
        screen.show(held(HoldCause.DISK, HoldCause.UPSTREAM), 0.75)

    lines = lines_of(calls)
    assert len(lines) == 2
    assert HOLD_WORDS[HoldCause.DISK] in lines[0]
    assert HOLD_WORDS[HoldCause.UPSTREAM] in lines[1]


@pytest.mark.parametrize("kind", [PlainScreen, QuietScreen])
def test_what_the_system_refuses_is_told_once_each_time_that_it_begins(kind: type[PlainScreen]) -> None:
    """A log of a run that goes on with fewer workers says why, quiet or not; the words do not come again and again."""
    stream = io.StringIO()
    screen = kind(PlainWordsConsole(stream))
    for step, trouble in enumerate(["", "Only 1 of 2.", "Only 1 of 2.", "", "Only 1 of 3."]):
        screen.show(replace(snapshot(), trouble=trouble), step / 4)
    assert stream.getvalue().splitlines() == ["Only 1 of 2.", "Only 1 of 3."]


def test_a_plain_line_is_one_line_however_long() -> None:
    """A line in a log is not folded at some width."""
    shot = held(*HoldCause)
    lines = lines_of(lambda screen: screen.say(plain_line(shot, 100.0)))
    assert lines == [plain_line(shot, 100.0)]
    assert len(lines[0]) > 200


@pytest.mark.parametrize(
    ("stream", "term", "kind"),
    [
        (Terminal(), "xterm", LiveScreen),
        (Terminal(), "dumb", PlainScreen),
        (io.StringIO(), "xterm", PlainScreen),
    ],
)
def test_the_display_suits_where_it_goes(
    stream: io.StringIO, term: str, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a capable terminal is drawn upon, and none where it should be quiet."""
    monkeypatch.setenv("TERM", term)
    assert type(screen_for(PlainWordsConsole(stream), quiet=False)) is kind
    assert type(screen_for(PlainWordsConsole(stream), quiet=True)) is QuietScreen


def test_a_forced_colour_does_not_turn_a_log_into_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours may be wanted in a pipe; moving the cursor there would be noise."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert type(screen_for(PlainWordsConsole(io.StringIO()), quiet=False)) is PlainScreen


def test_the_live_display_is_removed_and_the_cursor_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was drawn again and again leaves no trace, and what was said stays."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    screen = LiveScreen(PlainWordsConsole(stream))
    screen.show(snapshot(), 100.0)
    screen.say("A sentence [that] stays.")
    screen.show(snapshot(), 101.0)
    screen.close()
    text = stream.getvalue()
    assert "1,023 of 4,321 pages" in text
    assert "A sentence [that] stays." in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1


class RecordingScreen:
    """A screen that keeps what it was told, and on which thread."""

    def __init__(self) -> None:
        self.shown: list[tuple[Snapshot, float]] = []
        self.said: list[str] = []
        self.closed = 0
        self.threads: set[str] = set()

    def show(self, snapshot: Snapshot, now_s: float) -> None:
        """Keep a snapshot."""
        self.threads.add(threading.current_thread().name)
        self.shown.append((snapshot, now_s))

    def say(self, sentence: str) -> None:
        """Keep a sentence."""
        self.said.append(sentence)

    def close(self) -> None:
        """Count the closing."""
        self.closed += 1


@pytest.fixture
def writer() -> Iterator[Executor]:
    """The thread of the display."""
    with ThreadPoolExecutor(1, "progress") as thread:
        yield thread


@pytest.mark.one_loop("asyncio")
async def test_progress_is_drawn_off_the_loop_until_its_end(writer: Executor) -> None:
    """The loop only reads the snapshot; what is said at the very end is said all the same."""
    screen, shot, seen = RecordingScreen(), snapshot(), asyncio.Event()
    progress = Progress(screen)

    def read() -> Snapshot:
        seen.set()
        return shot

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(progress.follow(writer), name="progress")
        progress.say("first")
        progress.watch(read)
        await seen.wait()
        progress.say("last")
        progress.end()
    assert all(shown is shot for shown, _ in screen.shown)
    assert screen.shown
    assert screen.said == ["first", "last"]
    assert screen.closed == 1
    assert all(name.startswith("progress") for name in screen.threads)


@pytest.mark.one_loop("asyncio")
async def test_a_cancelled_display_is_closed(writer: Executor) -> None:
    """Whatever ends the display, the terminal is left as it was found."""
    screen, seen = RecordingScreen(), asyncio.Event()
    progress = Progress(screen)

    def read() -> Snapshot:
        seen.set()
        return snapshot()

    progress.watch(read)
    task = asyncio.ensure_future(progress.follow(writer))
    await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert screen.closed == 1


class FailingScreen(RecordingScreen):
    """A screen with a fault."""

    def show(self, snapshot: Snapshot, now_s: float) -> None:
        """Fail."""
        super().show(snapshot, now_s)
        raise ValueError("a fault in the display")


@pytest.mark.one_loop("asyncio")
async def test_a_fault_in_the_display_does_not_end_the_run(writer: Executor, caplog: pytest.LogCaptureFixture) -> None:
    """The display is given up, noted in the log, and the task beside it goes on."""
    screen, reads = FailingScreen(), asyncio.Semaphore(0)
    progress = Progress(screen)

    def read() -> Snapshot:
        reads.release()
        return snapshot()

    progress.watch(read)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(progress.follow(writer), name="progress")
        for _ in range(3):
            await reads.acquire()
        progress.end()
    assert len(screen.shown) == 1
    assert "progress display failed" in caplog.text


def test_dead_letters_of_documents_and_pages_are_counted_together() -> None:
    """The number on the display is the number of dead letters in the case."""
    counts = Counts(reasons={Reason.NOT_A_PDF: 4, Reason.CORRUPT_PAGE: 2})
    assert "6 dead letters" in plain_line(snapshot(counts=counts), 0.0)
