"""Every limit and preference of a run, validated, in one frozen object that is passed down.

Covers the flow's knobs, the clocks and limits of worker processes and the memory budget; knows the names under
which they are stored as JSON. Where the settings file lives is the business of `engine.session`. Changing a
setting makes a new object; an impossible one cannot be made.
"""

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from engine.errors import SettingsError
from engine.machine import usable_cores, usable_memory_bytes

MIB = 1024 * 1024

DEFAULT_BUDGET_PERCENT = 70
"""Share of the usable memory that is the budget unless another one is set."""


WORKER_SHARE_BYTES = 384 * MIB
"""Memory that each worker must find within the default budget; ordinary text needs a quarter of it."""

PROGRAM_BYTES = 128 * MIB
"""What the program itself takes of the budget, roughly between what it takes without and with its window."""

IDLE_WORKER_BYTES = 64 * MIB
"""What a worker takes that has nothing to do."""

UNUSED_ADDRESSES_BYTES = 48 * MIB
"""Addresses that a worker has mapped beyond what it uses: its libraries."""

LEAST_ADDRESS_SPACE_BYTES = 256 * MIB
"""Address space below which a worker cannot read ordinary pages: plain text takes 100 MB, and fonts and images more."""

LEAST_KILL_RSS_BYTES = 96 * MIB
"""Resident memory below which a worker would be ended over ordinary pages: plain text takes 60 MB."""


def default_workers() -> int:
    """Return one worker for each usable core, or fewer where the memory budget would not carry them."""
    carried = usable_memory_bytes() * DEFAULT_BUDGET_PERCENT // 100 // WORKER_SHARE_BYTES
    return max(1, min(usable_cores(), carried))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowLimits:
    """The knobs of the flow, all changeable while a run is going on; queue, marks and permits count pages.

    Raises:
        SettingsError: When the combination cannot work, with a sentence that says which and why.
    """

    workers: int
    """Worker processes."""
    span_pages: int
    """Most pages of one document that a worker takes at a time."""
    max_queue: int
    """Most pages waiting in the queue."""
    hi: int
    """Queue depth at which the watermark gate holds admission."""
    lo: int
    """Queue depth at which it lets go again."""
    permits: int
    """Most pages in flight: queued, being processed or waiting for their commit."""
    rate_per_s: float | None = None
    """Most pages admitted per second in the long run, or None for no limit."""
    burst: int = 64
    """Most pages admitted at once when the rate is limited."""

    @classmethod
    def build(
        cls,
        *,
        workers: int | None = None,
        span_pages: int = 64,
        max_queue: int = 256,
        **others: Any,
    ) -> Self:
        """Return limits with defaults for whatever is not given (None counts as not given).

        Defaults: workers = usable cores, as far as memory carries them; hi = 75 % and lo = 25 % of `max_queue`;
        permits = max_queue + workers x span_pages.
        """
        workers = default_workers() if workers is None else workers
        given = {name: value for name, value in others.items() if value is not None or name == "rate_per_s"}
        defaults = {
            "hi": max(1, max_queue * 3 // 4),
            "lo": max_queue // 4,
            "permits": max_queue + workers * span_pages,
        }
        return cls(workers=workers, span_pages=span_pages, max_queue=max_queue, **(defaults | given))

    def __post_init__(self) -> None:
        for name in ("workers", "span_pages", "max_queue", "permits", "burst"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{_WORDS[name]} is {getattr(self, name)}, and must be at least 1.")
        if self.workers > 256:
            raise SettingsError(f"{self.workers} worker processes are more than the 256 that can be supervised.")
        if self.lo < 0:
            raise SettingsError(f"The low mark is {self.lo}, and cannot be below 0.")
        if self.lo >= self.hi:
            raise SettingsError(
                f"The low mark ({self.lo}) must be below the high mark ({self.hi}): otherwise the gate would "
                "open and close at once. Lower the low mark or raise the high mark."
            )
        if self.hi > self.max_queue:
            raise SettingsError(
                f"The high mark ({self.hi}) is above the queue's size ({self.max_queue}): the queue could never "
                "reach it. Lower the high mark or enlarge the queue."
            )
        if self.permits <= self.hi:
            raise SettingsError(
                f"{self.permits} permits do not exceed the high mark ({self.hi}): permits are taken before the "
                "queue, so that the queue could never reach the mark and the gate would be dead. Use more permits "
                "or a lower high mark."
            )
        if self.rate_per_s is not None and not (math.isfinite(self.rate_per_s) and self.rate_per_s > 0):
            raise SettingsError(
                f"The rate is {self.rate_per_s}, and must be more than 0 pages per second. Leave it out for no limit."
            )

    @property
    def effective_span(self) -> int:
        """Pages per span as the other limits allow: at least four spans must fit between empty and full queue."""
        most = min(self.span_pages, max(1, self.max_queue // 4), self.permits)
        return min(most, self.burst) if self.rate_per_s is not None else most


_WORDS = {
    "workers": "The number of workers",
    "span_pages": "The span",
    "max_queue": "The queue's size",
    "permits": "The number of permits",
    "burst": "The burst",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """How long a worker may take, in seconds, on the parent's monotonic clock; expiry is SIGKILL at once."""

    start_s: float = 20.0
    """From spawning a worker to its readiness."""
    open_s: float = 60.0
    """Opening, hashing and probing a document."""
    page_s: float = 30.0
    """The text of one page."""
    ocr_page_s: float = 120.0
    """Recognising one page."""
    document_s: float = 3600.0
    """All work on one document, added up over its spans."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not (math.isfinite(value) and value > 0):
                raise SettingsError(f"The clock {item.name} is {value}, and must be more than 0 seconds.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """What one worker process may use before it is recycled or killed."""

    address_space_bytes: int = 2048 * MIB
    """Hard limit on its address space; MuPDF then raises an error and the process stays usable."""
    recycle_rss_bytes: int = 400 * MIB
    """Resident memory above which a worker is replaced between two spans."""
    kill_rss_bytes: int = 1536 * MIB
    """Resident memory above which it is killed at once."""
    recycle_pages: int = 20_000
    """Pages after which it is replaced: on Python 3.11 PyMuPDF slowly loses references to None."""
    max_text_bytes: int = 8 * MIB
    """Most text of one page, in UTF-8; more is `size_limit`."""
    max_attempts: int = 2
    """How often a page that ended its worker is tried in all."""
    max_start_failures: int = 5
    """Failing worker starts in a row after which the run stops with one message."""
    require_sandbox: bool = False
    """Whether no page may be tried by a worker that could not enter the whole sandbox."""

    def __post_init__(self) -> None:
        if not isinstance(self.require_sandbox, bool):
            raise SettingsError("The setting require_sandbox must be true or false.")
        for item in fields(self):
            if item.name != "require_sandbox" and getattr(self, item.name) < 1:
                raise SettingsError(f"The worker limit {item.name} must be at least 1.")
        for name, least in (
            ("address_space_bytes", LEAST_ADDRESS_SPACE_BYTES),
            ("kill_rss_bytes", LEAST_KILL_RSS_BYTES),
        ):
            if getattr(self, name) < least:
                raise SettingsError(
                    f"The worker limit {name} is {getattr(self, name):,} bytes, and must be at least {least // MIB} "
                    "MB: with less, no worker can read an ordinary page, and every document would become a dead letter."
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBudget:
    """The budget for the resident memory of the whole process tree, with its two levels."""

    budget_bytes: int | None = None
    """None: 70 % of what the machine or the container allows."""
    hold_percent: int = 90
    """Share of the budget at which admission is held."""
    release_percent: int = 75
    """Share of the budget at which it is let go again."""

    def __post_init__(self) -> None:
        if self.budget_bytes is not None and self.budget_bytes < 64 * MIB:
            raise SettingsError("A memory budget below 64 MB does not even carry the program itself.")
        if not 0 < self.release_percent < self.hold_percent <= 100:
            raise SettingsError(
                f"The memory hold needs 0 < release ({self.release_percent} %) < hold ({self.hold_percent} %) <= 100 %."
            )

    def in_force(self, usable_bytes: int) -> int:
        """Return the budget in bytes: as set, or a share of what may be used.

        Args:
            usable_bytes: What the machine or the container allows.
        """
        return usable_bytes * DEFAULT_BUDGET_PERCENT // 100 if self.budget_bytes is None else self.budget_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskReserve:
    """Free space, where the case file lies, that a run does not touch."""

    hold_below_bytes: int = 256 * MIB
    """Free space below which admission is held."""
    release_at_bytes: int = 384 * MIB
    """Free space from which it is let go again."""

    def __post_init__(self) -> None:
        if not 0 <= self.hold_below_bytes < self.release_at_bytes:
            raise SettingsError(
                f"The disk hold needs 0 <= hold below ({self.hold_below_bytes} bytes) < release at "
                f"({self.release_at_bytes} bytes)."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLimits:
    """How often, and how long after, something is tried again that failed for the circumstances."""

    attempts: int = 5
    """Tries in all."""
    first_delay_s: float = 0.5
    """Longest delay before the second try; it doubles with each further one."""
    max_delay_s: float = 30.0
    """Longest delay before any try."""

    def __post_init__(self) -> None:
        if not 1 <= self.attempts <= 100:
            raise SettingsError(f"The number of tries is {self.attempts}, and must be from 1 to 100.")
        if not 0 < self.first_delay_s <= self.max_delay_s <= 3600:
            raise SettingsError(
                f"Retries need 0 < first delay ({self.first_delay_s} s) <= longest delay ({self.max_delay_s} s) <= "
                "3,600 s."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a run."""

    flow: FlowLimits = field(default_factory=FlowLimits.build)
    clocks: Clocks = field(default_factory=Clocks)
    worker: WorkerLimits = field(default_factory=WorkerLimits)
    memory: MemoryBudget = field(default_factory=MemoryBudget)
    disk: DiskReserve = field(default_factory=DiskReserve)
    retry: RetryLimits = field(default_factory=RetryLimits)

    def with_flow(self, **changes: Any) -> Self:
        """Return a copy with other knobs of the flow.

        Raises:
            SettingsError: When the new combination cannot work.
        """
        return replace(self, flow=replace(self.flow, **changes))

    def within(self, usable_bytes: int) -> Self:
        """Return settings under which one worker, and all others at rest, fit into the memory budget.

        Without this a single page could fill the budget and go on to whatever the system does next: its
        out-of-memory killer does not ask which page it was.

        Args:
            usable_bytes: What the machine or the container allows.
        """
        room = self.memory.in_force(usable_bytes) - PROGRAM_BYTES - (self.flow.workers - 1) * IDLE_WORKER_BYTES
        most = max(LEAST_ADDRESS_SPACE_BYTES, room + UNUSED_ADDRESSES_BYTES)
        if most >= self.worker.address_space_bytes:
            return self
        return replace(self, worker=replace(self.worker, address_space_bytes=most))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return settings from what `to_json` gave; unknown names are ignored, missing ones take their default.

        Raises:
            SettingsError: When a value is of the wrong kind or impossible.
        """
        try:
            return cls(
                flow=FlowLimits.build(**_known(FlowLimits, data)),
                clocks=Clocks(**_known(Clocks, data)),
                worker=WorkerLimits(**_known(WorkerLimits, data)),
                memory=MemoryBudget(**_known(MemoryBudget, data)),
                disk=DiskReserve(**_known(DiskReserve, data)),
                retry=RetryLimits(**_known(RetryLimits, data)),
            )
        except (TypeError, AttributeError, OverflowError) as error:
            raise SettingsError("It holds a value of the wrong kind.") from error


_SECTIONS = {
    FlowLimits: "flow",
    Clocks: "clocks",
    WorkerLimits: "worker",
    MemoryBudget: "memory",
    DiskReserve: "disk",
    RetryLimits: "retry",
}


def _known(section: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    kinds = {item.name: item.type for item in fields(section)}
    given = {name: value for name, value in data.get(_SECTIONS[section], {}).items() if name in kinds}
    for name, value in given.items():
        if not _fits(value, kinds[name]) and not (value is None and section is FlowLimits):
            raise SettingsError(f"It holds a value of the wrong kind for {_SECTIONS[section]}.{name}.")
    return given


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a JSON value is of a field's kind: true is no number, and 2.5 no number of workers."""
    if kind is bool:
        return True  # the record itself says what is wrong with another one
    if isinstance(value, bool):
        return False
    return isinstance(value, kind) or (isinstance(value, int) and isinstance(0.5, kind))
