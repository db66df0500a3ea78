"""Every limit as an option of the command line, and the way from given options to `Settings`.

Covers the table of knobs, how values with units are read (`75%`, `512M`, `2m`) and the grouped help text. What a
combination of values means, and whether it can work, is the business of `engine.settings`; this module invents
no rule of its own. A value that cannot be read is wrong usage, an impossible one is a `SettingsError`: both end with
exit code 2.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, TypeVar

import click

from engine.settings import Clocks, DiskReserve, FlowLimits, MemoryBudget, RetryLimits, Settings, WorkerLimits

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_NUMBER_AND_UNIT = re.compile(r"\s*(-?[0-9]{1,18}(?:\.[0-9]{1,9})?)\s*([A-Za-z%]*)\s*\Z", re.ASCII)
_BYTES_PER = {"": 1, "B": 1} | {
    letter + tail: 1024**power for power, letter in enumerate("KMGT", start=1) for tail in ("", "B", "IB")
}
_MS_PER = {"": 1000, "MS": 1, "S": 1000, "M": 60_000, "MIN": 60_000, "H": 3_600_000}


def _number_and_unit(value: str) -> tuple[Decimal, str] | None:
    match = _NUMBER_AND_UNIT.match(value)
    return (Decimal(match[1]), match[2].upper()) if match else None


def read_size(value: str) -> int:
    """Read bytes, with K, M, G or T for the powers of 1,024.

    Args:
        value: What was given, such as `512M`.

    Raises:
        click.BadParameter: When it is no size.
    """
    read = _number_and_unit(value)
    if read is None or read[1] not in _BYTES_PER:
        raise click.BadParameter(f"{value!r} is not a size. Write bytes, or 512K, 512M, 2G (powers of 1,024).")
    size_bytes = int(read[0] * _BYTES_PER[read[1]])
    if size_bytes >= 2**63:
        raise click.BadParameter(f"{value!r} is more than any system can count.")
    return size_bytes


def read_duration(value: str) -> float:
    """Read seconds, or a number with ms, s, m or h.

    Args:
        value: What was given, such as `2m`.

    Raises:
        click.BadParameter: When it is no duration.
    """
    read = _number_and_unit(value)
    if read is None or read[1] not in _MS_PER:
        raise click.BadParameter(f"{value!r} is not a duration. Write seconds, or 500ms, 30s, 2m, 1h.")
    return float(read[0] * _MS_PER[read[1]] / 1000)


def read_percent(value: str) -> int:
    """Read a whole number of percent, with or without the sign.

    Args:
        value: What was given, such as `90%`.

    Raises:
        click.BadParameter: When it is no whole percentage.
    """
    read = _number_and_unit(value)
    if read is None or read[1] not in {"", "%"} or read[0] != int(read[0]):
        raise click.BadParameter(f"{value!r} is not a whole percentage. Write it as 90%.")
    return int(read[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A watermark as it was given: pages, or a share of the queue's size."""

    number: Decimal
    percent: bool

    def pages(self, max_queue: int) -> int:
        """Return the mark in pages, rounded down as the built-in marks are."""
        return int(self.number * max_queue / 100) if self.percent else int(self.number)


def read_mark(value: str) -> Mark:
    """Read a watermark: whole pages, or a share of the queue's size.

    Args:
        value: What was given, such as `192` or `75%`.

    Raises:
        click.BadParameter: When it is neither.
    """
    read = _number_and_unit(value)
    if read is None or read[1] not in {"", "%"} or (not read[1] and read[0] != int(read[0])):
        raise click.BadParameter(f"{value!r} is not a mark. Write whole pages, such as 192, or a share, such as 75%.")
    return Mark(number=read[0], percent=read[1] == "%")


def read_head(value: str) -> str:
    """Read the head of an audit log: a SHA-256 in hexadecimal digits.

    Args:
        value: What was given.

    Raises:
        click.BadParameter: When it is none, such as the shortened one that the final table of a run shows.
    """
    head = value.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", head):
        raise click.BadParameter(f"{value!r} is not a head. Give all of its 64 hexadecimal digits.")
    return head


def size_words(value: int) -> str:
    """Return a size as it would be given, such as `400M`."""
    for letter, power in (("G", 3), ("M", 2), ("K", 1)):
        if value and value % 1024**power == 0:
            return f"{value // 1024**power}{letter}"
    return str(value)


def duration_words(value: float) -> str:
    """Return a duration as it would be given, such as `2m`."""
    for letter, unit_s in (("h", 3600), ("m", 60)):
        if value >= unit_s and value % unit_s == 0:
            return f"{int(value // unit_s)}{letter}"
    return f"{value:g}s"


class LimitOption(click.Option):
    """An option that stands under a heading of its own in the help text."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help text lists options under the headings of their groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Override: one section for plain options, then one for each group, in order of appearance."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "group", "Options"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


_Section = (
    type[FlowLimits] | type[Clocks] | type[WorkerLimits] | type[MemoryBudget] | type[DiskReserve] | type[RetryLimits]
)

FLOW = "Flow (queue, marks and permits count pages)"
MEMORY = "Memory of the whole process tree"
DISK = "Disk of the case file"
RETRIES = "Retries"
CLOCKS = "Clocks (seconds, or with ms, s, m, h); what runs over is ended at once"
WORKERS = "Limits of one worker process (sizes in bytes, or with K, M, G)"

_WORDS: dict[Any, Callable[[Any], str]] = {
    read_size: size_words,
    read_duration: duration_words,
    read_percent: lambda value: f"{value}%",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One limit: the option that sets it and the field of the settings behind it."""

    flag: str
    section: _Section
    name: str
    """Name of the field in its section."""
    read: Any
    """What click turns the given text into a value with: a type or a function."""
    group: str
    help: str
    metavar: str
    default: str = ""
    """The default in words, where it follows from other values."""

    @property
    def parameter(self) -> str:
        """Name under which click hands the value over."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def default_words(self) -> str:
        """The default as the help text shows it."""
        if self.default:
            return self.default
        value = next(item.default for item in fields(self.section) if item.name == self.name)
        return _WORDS.get(self.read, str)(value)


def _flow(flag: str, name: str, metavar: str, words: str, default: str = "", *, read: Any = int) -> Knob:
    return Knob(
        flag=flag, section=FlowLimits, name=name, read=read, group=FLOW, help=words, metavar=metavar, default=default
    )


def _memory(flag: str, name: str, metavar: str, words: str, default: str = "") -> Knob:
    read = read_size if metavar == "SIZE" else read_percent
    return Knob(
        flag=flag,
        section=MemoryBudget,
        name=name,
        read=read,
        group=MEMORY,
        help=words,
        metavar=metavar,
        default=default,
    )


def _disk(flag: str, name: str, words: str) -> Knob:
    return Knob(flag=flag, section=DiskReserve, name=name, read=read_size, group=DISK, help=words, metavar="SIZE")


def _retry(flag: str, name: str, metavar: str, words: str) -> Knob:
    read = read_duration if metavar == "TIME" else int
    return Knob(flag=flag, section=RetryLimits, name=name, read=read, group=RETRIES, help=words, metavar=metavar)


def _clock(flag: str, name: str, words: str) -> Knob:
    return Knob(flag=flag, section=Clocks, name=name, read=read_duration, group=CLOCKS, help=words, metavar="TIME")


def _worker(flag: str, name: str, metavar: str, words: str) -> Knob:
    read = read_size if metavar == "SIZE" else int
    return Knob(flag=flag, section=WorkerLimits, name=name, read=read, group=WORKERS, help=words, metavar=metavar)


KNOBS: tuple[Knob, ...] = (
    _flow("--workers", "workers", "N", "Worker processes.", "one for each core that may be used"),
    _flow("--span", "span_pages", "PAGES", "Most pages of one document that a worker takes at a time.", "64"),
    _flow("--max-queue", "max_queue", "PAGES", "Most pages waiting in the queue.", "256"),
    _flow("--hi", "hi", "PAGES|%", "Queue depth at which admission is held.", "75%", read=read_mark),
    _flow("--lo", "lo", "PAGES|%", "Queue depth at which admission goes on; below --hi.", "25%", read=read_mark),
    _flow("--permits", "permits", "PAGES", "Most pages in flight; above --hi.", "max-queue + workers x span"),
    _flow(
        "--rate", "rate_per_s", "PAGES/S", "Most pages admitted per second, in the long run.", "no limit", read=float
    ),
    _flow("--burst", "burst", "PAGES", "Most pages admitted at once where --rate is given."),
    _memory("--memory-budget", "budget_bytes", "SIZE", "Resident memory of all processes.", "70% of what is allowed"),
    _memory("--memory-hold", "hold_percent", "%", "Share of the budget at which admission is held."),
    _memory("--memory-release", "release_percent", "%", "Share of the budget at which it goes on."),
    _disk("--disk-hold", "hold_below_bytes", "Free space at the case file below which admission is held."),
    _disk("--disk-release", "release_at_bytes", "Free space from which it goes on."),
    _retry("--retry-attempts", "attempts", "N", "Tries in all where the circumstances failed."),
    _retry("--retry-delay", "first_delay_s", "TIME", "Longest delay before the second try; it doubles each time."),
    _retry("--retry-max-delay", "max_delay_s", "TIME", "Longest delay before any try."),
    _clock("--start-clock", "start_s", "From starting a worker to its readiness."),
    _clock("--open-clock", "open_s", "Opening and hashing one document."),
    _clock("--page-clock", "page_s", "The text of one page."),
    _clock("--ocr-page-clock", "ocr_page_s", "Recognising one scanned page."),
    _clock("--document-clock", "document_s", "All work on one document."),
    _worker("--worker-address-space", "address_space_bytes", "SIZE", "Hard limit on its address space."),
    _worker("--worker-recycle-rss", "recycle_rss_bytes", "SIZE", "Resident memory above which it is replaced."),
    _worker("--worker-kill-rss", "kill_rss_bytes", "SIZE", "Resident memory above which it is ended at once."),
    _worker("--worker-recycle-pages", "recycle_pages", "PAGES", "Pages after which it is replaced."),
    _worker("--worker-max-text", "max_text_bytes", "SIZE", "Most text of one page, in UTF-8."),
    _worker("--worker-attempts", "max_attempts", "N", "Tries in all for a page that ended its worker."),
    _worker("--worker-start-failures", "max_start_failures", "N", "Failed starts in a row that end the run."),
    Knob(
        flag="--require-sandbox",
        section=WorkerLimits,
        name="require_sandbox",
        read=bool,
        group=WORKERS,
        help="Try no page where a worker cannot enter the whole sandbox.",
        metavar="",
        default="run with what there is, and record it",
    ),
)


def limit_options(command: Decorated) -> Decorated:
    """Decorate a command's function with one option for every knob."""
    for knob in reversed(KNOBS):
        command = click.option(
            knob.flag,
            knob.parameter,
            cls=LimitOption,
            group=knob.group,
            type=knob.read,
            is_flag=knob.read is bool,
            default=None,
            metavar=knob.metavar or None,
            help=f"{knob.help} [default: {knob.default_words}]",
        )(command)
    return command


def settings_from(values: Mapping[str, Any]) -> Settings:
    """Return the settings that the given options make; what was not given keeps its default.

    Args:
        values: What click handed over, by parameter name; None counts as not given.

    Raises:
        SettingsError: When a value or a combination cannot work, with the sentence that says why.
    """
    given: dict[_Section, dict[str, Any]] = {
        FlowLimits: {},
        Clocks: {},
        WorkerLimits: {},
        MemoryBudget: {},
        DiskReserve: {},
        RetryLimits: {},
    }
    for knob in KNOBS:
        value = values.get(knob.parameter)
        if value is not None:
            given[knob.section][knob.name] = value
    flow = given[FlowLimits]
    # A share is a share of the queue's size as it will be, so the size has to be settled first.
    max_queue = flow.get("max_queue", FlowLimits.build().max_queue)
    for name in ("hi", "lo"):
        if isinstance(flow.get(name), Mark):
            flow[name] = flow[name].pages(max_queue)
    return Settings(
        flow=FlowLimits.build(**flow),
        clocks=Clocks(**given[Clocks]),
        worker=WorkerLimits(**given[WorkerLimits]),
        memory=MemoryBudget(**given[MemoryBudget]),
        disk=DiskReserve(**given[DiskReserve]),
        retry=RetryLimits(**given[RetryLimits]),
    )
