"""Records of a run and a case as people see them: counts, snapshots, rows of tables, reports.

All of them are plain facts that were committed before they were made; none holds a reference into the engine.
"""

from dataclasses import dataclass, field
from pathlib import Path

from engine.models.document import Posture
from engine.models.flow import StageStatistics
from engine.models.outcome import HoldCause, Outcome, Reason, RowState, RunState, SkipReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts of one kind of thing (documents or pages) in a case."""

    enumerated: int = 0
    extracted: int = 0
    dead_letter: int = 0
    duplicate: int = 0

    @property
    def terminal(self) -> int:
        """How many have their terminal record."""
        return self.extracted + self.dead_letter + self.duplicate

    @property
    def pending(self) -> int:
        """How many have none yet."""
        return self.enumerated - self.terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The reconciliation of a case at one commit."""

    documents: Tally = field(default_factory=Tally)
    pages: Tally = field(default_factory=Tally)
    skipped: int = 0
    """Directory entries that were left out, each with a listed reason."""
    reasons: dict[Reason, int] = field(default_factory=dict)
    """Dead letters by reason; a document that could not be opened counts as one."""
    unfinished_sources: int = 0
    """Folders and files that were asked for and not yet looked through to the end: more may be found there."""
    audit_records: int = 0
    audit_head: str = ""
    """SHA-256 of the last line of the audit log."""

    @property
    def reconciled(self) -> bool:
        """Whether every source was looked through and everything found there has its terminal record."""
        return self.documents.pending == 0 and self.pages.pending == 0 and self.unfinished_sources == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseInfo:
    """What identifies a case."""

    path: Path
    case_id: str
    request_id: str
    created: str
    """UTC, ISO 8601."""
    roots: tuple[bytes, ...]
    """Source roots that were run so far, absolute, as bytes."""
    sources: int = 0
    """How many folders and files were asked for so far."""
    unfinished_sources: tuple[bytes, ...] = ()
    """Folders and files that were asked for and not yet looked through to the end, absolute, as bytes."""
    read_only: bool = False
    paused: bool = False
    """Whether the case was paused when it was last written."""
    note: str = ""
    """A sentence to show on opening (read-only because newer, recovered after a crash, ...), or empty."""
    recovered: bool = False
    """Whether the program had ended without closing the case, before it was opened now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """One row of the manifest, for the documents table."""

    doc_id: int
    path: str
    """Path below the root, escaped for display."""
    root: str
    """The source root, escaped for display."""
    size_bytes: int
    state: RowState
    page_count: int | None
    pages_done: int
    pages_dead: int
    outcome: Outcome | None
    reason: Reason | SkipReason | None
    repaired: bool = False
    duplicate_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterRow:
    """One dead letter with its envelope."""

    number: int
    """Place in the list of dead letters, from 1."""
    doc_id: int
    path: str
    """Path below the root, escaped for display."""
    page: int | None
    """Page number, from 1, or None where the whole document failed."""
    reason: Reason
    failure_class: str
    attempts: int
    signal: int | None
    code: int | None
    run: int
    trace_id: str
    at: str
    """UTC, ISO 8601."""
    request_id: str = ""
    posture: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """One worker process at one moment."""

    number: int
    pid: int | None
    doc_id: int | None
    page: int | None
    busy_s: float
    rss_bytes: int
    pages_done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that the header, the status line and the terminal show, at one moment."""

    state: RunState
    counts: Counts
    enumerating: bool
    """Whether files are still being found, so that no total is known."""
    active_s: float
    """Elapsed time of this run without pauses."""
    in_flight: int
    """Pages that hold a permit."""
    stage: StageStatistics
    rss_tree_bytes: int
    rss_main_bytes: int
    memory_budget_bytes: int
    pages_per_s: float
    mean_pages_per_s: float
    bottleneck: str
    """One plain sentence: what the run is waiting for and what would help."""
    workers: tuple[WorkerView, ...] = ()
    posture: Posture | None = None
    error: str = ""
    """The sentence to show where the run ended on an error, or waits because of one."""
    trouble: str = ""
    """The sentence to show while the system refuses the run something, and it goes on with less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakMemory:
    """Highest resident memory seen in a run, in bytes."""

    main: int = 0
    workers: int = 0
    """Highest sum over all workers."""
    tree: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """How a run ended; what `--json` prints."""

    state: RunState
    counts: Counts
    elapsed_s: float
    pages_per_s: float
    """Pages that got their terminal record in this run, per second of it."""
    peak_rss_bytes: PeakMemory
    max_queue_depth: int
    max_permits_held: int
    holds: dict[HoldCause, int]
    """How often each cause held the gate."""
    already_done_documents: int = 0
    """Documents that an earlier run of this case had finished, so that nothing was done again."""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What a verification of an exported audit log found."""

    ok: bool
    records: int
    """Audit records read, the header line not counted."""
    head: str
    """SHA-256 of the last line."""
    problems: tuple[str, ...]
    """Sentences, the first few of each kind, with line numbers; empty when ok."""
    notes: tuple[str, ...]
    """What was not checked, said plainly."""
    counts: Counts | None = None
    """The counts as recomputed from the records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an export of the audit log wrote."""

    path: Path
    records: int
    head: str
    verified: VerifyReport


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReport:
    """What an export of the texts wrote."""

    folder: Path
    documents: int
    pages: int
