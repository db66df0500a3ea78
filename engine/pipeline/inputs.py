"""What a run is given: the case, its sources, its workers, its threads and its limits."""

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from engine.flow.clock import Clock
from engine.models.run import Counts
from engine.pipeline.seams import CaseStore, Extractor, Source
from engine.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Threads for what blocks; each is one thread, owned by the session."""

    writer: Executor
    """The only one that writes to the case."""
    reader: Executor
    """Reads from the case."""
    lister: Executor
    """Lists the source's folders."""
    sampler: Executor
    """Reads memory figures."""
    watcher: Executor
    """Looks at sources that may not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """What a run is given."""

    store: CaseStore
    threads: Threads
    extractor: Extractor
    source: Source | None
    """None: nothing new is looked for, only what is pending is finished."""
    sources: tuple[bytes, ...]
    """What the source looks through: folders and files, absolute, as bytes."""
    roots: tuple[bytes, ...]
    """Folders below which the case's documents lie."""
    folder: Path
    """Where the case file lies."""
    settings: Settings
    counts: Counts
    """The case's counts before the run."""
    operator: str
    paused: bool
    """Whether the run begins held by the user."""
    was_paused: bool
    """Whether the case was left paused."""
    resumed: bool
    """Whether an earlier run of this case left something."""
    recovered: bool = False
    """Whether the program ended without closing this case, before it was opened now."""
    clock: Clock
    random: Callable[[], float]
    wall_s: Callable[[], float] = time.time
    """The wall clock, in seconds since 1970."""
    attended: bool = False
    """Whether somebody is there to resume a run that cannot write its case. Such a run waits; else it ends."""
    stop_grace_s: float = 5.0
    """How long a stop waits for pages in flight before it drops them: they stay pending."""
