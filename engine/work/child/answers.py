"""A worker's answers to requests: whatever goes wrong with a document becomes a reason.

The slot says what comes next before it is begun. Pages are answered together, as many as fit or as come up within
half a second, so that little is lost when a later page ends the worker.
"""

import time
from collections.abc import Callable
from typing import BinaryIO

from engine.heap import give_back_memory
from engine.models.outcome import Reason
from engine.work.child import parser
from engine.work.child.documents import Document, Shelf
from engine.work.child.limits import ProcessorLimit
from engine.work.child.pages import find_page, shows_something
from engine.work.child.room import Room, resident_memory
from engine.work.child.source import DocumentError, SourceFile, Version
from engine.work.child.specimen import WORD, specimen
from engine.work.frames import Frame
from engine.work.messages import (
    FLUSH_BYTES,
    ExtractRequest,
    FoundPage,
    ProbeRequest,
    failure_frame,
    pages_frame,
    probe_frame,
    request_of,
)
from engine.work.slot import Phase, Slot

_FLUSH_S = 0.5
_NET = 2.0
"""How many times the parent's clock a worker may compute before the system ends it."""
_PIECES_PER_SIGN = 16
"""After how many megabytes hashed the slot shows that it goes on."""


def parser_version() -> str:
    """Return name and version of the parser."""
    return parser.version()


def warm_up() -> bool:
    """Read a tiny document of our own, so that everything that is loaded late is there; return whether that works."""
    document = parser.open_pdf(specimen())
    page = document.load_page(0)
    works = page.get_text("text").split() == [WORD, WORD] and shows_something(page)
    page = None
    document.close()
    parser.free_caches()
    return works


class Answers:
    """Answers requests.

    Args:
        slot: Where to write what comes next.
        replies: The pipe to the parent.
    """

    def __init__(self, slot: Slot, replies: BinaryIO) -> None:
        self._slot = slot
        self._replies = replies
        self._shelf = Shelf()
        self._processor = ProcessorLimit()
        self._room = Room(resident_memory(), self._forget, give_back_memory)

    def give(self, frame: Frame) -> None:
        """Answer a request."""
        request = request_of(frame)
        self._slot.step(Phase.OPENING)
        self._processor.allow_s(_NET * request.open_s)
        try:
            if isinstance(request, ProbeRequest):
                self._probe(request)
            else:
                self._extract(request)
        except DocumentError as error:
            self._send(failure_frame(request.number, error.reason, error.code))
        self._room.between_pages()

    def _forget(self) -> None:
        """Let go of what can be read again: fonts and pictures, and the objects of the open documents."""
        parser.free_caches()
        self._shelf.forget()

    def _send(self, frame: bytes) -> None:
        self._replies.write(frame)
        self._replies.flush()

    def _probe(self, request: ProbeRequest) -> None:
        self._shelf.drop(request.location)
        file = SourceFile(request.location)
        try:
            file.sniff()
            sha256 = file.sha256(self._sign_of_life(_NET * request.open_s))
            document = Document(file)
        except DocumentError:
            file.close()
            raise
        self._shelf.put(document)
        file.check_unchanged()
        self._send(
            probe_frame(
                request.number,
                sha256=sha256,
                page_count=document.page_count,
                size_bytes=file.version.size_bytes,
                mtime_ns=file.version.mtime_ns,
                repaired=document.repaired,
            )
        )

    def _sign_of_life(self, allowed_s: float) -> Callable[[], None]:
        """Return a function that shows, every so many calls, that hashing a large file goes on."""
        calls = 0

        def sign() -> None:
            nonlocal calls
            calls += 1
            if calls % _PIECES_PER_SIGN == 0:
                self._slot.step(Phase.OPENING)
                self._processor.allow_s(allowed_s)

        return sign

    def _extract(self, request: ExtractRequest) -> None:
        version = Version(size_bytes=request.size_bytes, mtime_ns=request.mtime_ns)
        goes_on = request.last_page < request.page_count
        document = self._shelf.get(request.location, version, goes_on=goes_on)
        if document.page_count != request.page_count:
            raise DocumentError(Reason.SOURCE_CHANGED)
        found: list[FoundPage] = []
        kept_bytes, sent_s = 0, time.monotonic()
        for number in range(request.first_page, request.last_page + 1):
            self._slot.step(Phase.PAGE, number)
            self._processor.allow_s(_NET * request.page_s)
            page = find_page(document, number, max_text_bytes=request.max_text_bytes)
            if found and (kept_bytes + len(page.text) > FLUSH_BYTES or time.monotonic() - sent_s > _FLUSH_S):
                self._send_pages(document, request.number, found, done=False)
                found, kept_bytes, sent_s = [], 0, time.monotonic()
            found.append(page)
            kept_bytes += len(page.text)
            self._room.between_pages()
            if page.reason is Reason.MEMORY_LIMIT:
                break  # what filled it may still be there: the next page would suffer for it
        self._send_pages(document, request.number, found, done=True)

    def _send_pages(self, document: Document, number: int, found: list[FoundPage], *, done: bool) -> None:
        """Send pages, unless the file changed while they were read: then none of them counts."""
        document.file.check_unchanged()
        self._send(pages_frame(number, found, done=done))
