"""What can be done with a case as it stands: pure functions over a snapshot.

Covers the rules. Doing it is the business of `control`, offering it that of `actions`.
"""

from dataclasses import dataclass, replace

from engine import CaseInfo, RunState, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What can be done at this moment."""

    pause: bool = False
    resume: bool = False
    """Let a held run go on, or start again on what is pending."""
    stop: bool = False
    export: bool = False
    close: bool = False


def abilities_of(snapshot: Snapshot, *, running: bool, read_only: bool) -> Abilities:
    """Return what a case in this state allows.

    Args:
        snapshot: The case as it is.
        running: Whether a run has been started and has not returned.
        read_only: Whether the case may only be read.
    """
    state = snapshot.state
    if running:
        return Abilities(
            pause=state in {RunState.RUNNING, RunState.IDLE},
            resume=state in {RunState.PAUSING, RunState.PAUSED},
            stop=state is not RunState.STOPPING,
            export=True,
            close=True,
        )
    unfinished = state in {RunState.INCOMPLETE, RunState.PAUSED}
    return Abilities(resume=unfinished and not read_only, export=snapshot.counts.audit_records > 0, close=True)


def at_rest(snapshot: Snapshot, info: CaseInfo) -> Snapshot:
    """Return the snapshot of a case without a run, with the state that is read off what the case holds.

    Before its first run in this session, a session says only that nothing was started.

    Args:
        snapshot: The case as its session states it.
        info: What identifies it.
    """
    if snapshot.state is not RunState.IDLE:
        return snapshot
    if info.unfinished_sources or not snapshot.counts.reconciled:
        return replace(snapshot, state=RunState.PAUSED if info.paused else RunState.INCOMPLETE)
    if snapshot.counts.documents.enumerated:
        return replace(snapshot, state=RunState.FINISHED)
    return snapshot
