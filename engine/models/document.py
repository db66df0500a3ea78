"""Records of files, documents and pages on their way through the engine: coordinates and results, never bytes of a PDF.

Covers what sources, workers and the case file hand to one another. Counts for people are in `run`.
"""

import hashlib
from dataclasses import dataclass

from engine.models.outcome import FailureClass, Method, Outcome, Reason, SkipReason


def idempotency_key(document_sha256: str, request_id: str) -> str:
    """Return the idempotency key of a document within a request, as 64 hexadecimal digits.

    The key is SHA-256 over the 32 bytes of the document's own SHA-256 followed by the request id in UTF-8: equal
    bytes in the same request give an equal key, so that doing it again is a no-op.

    Args:
        document_sha256: SHA-256 of the document's bytes, 64 hexadecimal digits.
        request_id: The case's request id.
    """
    return hashlib.sha256(bytes.fromhex(document_sha256) + request_id.encode()).hexdigest()


def document_label(doc_id: int) -> str:
    """Return the manifest's number as it is written in records and shown: `D0000042`."""
    return f"D{doc_id:07d}"


EARLIEST_NS, LATEST_NS = -(2**63), 2**63 - 1
"""The dates between which modification times are kept: from 1677 to 2262."""


def kept_time_ns(mtime_ns: int) -> int:
    """Return a file's modification time as it is kept and compared everywhere.

    Some file systems hold years that 64 bits of nanoseconds do not reach. Whoever asks the system for a date passes it
    through here, so that two looks at one file find the same.
    """
    return max(EARLIEST_NS, min(mtime_ns, LATEST_NS))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """One directory entry that the enumeration met."""

    root: bytes
    """Absolute path of the source root, as the file system spells it (`os.fsencode`)."""
    path: bytes
    """Path below the root, as bytes."""
    size_bytes: int
    mtime_ns: int
    skip: SkipReason | None = None
    """Why it is left out, or None for a document to process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRef:
    """A document that was enumerated and not yet looked into."""

    doc_id: int
    """Its number in the case's manifest, from 1."""
    location: bytes
    """Absolute path as bytes."""
    size_bytes: int
    """Size when it was enumerated."""
    mtime_ns: int
    """Modification time when it was enumerated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a look into a document found: it opens, and these are its pages."""

    sha256: str
    """SHA-256 of its bytes, 64 hexadecimal digits."""
    page_count: int
    """Number of pages, at least 1."""
    size_bytes: int
    """Size of the open file when it was hashed."""
    mtime_ns: int
    """Modification time of the open file when it was hashed."""
    repaired: bool
    """Whether MuPDF had to rebuild the file, as it does with a truncated one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why something failed, in closed words and numbers only."""

    reason: Reason
    signal: int | None = None
    """Number of the signal that ended the worker, if one did."""
    code: int | None = None
    """Error number of the system or of MuPDF, if there was one."""

    @property
    def failure_class(self) -> FailureClass:
        """Whether trying again can help."""
        return self.reason.failure_class


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDocument:
    """A probed document whose pages are being processed."""

    doc_id: int
    location: bytes
    sha256: str
    page_count: int
    size_bytes: int
    mtime_ns: int
    """Size and modification time at the probe: a worker that finds others refuses with `source_changed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageUnit:
    """One page of one document: coordinates only."""

    doc_id: int
    page: int
    """Page number, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Consecutive pages of one document, taken by one worker at a time."""

    document: OpenDocument
    first_page: int
    """Number of the first page, from 1."""
    page_count: int
    """Number of pages, at least 1."""
    attempt: int = 1
    """Which try this is, from 1."""
    alone: bool = False
    """Whether it needs a fresh worker to itself, because it is suspected of killing workers."""

    @property
    def pages(self) -> range:
        """The page numbers, from 1."""
        return range(self.first_page, self.first_page + self.page_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """The terminal outcome of one page, with its text."""

    page: int
    """Page number, from 1."""
    outcome: Outcome
    method: Method
    text: str = ""
    """The text, free of lone surrogates and of control characters other than tab, newline and form feed."""
    replaced: int = 0
    """How many characters of the text had to be replaced."""
    damaged: bool = False
    """Whether the parser warned of broken streams, so that text may be missing."""
    failure: Failure | None = None
    """Why, for a dead letter."""
    attempt: int = 1
    dur_ms: int = 0
    """Time spent on the page in the worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strikes:
    """Tries of a page, or of a document (page 0), that came to nothing in earlier runs."""

    unit: PageUnit
    count: int
    deaths: int
    """How many of them the application did not survive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostPage:
    """A page that was being worked on when its worker ended."""

    page: int
    """Page number, from 1."""
    failure: Failure
    """What ended the worker; the reason if this page is not tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanReport:
    """What became of a span: every one of its pages stands in exactly one of the three fields."""

    results: tuple[PageResult, ...] = ()
    lost: LostPage | None = None
    """The page that was being worked on when the worker ended."""
    untried: tuple[int, ...] = ()
    """Pages that nobody has tried, because the worker ended before or while their results were lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posture:
    """Which protections a worker process reached; recorded, and never overstated."""

    limits: tuple[str, ...]
    """Resource limits in force, as words."""
    sandbox: str
    """The sandbox in force, layer by layer, and what of it is missing and why."""
    parser: str
    """Name and version of the parser."""
    confined: bool = False
    """Whether every layer of the sandbox is in force."""
