"""A worker's answers to requests: whatever goes wrong with a document becomes a reason.

The slot says what comes next before it is begun. Pages are answered together, as many as fit or as come up within
half a second, so that little is lost when a later page ends the worker. Where several documents were asked for at
once, so are theirs: waking the parent costs as much as a page.
"""

import time
from collections.abc import Callable
from typing import BinaryIO

from engine.heap import give_back_memory
from engine.models.outcome import Reason
from engine.work.child import parser
from engine.work.child.documents import Document, Shelf
from engine.work.child.limits import ProcessorLimit
from engine.work.child.pages import find_page
from engine.work.child.room import Room, resident_memory
from engine.work.child.sight import shows_something
from engine.work.child.source import DocumentError, SourceFile, Version
from engine.work.child.specimen import WORD, specimen
from engine.work.frames import Frame
from engine.work.messages import (
    FLUSH_BYTES,
    LONG_S,
    ExtractRequest,
    FoundPage,
    ProbeRequest,
    failure_frame,
    left_frame,
    pages_frame,
    probe_frame,
    request_of,
)
from engine.work.slot import Phase, Slot

_FLUSH_S = 0.5
_HELD_S, _HELD_BYTES = 0.1, 128 * 1024
"""How long, and up to how many bytes, answers wait for those to the next requests; half of what the pipe takes."""
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
        self._held: list[bytes] = []
        self._held_bytes, self._held_since_s = 0, 0.0
        self._more = False
        self._begun_s = 0.0

    def give(self, frame: Frame, *, more: bool) -> None:
        """Answer a request.

        Args:
            frame: The request.
            more: Whether the parent has sent another one with it, so that it is not waiting for this answer alone.
        """
        request = request_of(frame)
        is_first, self._more = not self._more, more
        if is_first:
            self._begun_s = time.monotonic()
        elif time.monotonic() - self._begun_s > LONG_S:
            self._send(left_frame(request.number), at_once=False)
            return
        self._slot.step(Phase.OPENING, request=request.number)
        self._processor.allow_s(_NET * request.open_s)
        try:
            if isinstance(request, ProbeRequest):
                self._probe(request)
            else:
                self._extract(request)
        except DocumentError as error:
            self._send(failure_frame(request.number, error.reason, error.code), at_once=False)
        self._room.between_pages()
        self._slot.step(Phase.IDLE, request=request.number)

    def _forget(self) -> None:
        """Let go of what can be read again: fonts and pictures, and the objects of the open documents."""
        parser.free_caches()
        self._shelf.forget()

    def _send(self, frame: bytes, *, at_once: bool) -> None:
        """Send an answer, and those that were held back before it; or hold it back, where that may be."""
        now_s = time.monotonic()
        if not self._held:
            self._held_since_s = now_s
        self._held.append(frame)
        self._held_bytes += len(frame)
        if not at_once and self._more and self._held_bytes < _HELD_BYTES and now_s - self._held_since_s < _HELD_S:
            return
        self._replies.write(b"".join(self._held))
        self._replies.flush()
        self._held, self._held_bytes = [], 0

    def _probe(self, request: ProbeRequest) -> None:
        self._shelf.drop(request.location)
        file = SourceFile(request.location)
        try:
            file.sniff()
            sha256 = file.sha256(self._sign_of_life(request.number, _NET * request.open_s))
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
            ),
            at_once=False,
        )

    def _sign_of_life(self, number: int, allowed_s: float) -> Callable[[], None]:
        """Return a function that shows, every so many calls, that hashing a large file goes on."""
        calls = 0

        def sign() -> None:
            nonlocal calls
            calls += 1
            if calls % _PIECES_PER_SIGN == 0:
                self._slot.step(Phase.OPENING, request=number)
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
            self._slot.step(Phase.PAGE, number, request=request.number)
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
        self._send(pages_frame(number, found, done=done), at_once=not done)
