"""Reading a worker's answers without trusting it: every type, number, length and order is checked.

A worker may have been taken over by the document that it parses. Whatever is not exactly an answer to the request
is a `FrameError`, and costs that worker its life.
"""

import re
from collections.abc import Sequence
from typing import Any

from engine.models.document import EARLIEST_NS, LATEST_NS, Failure, PageResult, Posture, Probe
from engine.models.outcome import Method, Outcome, Reason
from engine.work.frames import Frame, FrameError
from engine.work.messages import PageKind
from engine.work.text import is_clean, shows_nothing

_MOST = 2**63 - 1
_MOST_PAGES = 2**31 - 1
_MOST_MS = 2**31 - 1
_MOST_LIMITS = 32
_WORDS = re.compile(r"[ -~]{1,120}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LEAST_OF_A_ROW = 3
_LENGTH_WITH_TEXT = 6

_DOCUMENT_REASONS = frozenset(
    {
        Reason.READ_FAILED,
        Reason.SOURCE_UNREACHABLE,
        Reason.OUT_OF_MEMORY,
        Reason.EMPTY_FILE,
        Reason.NOT_A_PDF,
        Reason.ENCRYPTED,
        Reason.CORRUPT_DOCUMENT,
        Reason.MEMORY_LIMIT,
        Reason.SIZE_LIMIT,
        Reason.SOURCE_VANISHED,
        Reason.SOURCE_CHANGED,
        Reason.SOURCE_UNREADABLE,
        Reason.INTERNAL_ERROR,
    }
)
OUT_OF_ROOM = frozenset({Reason.MEMORY_LIMIT, Reason.OUT_OF_MEMORY})
"""A worker that meets one of these breaks off: what comes next would suffer for it."""
_PAGE_REASONS = frozenset(
    {
        Reason.READ_FAILED,
        Reason.OUT_OF_MEMORY,
        Reason.CORRUPT_PAGE,
        Reason.MEMORY_LIMIT,
        Reason.SIZE_LIMIT,
        Reason.INTERNAL_ERROR,
    }
)


def posture_of(frame: Frame) -> Posture:
    """Return the posture that a worker reports as its first message.

    Raises:
        FrameError: When the frame is anything else.
    """
    ready = frame.header.get("ready")
    if set(frame.header) != {"ready"} or frame.payload or not isinstance(ready, dict):
        raise FrameError("The first frame of a worker does not say that it is ready.")
    if set(ready) != {"limits", "sandbox", "confined", "parser"}:
        raise FrameError("The posture of a worker is incomplete.")
    limits, sandbox, confined, parser = ready["limits"], ready["sandbox"], ready["confined"], ready["parser"]
    if not isinstance(limits, list) or len(limits) > _MOST_LIMITS or not isinstance(confined, bool):
        raise FrameError("The posture of a worker is not worded as it should be.")
    for word in (*limits, sandbox, parser):
        if not isinstance(word, str) or not _WORDS.fullmatch(word):
            raise FrameError("The posture of a worker holds something else than words.")
    return Posture(limits=tuple(limits), sandbox=str(sandbox), parser=str(parser), confined=confined)


def is_left(frame: Frame, number: int) -> bool:
    """Return whether an answer says that this request was not begun; False for another answer.

    Raises:
        FrameError: When it says more.
    """
    if "left" not in frame.header:
        return False
    if frame.header != {"number": number, "left": True} or frame.payload:
        raise FrameError("A request that was left says too much.")
    return True


def failure_of(frame: Frame, number: int) -> Failure | None:
    """Return why the document failed as a whole, or None for another answer to this request.

    Raises:
        FrameError: When it answers another request, or the reason is none that a worker may give.
    """
    if frame.header.get("number") != number:
        raise FrameError("An answer belongs to another request.")
    if "failed" not in frame.header:
        return None
    if set(frame.header) != {"number", "failed"} or frame.payload:
        raise FrameError("A failure says too much.")
    return _failure(frame.header["failed"], _DOCUMENT_REASONS)


def probe_of(frame: Frame) -> Probe:
    """Return what a probe found.

    Raises:
        FrameError: When the frame is anything else.
    """
    found = frame.header.get("probe")
    if set(frame.header) != {"number", "probe"} or frame.payload or not isinstance(found, dict):
        raise FrameError("An answer to a probe is no probe.")
    if set(found) != {"sha256", "page_count", "size_bytes", "mtime_ns", "repaired"}:
        raise FrameError("A probe is incomplete.")
    sha256, repaired = found["sha256"], found["repaired"]
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256) or not isinstance(repaired, bool):
        raise FrameError("A probe holds something else than a hash and a flag.")
    return Probe(
        sha256=sha256,
        page_count=_number(found["page_count"], 1, _MOST_PAGES),
        size_bytes=_number(found["size_bytes"], 1, _MOST),
        mtime_ns=_number(found["mtime_ns"], EARLIEST_NS, LATEST_NS),
        repaired=repaired,
    )


def pages_of(
    frame: Frame, awaited: Sequence[int], *, max_text_bytes: int, attempt: int
) -> tuple[list[PageResult], bool]:
    """Return the pages of an answer to a span, and whether they were the last ones.

    They are where no page is missing any more, and where a page ran out of memory.

    Args:
        frame: The answer.
        awaited: The page numbers that are still missing, in order.
        max_text_bytes: Most text of one page.
        attempt: Which try this is.

    Raises:
        FrameError: When anything about it is not as it must be.
    """
    rows, done = frame.header.get("pages"), frame.header.get("done")
    if set(frame.header) != {"number", "pages", "done"} or not isinstance(rows, list) or not isinstance(done, bool):
        raise FrameError("An answer to a span is none.")
    if not 0 < len(rows) <= len(awaited):
        raise FrameError("An answer to a span has too many pages, or none.")
    payload = frame.payload
    if not is_clean(payload):
        raise FrameError("Page text holds control characters.")
    results: list[PageResult] = []
    start = 0
    for row, page in zip(rows, awaited, strict=False):
        if not isinstance(row, list) or len(row) < _LEAST_OF_A_ROW or type(row[0]) is not int or row[0] != page:
            raise FrameError("An answer to a span names another page.")
        if row[1] == PageKind.TEXT:
            result, start = _text_result(row, payload, start, max_text_bytes, attempt)
        else:
            result = _textless_result(row, page, _number(row[2], 0, _MOST_MS), attempt)
        results.append(result)
    if start != len(payload):
        raise FrameError("The lengths of the pages do not add up.")
    if done is not (len(rows) == len(awaited) or ran_out_of_room(results[-1])):
        raise FrameError("An answer to a span ends too early or too late.")
    return results, done


def ran_out_of_room(result: PageResult) -> bool:
    """Whether a page failed because there was no memory for it."""
    return result.failure is not None and result.failure.reason in OUT_OF_ROOM


def _text_result(
    row: list[Any], payload: bytes, start: int, max_text_bytes: int, attempt: int
) -> tuple[PageResult, int]:
    """Return a page with text, and where the next one's begins; nearly all pages are such, so that it must be quick."""
    if len(row) != _LENGTH_WITH_TEXT:
        raise FrameError("A page with text tells too much of it, or too little.")
    page, _, dur_ms, size_bytes, replaced, damaged = row
    if not (type(dur_ms) is type(size_bytes) is type(replaced) is int and type(damaged) is bool):
        raise FrameError("A page with text lacks a number, or its flag.")
    end = start + size_bytes
    if not (0 <= dur_ms <= _MOST_MS and 1 <= size_bytes <= max_text_bytes and end <= len(payload)):
        raise FrameError("A page with text has a number out of its bounds.")
    try:
        text = payload[start:end].decode()
    except UnicodeDecodeError as error:
        raise FrameError("Page text is not UTF-8.") from error
    if not 0 <= replaced <= len(text) or shows_nothing(text):
        raise FrameError("A page with text has none, or less than was replaced in it.")
    result = PageResult(
        page=page,
        outcome=Outcome.EXTRACTED,
        method=Method.TEXT,
        text=text,
        replaced=replaced,
        damaged=damaged,
        attempt=attempt,
        dur_ms=dur_ms,
    )
    return result, end


def _textless_result(row: list[Any], page: int, dur_ms: int, attempt: int) -> PageResult:
    failure: Failure | None
    match row[1:2] + row[3:]:
        case [PageKind.BLANK]:
            failure = None
        case [PageKind.NO_TEXT]:
            failure = Failure(reason=Reason.NO_TEXT)
        case [PageKind.FAILED, reason, code]:
            failure = _failure([reason, code], _PAGE_REASONS)
        case _:
            raise FrameError("A page of an answer is of no known kind.")
    if failure is None:
        return PageResult(
            page=page,
            outcome=Outcome.EXTRACTED,
            method=Method.BLANK,
            attempt=attempt,
            dur_ms=dur_ms,
        )
    return PageResult(
        page=page,
        outcome=Outcome.DEAD_LETTER,
        method=Method.NONE,
        failure=failure,
        attempt=attempt,
        dur_ms=dur_ms,
    )


def _failure(value: Any, allowed: frozenset[Reason]) -> Failure:
    match value:
        case [str(word), code] if word in allowed:
            return Failure(reason=Reason(word), code=None if code is None else _number(code, -_MOST_PAGES, _MOST_PAGES))
        case _:
            raise FrameError("A failure has no reason that a worker may give.")


def _number(value: Any, least: int, most: int) -> int:
    """Return a whole number within bounds; `True` is none, though Python says so."""
    if type(value) is not int or not least <= value <= most:
        raise FrameError("A number is missing or out of its bounds.")
    return value
