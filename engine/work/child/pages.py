"""One page: its text, or the reason why there is none.

The text is that of PyMuPDF's `get_text()`, cleaned. A page without text is blank where nothing is drawn and nothing
was lost on the way; it is damaged where something was lost; everything else shows something that only OCR could
read, and is a result of its own.
"""

import time
from typing import Any

from engine.models.outcome import Reason
from engine.work.child import damage, parser
from engine.work.child.documents import Document
from engine.work.child.reading import PageText
from engine.work.child.sight import shows_something
from engine.work.messages import FoundPage, PageKind
from engine.work.text import REPLACEMENT, cleaned, is_clean, shows_nothing


class PageError(Exception):
    """A page cannot be extracted, for one of the listed reasons.

    Args:
        reason: Why.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def find_page(document: Document, number: int, *, max_text_bytes: int) -> FoundPage:
    """Extract a page.

    Args:
        document: The document.
        number: Page number, from 1.
        max_text_bytes: Most text that it may have, in UTF-8.
    """
    started_ns = time.perf_counter_ns()
    parser.take_warnings()
    found: dict[str, Any]
    try:
        found = _found(document, number, max_text_bytes)
    except PageError as error:
        found = {"kind": PageKind.FAILED, "reason": error.reason}
    except Exception as error:  # noqa: BLE001  # the border to MuPDF, which raises whatever it likes
        unread = damage.system_could_not_read(parser.take_warnings())
        reason, code = (Reason.READ_FAILED, None) if unread else parser.page_fault(error)
        found = {"kind": PageKind.FAILED, "reason": reason, "code": code}
    return FoundPage(page=number, dur_ms=(time.perf_counter_ns() - started_ns) // 1_000_000, **found)


def _found(document: Document, number: int, max_text_bytes: int) -> dict[str, Any]:
    read = document.text(number, most_chars=max_text_bytes)
    text = read.text
    warnings = parser.take_warnings()
    lost = damage.lost_content(warnings)
    if lost:
        # What is broken is complained of once, when it is loaded: the next page that uses it must not find it loaded,
        # or what is said of a page would hang on which ones its worker has read before.
        parser.free_caches()
    if damage.system_could_not_read(warnings):
        raise PageError(Reason.READ_FAILED)
    if read.too_long or len(text) > max_text_bytes:  # before more memory is spent on it
        raise PageError(Reason.SIZE_LIMIT)
    utf8, replaced = _encoded(read)
    if replaced:
        text = utf8.decode()
    if not shows_nothing(text):
        if len(utf8) > max_text_bytes:
            raise PageError(Reason.SIZE_LIMIT)
        return {"kind": PageKind.TEXT, "text": utf8, "replaced": replaced, "damaged": lost}
    if lost:
        raise PageError(Reason.CORRUPT_PAGE)
    # Characters that mean nothing are something all the same.
    if REPLACEMENT in text or shows_something(document.page(number)):
        return {"kind": PageKind.NO_TEXT}
    if not damage.may_be_blank(warnings):
        raise PageError(Reason.CORRUPT_PAGE)
    return {"kind": PageKind.BLANK}


def _encoded(read: PageText) -> tuple[bytes, int]:
    """Return clean text in UTF-8, and how many characters had to be replaced."""
    text = read.text
    try:
        utf8 = text.encode() if read.utf8 is None else read.utf8
    except UnicodeEncodeError:
        pass
    else:
        if is_clean(utf8):
            return utf8, 0
    text, replaced = cleaned(text)
    return text.encode(), replaced
