"""Made-up records for the tests of the terminal: a snapshot and a summary, with whatever a test needs changed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.models.flow import StageStatistics
from engine.models.outcome import HoldCause, Reason, RunState
from engine.models.run import CaseInfo, Counts, PeakMemory, RunSummary, Snapshot, Tally

MIB = 2**20

STAGE = StageStatistics(
    queue_depth=12,
    max_queue=256,
    hi=192,
    lo=64,
    permits_held=20,
    permits=288,
    tokens=None,
    workers=2,
    workers_busy=1,
    holds=(),
    producer_blocked_s=0.0,
    blocked_on=None,
    blocked_for_s=0.0,
    consumer_latency_ms=3.0,
    admitted=100,
    completed=80,
    max_queue_depth=12,
    max_permits_held=20,
)

COUNTS = Counts(
    documents=Tally(enumerated=50, extracted=30, dead_letter=2, duplicate=1),
    pages=Tally(enumerated=4321, extracted=1000, dead_letter=3, duplicate=20),
    skipped=4,
    reasons={Reason.ENCRYPTED: 2, Reason.TIME_LIMIT: 3},
    audit_records=1100,
    audit_head="0123456789abcdef" * 4,
)

DONE = Counts(
    documents=Tally(enumerated=3, extracted=3),
    pages=Tally(enumerated=9, extracted=9),
    audit_records=15,
    audit_head="fedcba9876543210" * 4,
)


def snapshot(**changes: Any) -> Snapshot:
    """Return a snapshot of a run under way."""
    usual = Snapshot(
        state=RunState.RUNNING,
        counts=COUNTS,
        enumerating=True,
        active_s=75.0,
        in_flight=20,
        stage=STAGE,
        rss_tree_bytes=210 * MIB,
        rss_main_bytes=90 * MIB,
        memory_budget_bytes=1400 * MIB,
        pages_per_s=212.25,
        mean_pages_per_s=198.0,
        bottleneck="Workers are the bottleneck.",
    )
    return replace(usual, **changes)


def summary(**changes: Any) -> RunSummary:
    """Return the summary of a run that extracted everything."""
    usual = RunSummary(
        state=RunState.FINISHED,
        counts=DONE,
        elapsed_s=12.34567,
        pages_per_s=0.72901,
        peak_rss_bytes=PeakMemory(main=90 * MIB, workers=120 * MIB, tree=210 * MIB),
        max_queue_depth=9,
        max_permits_held=9,
        holds={HoldCause.WATERMARK: 2, HoldCause.USER: 0},
    )
    return replace(usual, **changes)


def case_info(**changes: Any) -> CaseInfo:
    """Return what identifies a case."""
    usual = CaseInfo(
        path=Path("/cases/an example.sluice"),
        case_id="c",
        request_id="REQ-1",
        created="2026-01-01T00:00:00+00:00",
        roots=(b"/batch",),
    )
    return replace(usual, **changes)
