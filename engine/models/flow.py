"""Records of the flow: what a stage, its queue, permits, bucket and gate are doing at one moment.

These are what charts, tests and the sentence about the bottleneck read; the primitives are in `engine.flow`.
"""

from dataclasses import dataclass

from engine.models.outcome import HoldCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One standing cause of hold."""

    cause: HoldCause
    since_s: float
    """When it began, on the monotonic clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateChange:
    """The gate began or ceased to be held for one cause."""

    cause: HoldCause
    held: bool
    """True when the hold began, False when it ended."""
    at_s: float
    """When, on the monotonic clock."""
    queue_depth: int
    """Queue depth at that moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldMark:
    """A past or standing hold, for shading the charts; times are seconds since the start of the metrics."""

    cause: HoldCause
    started_s: float
    ended_s: float | None
    """None while it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStatistics:
    """One stage at one moment; counts are in units of weight (pages, in the PDF pipeline)."""

    queue_depth: int
    max_queue: int
    hi: int
    lo: int
    permits_held: int
    permits: int
    tokens: float | None
    """Tokens in the bucket, or None where the rate is not limited."""
    workers: int
    """Worker coroutines wanted."""
    workers_busy: int
    """Worker coroutines that have an item."""
    holds: tuple[Hold, ...]
    """Standing causes of hold, oldest first; empty when admission is open."""
    producer_blocked_s: float
    """Seconds that producers have spent waiting in admission, in total, the current wait included."""
    blocked_on: str | None
    """What a producer is waiting for now: `permit`, `token`, `gate`, `queue`, or None."""
    blocked_for_s: float
    """How long that wait has lasted."""
    consumer_latency_ms: float
    """Recent mean time from queue to result of one item, in milliseconds."""
    admitted: int
    """Weight admitted since the start."""
    completed: int
    """Weight whose permits came back since the start."""
    max_queue_depth: int
    """Highest queue depth seen."""
    max_permits_held: int
    """Highest number of permits held at once."""
    workers_delivering: int = 0
    """Those of the busy workers that wait for their result to be taken over."""
    uncommitted: int = 0
    """Weight whose results were handed over and whose permits are not back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSample:
    """One point of every chart."""

    at_s: float
    """Seconds since the start of the metrics, on the monotonic clock."""
    queue_depth: float
    permits_held: float
    rss_tree_bytes: float
    """Resident memory of the main process and all workers."""
    rss_main_bytes: float
    pages_per_s: float
    """Pages committed per second since the previous sample, smoothed over a few seconds."""
    mean_pages_per_s: float
    """Pages committed per second of active time since the start of the run."""
    loop_lag_ms: float
    """How late the sampler woke up: what the event loop could not attend to."""
