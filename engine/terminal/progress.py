"""The progress display: a few lines that are drawn again on a terminal, a few plain lines everywhere else.

Covers what a `Snapshot` says to people while a run is going on. How a run ended is said by `summary`. Drawing happens
on a thread: a terminal that is held (Ctrl+S), or a pipe that nobody reads, must not stop the run.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from engine.models.flow import Hold
from engine.models.outcome import HoldCause, RunState
from engine.models.run import Snapshot
from engine.terminal.console import PlainWordsConsole

_log = logging.getLogger(__name__)

REDRAW_S = 0.25
"""Time between two looks at the run."""
FIRST_LINE_S = 2.0
"""Time before the first plain line; each next wait is twice as long, up to `LONGEST_SILENCE_S`."""
LONGEST_SILENCE_S = 600.0

HOLD_WORDS: dict[HoldCause, str] = {
    HoldCause.WATERMARK: "the queue is full and drains to its low mark",
    HoldCause.USER: "the case is paused",
    HoldCause.MEMORY: "the memory budget is nearly used up",
    HoldCause.DISK: "the disk of the case file is nearly full",
    HoldCause.UPSTREAM: "the source is away",
    HoldCause.STORAGE: "the case cannot be written",
}

_STATE_WORDS: dict[RunState, str] = {
    RunState.IDLE: "starting",
    RunState.RUNNING: "running",
    RunState.PAUSING: "pausing, pages are in flight",
    RunState.PAUSED: "paused",
    RunState.STOPPING: "stopping, what is in flight is finished",
    RunState.FINISHED: "finished",
    RunState.INCOMPLETE: "ended early",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of the display."""

    label: str
    words: str
    alarming: bool = False


def mib(size_bytes: float) -> str:
    """Return a size in whole megabytes (2^20 bytes), with the unit."""
    return f"{size_bytes / 2**20:,.0f} MB"


def span_words(seconds: float) -> str:
    """Return a length of time for people, such as `1 h 02 min` or `12 s`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def pages_words(snapshot: Snapshot) -> str:
    """Return how many of the pages known so far have their outcome, and whether more are still being found."""
    pages = snapshot.counts.pages
    more = ", still finding files" if snapshot.enumerating else ""
    return f"{pages.terminal:,} of {pages.enumerated:,} pages{more}"


def hold_words(hold: Hold, now_s: float) -> str:
    """Return a standing hold with its cause by name, its reason and how long it has lasted."""
    return f"{hold.cause}, for {span_words(max(0.0, now_s - hold.since_s))}: {HOLD_WORDS[hold.cause]}"


def dead_letters(snapshot: Snapshot) -> int:
    """Return how many dead letters the case holds, pages and documents together."""
    return sum(snapshot.counts.reasons.values())


def facts(snapshot: Snapshot, now_s: float) -> tuple[Fact, ...]:
    """Return the lines of the display, most important first.

    Args:
        snapshot: The run at this moment.
        now_s: The time on the monotonic clock.
    """
    stage, documents = snapshot.stage, snapshot.counts.documents
    dead = dead_letters(snapshot)
    lines = [
        Fact(label="state", words=f"{_STATE_WORDS[snapshot.state]}, {span_words(snapshot.active_s)}"),
        Fact(label="speed", words=f"{snapshot.pages_per_s:,.1f} pages/s, on average {snapshot.mean_pages_per_s:,.1f}"),
        Fact(label="documents", words=f"{documents.terminal:,} of {documents.enumerated:,}"),
        Fact(label="dead letters", words=f"{dead:,}", alarming=dead > 0),
        Fact(
            label="in flight",
            words=f"{stage.permits_held:,} of {stage.permits:,} permits, {stage.queue_depth:,} of {stage.max_queue:,} "
            f"queued, {stage.workers_busy} of {stage.workers} workers busy",
        ),
        Fact(
            label="memory",
            words=f"{mib(snapshot.rss_tree_bytes)} of {mib(snapshot.memory_budget_bytes)}, "
            f"main process {mib(snapshot.rss_main_bytes)}",
        ),
    ]
    lines += [
        Fact(label="held", words=hold_words(hold, now_s), alarming=hold.cause is not HoldCause.WATERMARK)
        for hold in stage.holds
    ]
    if snapshot.bottleneck:
        lines.append(Fact(label="note", words=snapshot.bottleneck))
    if snapshot.error:
        lines.append(Fact(label="error", words=snapshot.error, alarming=True))
    return tuple(lines)


def render(snapshot: Snapshot, now_s: float) -> RenderableType:
    """Return the display of a run at one moment; every word of it is text, never markup.

    Args:
        snapshot: The run at this moment.
        now_s: The time on the monotonic clock.
    """
    pages = snapshot.counts.pages
    head = Table.grid(padding=(0, 2))
    head.add_row(
        Text(pages_words(snapshot), style="bold"),
        ProgressBar(total=max(1, pages.enumerated), completed=pages.terminal, width=30),
        Text(f"{100 * pages.terminal // pages.enumerated if pages.enumerated else 0} %"),
    )
    body = Table.grid(padding=(0, 2))
    for fact in facts(snapshot, now_s):
        body.add_row(Text(fact.label, style="dim"), Text(fact.words, style="bold red" if fact.alarming else ""))
    return Group(head, body)


def plain_line(snapshot: Snapshot, now_s: float) -> str:
    """Return the same in one line, for a log or a pipe.

    Args:
        snapshot: The run at this moment.
        now_s: The time on the monotonic clock.
    """
    parts = [
        f"{span_words(snapshot.active_s)}: {pages_words(snapshot)}",
        f"{snapshot.pages_per_s:,.1f} pages/s",
        f"{dead_letters(snapshot):,} dead letters",
        f"memory {mib(snapshot.rss_tree_bytes)} of {mib(snapshot.memory_budget_bytes)}",
    ]
    parts += [f"held by {hold_words(hold, now_s)}" for hold in snapshot.stage.holds]
    return "; ".join(parts)


class Screen(Protocol):
    """Where progress is shown. Blocking: both methods are called on a thread, never at the same time."""

    def show(self, snapshot: Snapshot, now_s: float) -> None:
        """Show the run at this moment, or leave it."""
        ...

    def say(self, sentence: str) -> None:
        """Print a sentence that stays."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was found."""
        ...


class LiveScreen:
    """Draws the display again and again in the same place of a terminal."""

    def __init__(self, console: PlainWordsConsole) -> None:
        self._console = console
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )

    def show(self, snapshot: Snapshot, now_s: float) -> None:
        """Draw the run at this moment."""
        self._live.start()
        self._live.update(render(snapshot, now_s), refresh=True)

    def say(self, sentence: str) -> None:
        """Print a sentence above the display."""
        self._console.print(sentence)

    def close(self) -> None:
        """Remove the display and show the cursor again."""
        self._live.stop()


class PlainScreen:
    """Prints a line now and then: seldom enough for a log, and at once when a hold of a new kind begins."""

    def __init__(self, console: PlainWordsConsole) -> None:
        self._console = console
        self._wait_s = FIRST_LINE_S
        self._due_s: float | None = None
        self._known: set[HoldCause] = {HoldCause.WATERMARK}  # it comes and goes all the time, as it should
        self._in_trouble = False

    def show(self, snapshot: Snapshot, now_s: float) -> None:
        """Print a line if it is time for one."""
        if self._due_s is None:
            self._due_s = now_s + self._wait_s
        self._say_trouble(snapshot)
        causes = {hold.cause for hold in snapshot.stage.holds}
        if now_s < self._due_s and causes <= self._known:
            return
        # Each cause brings a line forward once in a run, so that one that comes and goes cannot fill a log.
        self._known |= causes
        if now_s >= self._due_s:
            self._wait_s = min(self._wait_s * 2, LONGEST_SILENCE_S)
            self._due_s = now_s + self._wait_s
        self.say(plain_line(snapshot, now_s))

    def say(self, sentence: str) -> None:
        """Print a line."""
        self._console.write_line(sentence)

    def _say_trouble(self, snapshot: Snapshot) -> None:
        """Say what the system refuses, once each time that it begins to."""
        if snapshot.trouble and not self._in_trouble:
            self.say(snapshot.trouble)
        self._in_trouble = bool(snapshot.trouble)

    def close(self) -> None:
        """Do nothing: every line is finished already."""


_WAITS_FOR_SOMEBODY = frozenset({HoldCause.DISK, HoldCause.MEMORY, HoldCause.UPSTREAM, HoldCause.STORAGE})


class QuietScreen(PlainScreen):
    """Shows no progress; sentences that somebody must know are still said."""

    def __init__(self, console: PlainWordsConsole) -> None:
        super().__init__(console)
        self._told: frozenset[HoldCause] = frozenset()

    def show(self, snapshot: Snapshot, now_s: float) -> None:  # noqa: ARG002  # nothing here depends on the time
        """Say once that the run waits for something that somebody may have to see to."""
        causes = frozenset(hold.cause for hold in snapshot.stage.holds) & _WAITS_FOR_SOMEBODY
        if causes - self._told:
            self.say(snapshot.bottleneck)
        self._told = causes
        self._say_trouble(snapshot)


def screen_for(console: PlainWordsConsole, *, quiet: bool) -> Screen:
    """Return the screen that suits a console: drawn again on a terminal, plain elsewhere, none where it is quiet."""
    if quiet:
        return QuietScreen(console)
    return LiveScreen(console) if console.redraws else PlainScreen(console)


class Progress:
    """Follows a run and shows it, in a task of its own, until `end` is called.

    Only the event loop changes what is still to be said and whether the end has come. Everything that writes runs on
    one thread, in order, and gets what it needs handed over.
    """

    def __init__(self, screen: Screen, *, clock: Callable[[], float] = monotonic) -> None:
        self._screen = screen
        self._read: Callable[[], Snapshot] | None = None
        self._clock = clock
        self._sentences: list[str] = []
        self._nudge = asyncio.Event()
        self._ended = False
        self._broken = False

    def watch(self, read: Callable[[], Snapshot]) -> None:
        """Show a run from now on; before, only sentences are printed."""
        self._read = read

    def say(self, sentence: str) -> None:
        """Have a sentence printed soon; returns at once, so that signal handlers may call it."""
        self._sentences.append(sentence)
        self._nudge.set()

    def end(self) -> None:
        """Have the display closed; `follow` returns soon after."""
        self._ended = True
        self._nudge.set()

    async def follow(self, writer: Executor) -> None:
        """Show the run until `end` is called.

        Args:
            writer: One thread, for everything that writes.
        """
        loop = asyncio.get_running_loop()
        try:
            while not self._ended:
                self._nudge.clear()
                await loop.run_in_executor(writer, self._draw, self._taken(), self._read and self._read())
                with suppress(TimeoutError):
                    async with asyncio.timeout(REDRAW_S):
                        await self._nudge.wait()
        finally:
            await asyncio.shield(loop.run_in_executor(writer, self._close, self._taken()))

    def _taken(self) -> tuple[str, ...]:
        taken = tuple(self._sentences)
        self._sentences.clear()
        return taken

    def _draw(self, sentences: tuple[str, ...], snapshot: Snapshot | None) -> None:
        if self._broken:
            return
        try:
            for sentence in sentences:
                self._screen.say(sentence)
            if snapshot is not None:
                self._screen.show(snapshot, self._clock())
        except Exception:  # noqa: BLE001  # the named border: a fault in the display must not end a run of many hours
            self._broken = True
            _log.warning("The progress display failed; the run goes on without it", exc_info=True)

    def _close(self, sentences: tuple[str, ...]) -> None:
        self._screen.close()
        for sentence in sentences:
            self._screen.say(sentence)
