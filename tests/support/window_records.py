"""Made-up records for the tests of models and views, with everything that a test does not care about filled in."""

import math
from collections.abc import Sequence

from engine import (
    Counts,
    DeadLetterRow,
    DocumentRow,
    FlowLimits,
    Hold,
    HoldCause,
    HoldMark,
    MetricSample,
    Outcome,
    Reason,
    RowState,
    RunState,
    SkipReason,
    Snapshot,
    StageStatistics,
    Tally,
)

MIB = 1024 * 1024
LIMITS = FlowLimits(workers=2, span_pages=16, max_queue=256, hi=192, lo=64, permits=288)
HALF_WAY = Counts(
    documents=Tally(enumerated=81, extracted=30, dead_letter=6, duplicate=2),
    pages=Tally(enumerated=1204, extracted=540, dead_letter=50, duplicate=10),
    skipped=12,
    reasons={Reason.ENCRYPTED: 6, Reason.CORRUPT_PAGE: 40, Reason.TIME_LIMIT: 10},
)
RECONCILED = Counts(
    documents=Tally(enumerated=81, extracted=70, dead_letter=6, duplicate=5),
    pages=Tally(enumerated=600, extracted=540, dead_letter=50, duplicate=10),
    skipped=12,
    reasons=HALF_WAY.reasons,
)


def stage(holds: Sequence[HoldCause] = ()) -> StageStatistics:
    """Return a stage that is working."""
    return StageStatistics(
        queue_depth=143,
        max_queue=256,
        hi=192,
        lo=64,
        permits_held=171,
        permits=288,
        tokens=None,
        workers=2,
        workers_busy=2,
        holds=tuple(Hold(cause=cause, since_s=1.0) for cause in holds),
        producer_blocked_s=40.0,
        blocked_on=None,
        blocked_for_s=0.0,
        consumer_latency_ms=80.0,
        admitted=700,
        completed=600,
        max_queue_depth=200,
        max_permits_held=288,
    )


def snapshot(
    state: RunState = RunState.RUNNING,
    counts: Counts = HALF_WAY,
    *,
    enumerating: bool = False,
    holds: Sequence[HoldCause] = (),
    in_flight: int = 37,
    error: str = "",
    bottleneck: str = "Workers are the bottleneck.",
) -> Snapshot:
    """Return a snapshot of a run."""
    return Snapshot(
        state=state,
        counts=counts,
        enumerating=enumerating,
        active_s=272.0,
        in_flight=in_flight,
        stage=stage(holds),
        rss_tree_bytes=212 * MIB,
        rss_main_bytes=64 * MIB,
        memory_budget_bytes=5000 * MIB,
        pages_per_s=12.4,
        mean_pages_per_s=11.9,
        bottleneck=bottleneck,
        error=error,
    )


def document(
    doc_id: int = 1,
    *,
    path: str = "",
    state: RowState = RowState.DONE,
    outcome: Outcome | None = Outcome.EXTRACTED,
    page_count: int | None = 12,
    pages_dead: int = 0,
    reason: Reason | SkipReason | None = None,
    repaired: bool = False,
    duplicate_of: int | None = None,
) -> DocumentRow:
    """Return a row of the manifest."""
    return DocumentRow(
        doc_id=doc_id,
        path=path or f"letters/{doc_id:06d}.pdf",
        root="/data/request",
        size_bytes=120_000,
        state=state,
        page_count=page_count,
        pages_done=page_count or 0,
        pages_dead=pages_dead,
        outcome=outcome,
        reason=reason,
        repaired=repaired,
        duplicate_of=duplicate_of,
    )


def documents(first: int, limit: int) -> list[DocumentRow]:
    """Return rows from number `first`."""
    return [document(number) for number in range(first, first + limit)]


def dead_letter(
    number: int = 1,
    *,
    path: str = "",
    page: int | None = 3,
    reason: Reason = Reason.TIME_LIMIT,
    signal: int | None = None,
    code: int | None = None,
) -> DeadLetterRow:
    """Return a dead letter."""
    return DeadLetterRow(
        number=number,
        doc_id=number,
        path=path or f"letters/{number:06d}.pdf",
        page=page,
        reason=reason,
        failure_class=reason.failure_class,
        attempts=2,
        signal=signal,
        code=code,
        run=1,
        trace_id="0af7651916cd43dd",
        at="2026-11-29T18:46:01.123456+00:00",
        request_id="R-1",
        posture="limits: memory, cpu; sandbox: landlock; parser: MuPDF",
    )


def samples(count: int, period_s: float = 0.25) -> tuple[MetricSample, ...]:
    """Return samples of a queue that fills and drains; the one at place n has the time n times the period."""
    return tuple(
        MetricSample(
            at_s=place * period_s,
            queue_depth=float(round(128 + 64 * math.sin(place / 20))),
            permits_held=float(round(160 + 64 * math.sin(place / 20))),
            rss_tree_bytes=(200 + place % 7) * MIB,
            rss_main_bytes=64.0 * MIB,
            pages_per_s=10.0 + place % 5,
            mean_pages_per_s=12.0,
            loop_lag_ms=1.0,
        )
        for place in range(count)
    )


def hold(cause: HoldCause, started_s: float, ended_s: float | None) -> HoldMark:
    """Return a hold."""
    return HoldMark(cause=cause, started_s=started_s, ended_s=ended_s)
