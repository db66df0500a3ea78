"""Jobs: one request to a worker, the answers so far, and what is to be reported when the worker does not finish.

A job knows what its answers may look like and whom to blame. It knows nothing of processes and threads: its keeper
feeds it frames and, at a worker's death, the last mark in the slot.
"""

from typing import Protocol, Self

from engine.models.document import DocumentRef, Failure, LostPage, PageResult, Probe, Span, SpanReport
from engine.models.outcome import Method, Outcome, Reason
from engine.settings import Settings
from engine.work.frames import HEADER_BASE_BYTES, Frame, FrameCaps
from engine.work.messages import FLUSH_BYTES, OUT_OF_MEMORY_STATUS, ExtractRequest, ProbeRequest
from engine.work.replies import OUT_OF_ROOM, failure_of, pages_of, probe_of, ran_out_of_room
from engine.work.slot import Mark, Phase

_HEADER_BYTES_PER_PAGE = 128


class Job(Protocol):
    """One request on its way."""

    @property
    def number(self) -> int:
        """Number of the request."""
        ...

    @property
    def doc_id(self) -> int:
        """Number of the document that it is about."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether more of the document is most likely asked for afterwards."""
        ...

    @property
    def request(self) -> bytes:
        """The request as a frame."""
        ...

    @property
    def caps(self) -> FrameCaps:
        """How long the next answer may be."""
        ...

    @property
    def pages(self) -> int:
        """How many pages are done."""
        ...

    @property
    def spoiled(self) -> bool:
        """Whether its worker ran out of memory, so that it is to get no other job."""
        ...

    def page_in(self, mark: Mark) -> int | None:
        """Return the page that a slot's mark tells of; None where it tells of none of this job's."""
        ...

    def take(self, frame: Frame) -> bool:
        """Take an answer; return whether it was the last one.

        Raises:
            FrameError: When it is no answer to this request.
        """
        ...

    def end(self, failure: Failure, mark: Mark) -> None:
        """Take note that the worker ended first: why, and what stood in its slot."""
        ...


class ProbeJob:
    """Opens and hashes a document."""

    pages = 0
    goes_on = False
    caps = FrameCaps()

    def __init__(self, doc_id: int, request: ProbeRequest) -> None:
        self.number = request.number
        self.doc_id = doc_id
        self.request = request.to_frame()
        self.outcome: Probe | Failure = Failure(reason=Reason.WORKER_LOST)

    @classmethod
    def of(cls, document: DocumentRef, number: int, settings: Settings) -> Self:
        """Return the job that probes a document under these settings."""
        request = ProbeRequest(number=number, location=document.location, open_s=settings.clocks.open_s)
        return cls(document.doc_id, request)

    @property
    def spoiled(self) -> bool:
        """Whether its worker ran out of memory."""
        return isinstance(self.outcome, Failure) and self.outcome.reason in OUT_OF_ROOM

    def take(self, frame: Frame) -> bool:
        """Take the answer."""
        self.outcome = failure_of(frame, self.number) or probe_of(frame)
        return True

    def page_in(self, mark: Mark) -> None:  # a probe has no pages
        """Return None."""

    def end(self, failure: Failure, mark: Mark) -> None:  # noqa: ARG002  # a probe has one thing to blame
        """Blame the document."""
        self.outcome = failure


class SpanJob:
    """Extracts the pages of a span."""

    def __init__(self, span: Span, request: ExtractRequest) -> None:
        self.number = request.number
        self.doc_id = span.document.doc_id
        self.goes_on = span.pages[-1] < span.document.page_count
        self.request = request.to_frame()
        self.caps = FrameCaps(
            header_bytes=HEADER_BASE_BYTES + _HEADER_BYTES_PER_PAGE * span.page_count,
            payload_bytes=max(FLUSH_BYTES, request.max_text_bytes),
        )
        self._max_text_bytes = request.max_text_bytes
        self._span = span
        self.spoiled = False
        self._results: list[PageResult] = []
        self._lost: LostPage | None = None

    @classmethod
    def of(cls, span: Span, number: int, settings: Settings) -> Self:
        """Return the job that extracts a span under these settings."""
        document = span.document
        request = ExtractRequest(
            number=number,
            location=document.location,
            size_bytes=document.size_bytes,
            mtime_ns=document.mtime_ns,
            page_count=document.page_count,
            first_page=span.pages[0],
            last_page=span.pages[-1],
            max_text_bytes=settings.worker.max_text_bytes,
            open_s=settings.clocks.open_s,
            page_s=settings.clocks.page_s,
        )
        return cls(span, request)

    @property
    def pages(self) -> int:
        """How many pages are done."""
        return len(self._results)

    @property
    def outcome(self) -> SpanReport:
        """What became of the span so far."""
        lost = None if self._lost is None else self._lost.page
        untried = tuple(page for page in self._span.pages[len(self._results) :] if page != lost)
        return SpanReport(results=tuple(self._results), lost=self._lost, untried=untried)

    def take(self, frame: Frame) -> bool:
        """Take the next pages, or a failure of the document, which is one of each of its pages."""
        failure = failure_of(frame, self.number)
        if failure is not None:
            self._results = list(dead_letters(self._span, failure))
            self.spoiled = failure.reason in OUT_OF_ROOM
            return True
        results, done = pages_of(
            frame,
            self._span.pages[len(self._results) :],
            max_text_bytes=self._max_text_bytes,
            attempt=self._span.attempt,
        )
        last = results[-1]
        if last.failure is not None and ran_out_of_room(last):
            # As good as a death: it deserves another try in a fresh worker, and so does what comes after it.
            results.pop()
            self.spoiled, self._lost = True, LostPage(page=last.page, failure=last.failure)
        self._results += results
        return done

    def page_in(self, mark: Mark) -> int | None:
        """Return the page of the span that is being worked on, where the slot tells one."""
        return mark.page if mark.phase == Phase.PAGE and mark.page in self._span.pages else None

    def end(self, failure: Failure, mark: Mark) -> None:
        """Blame the page in the slot, or the first one that is missing where the slot tells none of ours."""
        missing = self._span.pages[len(self._results) :]
        if missing:
            page = mark.page if mark.phase == Phase.PAGE and mark.page in missing else missing[0]
            self._lost = LostPage(page=page, failure=failure)


def dead_letters(span: Span, failure: Failure) -> tuple[PageResult, ...]:
    """Return a dead letter for every page of a span."""
    return tuple(
        PageResult(
            page=page,
            outcome=Outcome.DEAD_LETTER,
            method=Method.NONE,
            failure=failure,
            attempt=span.attempt,
        )
        for page in span.pages
    )


def ending_failure(status: int | None, killed_for: Failure | None) -> Failure:
    """Return why a worker ended in the middle of its work.

    Args:
        status: Its exit status, a signal as a negative number; None where even its end could not be seen.
        killed_for: What we killed it for, if it was us.
    """
    if killed_for is not None:
        return killed_for
    if status is None:
        return Failure(reason=Reason.WORKER_CRASHED)
    if status == OUT_OF_MEMORY_STATUS:
        return Failure(reason=Reason.MEMORY_LIMIT)
    if status >= 0:
        return Failure(reason=Reason.WORKER_CRASHED, code=status)
    return Failure(reason=_SIGNAL_REASONS.get(-status, Reason.WORKER_CRASHED), signal=-status)


# By number, since Windows does not know the names. A worker never sends these to itself: somebody else ended it.
_SIGHUP, _SIGINT, _SIGQUIT, _SIGKILL, _SIGTERM = 1, 2, 3, 9, 15
_SIGXCPU = 24  # On Linux and macOS alike. The last net under the parent's clocks: twice the time of a page.
_SIGNAL_REASONS = dict.fromkeys((_SIGHUP, _SIGINT, _SIGQUIT, _SIGKILL, _SIGTERM), Reason.WORKER_LOST) | {
    _SIGXCPU: Reason.TIME_LIMIT
}
