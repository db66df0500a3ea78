"""The assembly of a run: makes its parts from what it is given, and joins them.

Covers which part hands to which. What they do together, and when each begins and ends, is the business of `run`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.flow.bucket import TokenBucket
from engine.flow.gate import WatermarkGate
from engine.flow.metrics import Metrics
from engine.flow.permits import Permits
from engine.flow.queue import BoundedQueue
from engine.flow.stage import Stage
from engine.models.document import Span, SpanReport
from engine.models.facts import Fact
from engine.models.outcome import HoldCause
from engine.pipeline import evidence
from engine.pipeline.activity import ActiveClock
from engine.pipeline.commits import CommitLane, ReceiptHandler, TroubleHandler
from engine.pipeline.holds import Holds
from engine.pipeline.inputs import RunInputs
from engine.pipeline.intake import Enumerator, Feeder
from engine.pipeline.monitor import Monitor, MonitorInputs
from engine.pipeline.probing import ProbeHooks, Prober
from engine.pipeline.retry import RetryPolicy
from engine.pipeline.scheduler import SpanScheduler
from engine.pipeline.settling import Settling
from engine.pipeline.suspicion import Suspicion
from engine.pipeline.text_lane import TextLane
from engine.pipeline.upstream import SourceWatch
from engine.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """What the parts ask of their run, and tell it."""

    settings: Callable[[], Settings]
    pages_done: Callable[[], int]
    committed: ReceiptHandler
    storage_changed: TroubleHandler
    note: Callable[[Fact], None]
    """Records something, where the run can."""
    settled: Callable[[], None]
    """Something came to an end: the run may be over."""
    relieve: Callable[[], None]
    """Memory is short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a run, joined."""

    stage: Stage[Span, SpanReport]
    commits: CommitLane
    sources: SourceWatch
    scheduler: SpanScheduler
    prober: Prober
    feeder: Feeder
    enumerator: Enumerator | None
    monitor: Monitor
    suspicion: Suspicion


def new_gate(inputs: RunInputs) -> WatermarkGate:
    """Return the gate with the marks that are set."""
    return WatermarkGate(hi=inputs.settings.flow.hi, lo=inputs.settings.flow.lo, clock=inputs.clock)


def assemble(
    inputs: RunInputs, *, gate: WatermarkGate, holds: Holds, clock: ActiveClock, metrics: Metrics, hooks: RunHooks
) -> Parts:
    """Make and join the parts.

    Args:
        inputs: What the run is given.
        gate: The gate.
        holds: Holds it.
        clock: Counts active time.
        metrics: Where samples go.
        hooks: The run's side.
    """
    now = inputs.clock.monotonic
    commits = CommitLane(
        inputs.store,
        inputs.threads.writer,
        on_receipt=hooks.committed,
        on_trouble=hooks.storage_changed if inputs.attended else None,
        is_wanted=lambda: stage.starved,
    )
    sources = SourceWatch(inputs.roots, lambda away: holds.set(HoldCause.UPSTREAM, away), inputs.threads.watcher)
    policy = RetryPolicy(random=inputs.random, settings=hooks.settings)
    scheduler = SpanScheduler(now=now, span_pages=lambda: hooks.settings().flow.effective_span)

    async def deliver(span: Span, report: SpanReport) -> None:
        await lane.deliver(span, report)

    stage = _stage(inputs, gate, deliver, hooks.settings)
    lane = TextLane(commits=commits, scheduler=scheduler, policy=policy, give_back=stage.complete, blame=sources.blame)
    prober = Prober(
        extractor=inputs.extractor,
        commits=commits,
        scheduler=scheduler,
        store=inputs.store,
        reader=inputs.threads.reader,
        policy=policy,
        hooks=ProbeHooks(
            wait_clear=holds.wait_clear,
            concurrency=lambda: hooks.settings().flow.workers,
            now=now,
            on_settled=hooks.settled,
            blame=sources.blame,
            look=Settling(inputs.threads.watcher, inputs.wall_s, now).look,
        ),
    )
    enumerator = None
    if inputs.source is not None:
        enumerator = Enumerator(inputs.source, commits, inputs.threads.lister, wait_clear=holds.wait_clear)
    suspicion = Suspicion(hooks.note, now)
    monitor = Monitor(
        MonitorInputs(
            statistics=stage.statistics,
            pages_done=hooks.pages_done,
            workers=inputs.extractor.views,
            settings=hooks.settings,
            hold=holds.set,
            folder=inputs.folder,
            relieve=hooks.relieve,
            shed=inputs.extractor.shed,
            seen=suspicion.look,
            wall_clock_jumped=lambda jump_ms: hooks.note(evidence.clock_jumped(jump_ms)),
            wall_s=inputs.wall_s,
        ),
        metrics,
        clock,
        now=now,
        thread=inputs.threads.sampler,
    )
    return Parts(
        stage=stage,
        commits=commits,
        sources=sources,
        scheduler=scheduler,
        prober=prober,
        feeder=Feeder(inputs.store, inputs.threads.reader, prober),
        enumerator=enumerator,
        monitor=monitor,
        suspicion=suspicion,
    )


def _stage(
    inputs: RunInputs,
    gate: WatermarkGate,
    deliver: Callable[[Span, SpanReport], Awaitable[None]],
    settings: Callable[[], Settings],
) -> Stage[Span, SpanReport]:
    flow = inputs.settings.flow
    return Stage(
        name="text",
        queue=BoundedQueue(flow.max_queue),
        permits=Permits(flow.permits),
        bucket=TokenBucket(rate_per_s=flow.rate_per_s, burst=flow.burst, clock=inputs.clock),
        gate=gate,
        workers=flow.workers,
        process=inputs.extractor.extract,
        deliver=deliver,
        weight=lambda span: span.page_count,
        together=lambda: settings().flow.effective_span,  # as many pages of short documents as of a long one
        clock=inputs.clock,
    )
