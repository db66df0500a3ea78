"""What a run notes in the audit log besides documents and pages: its start and end, holds, changed settings.

Pure functions from records to facts. Fields hold no floats: times are whole milliseconds, a rate is written as text.
"""

import hashlib
import json
import platform
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from engine.models.document import Posture
from engine.models.facts import FieldValue, Noted
from engine.models.flow import GateChange
from engine.models.outcome import HoldCause, RunState
from engine.settings import Settings
from engine.version import __version__


def sources_named(sources: tuple[bytes, ...]) -> Noted:
    """Note that folders and files are to be looked through, so that the case knows of them whatever comes next."""
    return Noted(event="SOURCES", fields={"count": len(sources)}, sources=sources)


def run_started(settings: Settings, posture: Posture, *, operator: str, resumed: bool) -> Noted:
    """Note the start of a run: versions, all settings and their hash, who ran it, the posture of the workers."""
    written = json.dumps(settings.to_json(), sort_keys=True, separators=(",", ":"))
    return Noted(
        event="RUN_STARTED",
        fields={
            "version": __version__,
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "parser": posture.parser,
            "limits": " ".join(posture.limits),
            "sandbox": posture.sandbox,
            "operator": operator,
            "settings": written,
            "settings_sha256": hashlib.sha256(written.encode()).hexdigest(),
            "resumed": resumed,
        },
    )


def resumed(*, documents: int, pages: int, recovered: bool) -> Noted:
    """Note that a run goes on with what earlier ones left.

    Args:
        documents: Documents without a terminal record.
        pages: Pages without one, as far as they are known.
        recovered: Whether the program had ended without closing the case.
    """
    return Noted(
        event="RESUMED", fields={"documents_pending": documents, "pages_pending": pages, "recovered": recovered}
    )


def clock_jumped(jump_ms: int) -> Noted:
    """Note that the wall clock was set, or that the machine was suspended: dates before and after do not compare."""
    return Noted(event="CLOCK_JUMPED", fields={"jump_ms": jump_ms})


def enumerated(sources: tuple[bytes, ...]) -> Noted:
    """Note that sources were looked through to their end; the case fills in what was met in all."""
    return Noted(event="ENUMERATED", sources=sources, enumerated=True)


def gate_changed(change: GateChange) -> Noted:
    """Note that admission was held or released; a pause by the user lasts and is followed by a checkpoint."""
    by_user = change.cause is HoldCause.USER
    return Noted(
        event="HELD" if change.held else "RELEASED",
        fields={"cause": change.cause.value, "queue_depth": change.queue_depth},
        paused=change.held if by_user else None,
        checkpoint=by_user and change.held,
    )


def paused(held: bool) -> Noted:  # noqa: FBT001  # it is the value that is noted
    """Note that a run begins with another pause than the last one had left."""
    return gate_changed(GateChange(cause=HoldCause.USER, held=held, at_s=0.0, queue_depth=0))


def settings_changed(old: Settings, new: Settings) -> Iterator[Noted]:
    """Note each setting that differs, with its old and its new value."""
    for section in fields(Settings):
        before, after = getattr(old, section.name), getattr(new, section.name)
        for item in fields(before):
            was, now = getattr(before, item.name), getattr(after, item.name)
            if was != now:
                yield Noted(
                    event="SETTING_CHANGED",
                    fields={"setting": f"{section.name}.{item.name}", "old": _plain(was), "new": _plain(now)},
                )


def reconciled() -> Noted:
    """Note the reconciliation; the case fills in its own counts, and whether that is all."""
    return Noted(event="RECONCILED")


def run_ended(state: RunState, *, elapsed_s: float) -> Noted:
    """Note the end of a run; a checkpoint follows."""
    return Noted(
        event="RUN_ENDED", fields={"state": state.value, "elapsed_ms": round(elapsed_s * 1000)}, checkpoint=True
    )


def exported(what: str, *, records: int, head: str = "") -> Noted:
    """Note an export: what was exported, how much of it, and the head of the chain that it shows."""
    return Noted(event="EXPORTED", fields={"what": what, "count": records, "head": head})


def _plain(value: Any) -> FieldValue:
    exact = not isinstance(value, float) and (not isinstance(value, int) or abs(value) < 2**53)
    return value if exact else str(value)
