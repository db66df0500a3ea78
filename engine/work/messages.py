"""The messages between the parent and a worker: what is asked, and how a worker words its answers.

A request names one document by the bytes of its path (the frame's payload) and carries the limits that hold for it.
An answer repeats the request's number. The parent reads answers with the strictness of `replies`; a worker trusts
its parent.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from engine.models.outcome import Reason
from engine.work.frames import Frame, encode

FLUSH_BYTES = 1024 * 1024
"""Text that a worker keeps back at most before it answers with what it has; a single page may be longer."""
LONG_S = 2.0
"""After which time, with what was asked for together, the rest goes back: somebody waits for what is done."""
OUT_OF_MEMORY_STATUS = 112
"""Exit status of a worker that has not even the memory to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What a worker is told on its command line."""

    parent_pid: int
    slot: str
    """Address of its slot."""
    address_space_bytes: int

    def to_argument(self) -> str:
        """Return it as one argument."""
        return json.dumps(asdict(self))

    @classmethod
    def from_argument(cls, text: str) -> Self:
        """Return what `to_argument` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest:
    """Open and hash a document."""

    number: int
    location: bytes
    open_s: float

    def to_frame(self) -> bytes:
        """Return it as the bytes of a frame."""
        return encode({"op": "probe", "number": self.number, "open_s": self.open_s}, self.location)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest:
    """Extract pages of a document that was probed before."""

    number: int
    location: bytes
    size_bytes: int
    mtime_ns: int
    page_count: int
    """Pages of the whole document, as probed."""
    first_page: int
    last_page: int
    max_text_bytes: int
    open_s: float
    page_s: float

    def to_frame(self) -> bytes:
        """Return it as the bytes of a frame."""
        # Spelled out: `asdict` copies deeply, and this is done for every few pages.
        header = {
            "op": "extract",
            "number": self.number,
            "size_bytes": self.size_bytes,
            "mtime_ns": self.mtime_ns,
            "page_count": self.page_count,
            "first_page": self.first_page,
            "last_page": self.last_page,
            "max_text_bytes": self.max_text_bytes,
            "open_s": self.open_s,
            "page_s": self.page_s,
        }
        return encode(header, self.location)


def request_of(frame: Frame) -> ProbeRequest | ExtractRequest:
    """Return the request that a frame from the parent carries."""
    fields = dict(frame.header)
    kind = ProbeRequest if fields.pop("op") == "probe" else ExtractRequest
    return kind(location=frame.payload, **fields)


class PageKind(StrEnum):
    """What a worker found on a page."""

    TEXT = "text"  # Text.
    BLANK = "blank"  # Nothing is drawn on it.
    NO_TEXT = "no_text"  # It shows something and has no text: it would need OCR.
    FAILED = "failed"  # It could not be extracted, for a listed reason.


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """One page as a worker found it."""

    page: int
    kind: PageKind
    dur_ms: int
    text: bytes = b""
    """In UTF-8, clean."""
    replaced: int = 0
    damaged: bool = False
    reason: Reason | None = None
    code: int | None = None

    def to_row(self) -> list[Any]:
        """Return it as a row of a pages answer; its text goes into the payload."""
        row: list[Any] = [self.page, self.kind, self.dur_ms]
        if self.kind is PageKind.TEXT:
            row += [len(self.text), self.replaced, self.damaged]
        elif self.kind is PageKind.FAILED:
            row += [self.reason, self.code]
        return row


def ready_frame(*, limits: Sequence[str], sandbox: str, parser: str, confined: bool = False) -> bytes:
    """Return a worker's first message: it is ready, and these protections are in force."""
    return encode({"ready": {"limits": list(limits), "sandbox": sandbox, "confined": confined, "parser": parser}})


def probe_frame(number: int, *, sha256: str, page_count: int, size_bytes: int, mtime_ns: int, repaired: bool) -> bytes:
    """Return the answer to a probe that opened its document."""
    found = {
        "sha256": sha256,
        "page_count": page_count,
        "size_bytes": size_bytes,
        "mtime_ns": mtime_ns,
        "repaired": repaired,
    }
    return encode({"number": number, "probe": found})


def pages_frame(number: int, pages: Sequence[FoundPage], *, done: bool) -> bytes:
    """Return the next pages of a span, in order; `done` with the last ones, or with one that ran out of memory."""
    header = {"number": number, "pages": [page.to_row() for page in pages], "done": done}
    return encode(header, b"".join([page.text for page in pages]))


def left_frame(number: int) -> bytes:
    """Return the answer to a request that was not begun, because those before it took long; never to the first."""
    return encode({"number": number, "left": True})


def failure_frame(number: int, reason: Reason, code: int | None = None) -> bytes:
    """Return the answer to a request whose document failed as a whole; it voids pages that were answered before."""
    return encode({"number": number, "failed": [reason, code]})
