"""The engine: from a folder of PDFs to text and evidence, without any window.

What is exported here is all that a window or another front end needs. Names are loaded when they are first used: a
worker process, which imports a small part of the engine, must not pay for the rest of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.errors import (
        CaseDamagedError,
        CaseError,
        CaseInUseError,
        CaseTooNewError,
        EngineError,
        ExitCode,
        ExportError,
        NotACaseError,
        SettingsError,
        SourceError,
        StorageError,
        WorkerStartError,
    )
    from engine.flow.metrics import Metrics
    from engine.models.document import Posture, document_label
    from engine.models.flow import GateChange, Hold, HoldMark, MetricSample, StageStatistics
    from engine.models.names import display_name
    from engine.models.outcome import FailureClass, HoldCause, Method, Outcome, Reason, RowState, RunState, SkipReason
    from engine.models.run import (
        CaseInfo,
        Counts,
        DeadLetterRow,
        DocumentRow,
        ExportReport,
        PeakMemory,
        RunSummary,
        Snapshot,
        Tally,
        TextReport,
        VerifyReport,
        WorkerView,
    )
    from engine.sample.batch import write_sample_batch
    from engine.session.directories import (
        CASE_SUFFIX,
        Directories,
        RecentCase,
        default_case_path,
        default_request_id,
        load_settings,
        recent_cases,
        remember_case,
        save_settings,
    )
    from engine.session.opening import open_case, usual_parts
    from engine.session.session import Parts, Session
    from engine.settings import Clocks, DiskReserve, FlowLimits, MemoryBudget, RetryLimits, Settings, WorkerLimits
    from engine.version import __version__

_PLACES = {
    "engine.errors": (
        "CaseDamagedError",
        "CaseError",
        "CaseInUseError",
        "CaseTooNewError",
        "EngineError",
        "ExitCode",
        "ExportError",
        "NotACaseError",
        "SettingsError",
        "SourceError",
        "StorageError",
        "WorkerStartError",
    ),
    "engine.flow.metrics": ("Metrics",),
    "engine.models.document": ("Posture", "document_label"),
    "engine.models.flow": ("GateChange", "Hold", "HoldMark", "MetricSample", "StageStatistics"),
    "engine.models.names": ("display_name",),
    "engine.models.outcome": (
        "FailureClass",
        "HoldCause",
        "Method",
        "Outcome",
        "Reason",
        "RowState",
        "RunState",
        "SkipReason",
    ),
    "engine.models.run": (
        "CaseInfo",
        "Counts",
        "DeadLetterRow",
        "DocumentRow",
        "ExportReport",
        "PeakMemory",
        "RunSummary",
        "Snapshot",
        "Tally",
        "TextReport",
        "VerifyReport",
        "WorkerView",
    ),
    "engine.sample.batch": ("write_sample_batch",),
    "engine.session.directories": (
        "CASE_SUFFIX",
        "Directories",
        "RecentCase",
        "default_case_path",
        "default_request_id",
        "load_settings",
        "recent_cases",
        "remember_case",
        "save_settings",
    ),
    "engine.session.opening": ("open_case", "usual_parts"),
    "engine.session.session": ("Parts", "Session"),
    "engine.settings": (
        "Clocks",
        "DiskReserve",
        "FlowLimits",
        "MemoryBudget",
        "RetryLimits",
        "Settings",
        "WorkerLimits",
    ),
    "engine.version": ("__version__",),
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "CASE_SUFFIX",
    "CaseDamagedError",
    "CaseError",
    "CaseInUseError",
    "CaseInfo",
    "CaseTooNewError",
    "Clocks",
    "Counts",
    "DeadLetterRow",
    "Directories",
    "DiskReserve",
    "DocumentRow",
    "EngineError",
    "ExitCode",
    "ExportError",
    "ExportReport",
    "FailureClass",
    "FlowLimits",
    "GateChange",
    "Hold",
    "HoldCause",
    "HoldMark",
    "MemoryBudget",
    "Method",
    "MetricSample",
    "Metrics",
    "NotACaseError",
    "Outcome",
    "Parts",
    "PeakMemory",
    "Posture",
    "Reason",
    "RecentCase",
    "RetryLimits",
    "RowState",
    "RunState",
    "RunSummary",
    "Session",
    "Settings",
    "SettingsError",
    "SkipReason",
    "Snapshot",
    "SourceError",
    "StageStatistics",
    "StorageError",
    "Tally",
    "TextReport",
    "VerifyReport",
    "WorkerLimits",
    "WorkerStartError",
    "WorkerView",
    "__version__",
    "default_case_path",
    "default_request_id",
    "display_name",
    "document_label",
    "load_settings",
    "open_case",
    "recent_cases",
    "remember_case",
    "save_settings",
    "usual_parts",
    "write_sample_batch",
]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
