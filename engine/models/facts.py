"""Facts that the pipeline hands to the case file, which commits them together with their audit records.

A fact states what happened. The case file turns it into rows and audit records in one transaction and answers with
a receipt; nothing counts as done before that receipt.
"""

from dataclasses import dataclass, field

from engine.models.document import Failure, FoundFile, PageResult, Probe
from engine.models.run import Counts

LEAST_CLOCK_JUMP_MS = 2000
"""A difference between the wall clock and what it should show that no slewing makes: it becomes a `CLOCK_JUMPED`."""

FieldValue = int | str | bool | None
"""What a field of an audit record may hold: no floats, no nested text from documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesFound:
    """The enumeration met these entries, in order."""

    files: tuple[FoundFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentProbed:
    """A document opens and its pages are known; the case answers with a `ProbeDecision`."""

    doc_id: int
    probe: Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFailed:
    """A document cannot be opened: it has no pages and one dead letter.

    Where its pages are already known (it vanished or changed under way), every page without a terminal record
    becomes a dead letter for the same reason.
    """

    doc_id: int
    failure: Failure
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesDone:
    """Pages of one document have their outcomes."""

    doc_id: int
    results: tuple[PageResult, ...]
    admitted: bool = True
    """Whether these pages hold permits, which come back with the commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRetried:
    """A page, or a document (`page` is None) is going to be tried again; it counts as one strike."""

    doc_id: int
    page: int | None
    failure: Failure
    attempt: int
    """Which try failed, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSlow:
    """A page (or a document, where `page` is None) has been in work for long.

    Should the application die now, it is suspected: the next run counts one strike against it.
    """

    doc_id: int
    page: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something else that is evidence: a hold, a changed setting, an export, the start or the end of a run."""

    event: str
    """Name of the audit event, such as `HELD`."""
    fields: dict[str, FieldValue] = field(default_factory=dict)
    paused: bool | None = None
    """New state of the case's lasting pause, or None where it does not change."""
    sources: tuple[bytes, ...] = ()
    """Sources that are now being looked through, or have been: folders and files, absolute, as bytes."""
    enumerated: bool = False
    """Whether these sources were looked through to the end."""
    checkpoint: bool = False
    """Whether a `CHECKPOINT` must follow at once."""


Fact = FilesFound | DocumentProbed | DocumentFailed | PagesDone | PageRetried | WorkSlow | Noted


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeDecision:
    """What the case decided about a probed document."""

    doc_id: int
    process: bool
    """True: its pages are to be processed. False: the same bytes are or will be accounted for by another document."""
    duplicate_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The transaction is on disk."""

    counts: Counts
    decisions: tuple[ProbeDecision, ...] = ()
    """One for each `DocumentProbed`, in order."""
    new_pending: int = 0
    """How many documents became pending with this transaction (found, or set free by a failed original)."""
