"""The one place that loads PyMuPDF, and what its errors mean in our words.

PyMuPDF 2 would load a layout model, an inference engine and numpy with it, if they were there: three times the memory
and five times the time to start, for the same text. Naming them absent beforehand keeps them out. MuPDF's messages
carry paths and content: they are looked at here and go no further.
"""

import errno
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from engine.models.outcome import Reason

sys.modules["onnxruntime"] = sys.modules["pymupdf4llm"] = sys.modules["pymupdf.layout"] = None  # type: ignore[assignment]  # None makes an import fail

import pymupdf  # noqa: E402  # after the line above, which is the point

mupdf = pymupdf.mupdf
"""What lies below PyMuPDF."""

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
# Text has no colour. A transform between colour spaces takes as long to build as three pages, for each document anew,
# and a profile within a document is one more thing that could be crooked.
pymupdf.TOOLS.set_icc(False)

_CODE = re.compile(r"code=(\d+)")
_SYSTEM_CODE = 2  # MuPDF's FZ_ERROR_SYSTEM: out of memory, or a failed call of the system
_ALLOCATION = "alloc"
_ENCRYPTION = "crypt"
_NO_PLACE = (os.strerror(errno.EINVAL), os.strerror(errno.EOVERFLOW))
"""What the system says of a seek to before the beginning of a file, or beyond all that it can count."""


def version() -> str:
    """Return name and version of the parser."""
    python, mupdf, _ = pymupdf.version
    return f"PyMuPDF {python}, MuPDF {mupdf}"


class _Document(pymupdf.Document):  # type: ignore[misc]  # nothing of PyMuPDF has types
    """A document that can be looked at before PyMuPDF does, and whose title and author are nobody's business.

    Args:
        first: Looks at it.
        more: What PyMuPDF opens.
    """

    def __init__(self, first: Callable[[Any], object], **more: Any) -> None:
        self._first = first
        super().__init__(**more)

    def init_doc(self) -> None:
        """Override: leave the metadata out, which take a third of the time, where reading them changes nothing.

        That may have MuPDF read a broken object and repair the document, after which its pages are other ones.
        """
        self._first(self)
        if _holds_its_metadata(self):
            self._outline = self._loadOutline()
        else:
            super().init_doc()


def _holds_its_metadata(document: Any) -> bool:
    """Whether the metadata of a document are values in one dictionary that could be read, or there are none."""
    try:
        pdf = mupdf.ll_pdf_document_from_fz_document(document.this.m_internal)
        if pdf is None:  # it is none, and the lower level checks nothing
            return False
        info = mupdf.ll_pdf_dict_gets(mupdf.ll_pdf_trailer(pdf), "Info")
        if info is None:
            return True
        values = [mupdf.ll_pdf_dict_get_val(info, place) for place in range(mupdf.ll_pdf_dict_len(info))]
        return bool(values) and not any(mupdf.ll_pdf_is_indirect(value) for value in values)
    except Exception:  # noqa: BLE001  # a border to MuPDF; it is asked again in PyMuPDF's way
        return False


def open_pdf(file: str | bytes, *, first: Callable[[Any], object] = lambda _document: None) -> Any:
    """Return the open document.

    Args:
        file: Its path, or its bytes.
        first: Called with the document, unless it is closed to us, before anything of it but its frame was read.
            What this raises comes through.
    """
    given = {"stream": file} if isinstance(file, bytes) else {"filename": file}
    return _Document(first, **given, filetype="pdf")


def laid_out(page: Any) -> Any:
    """Return the characters of a page of `mupdf`, laid out as `get_text("text")` has it done."""
    return mupdf.FzStextPage(pymupdf.extra.page_get_textpage(page, None, pymupdf.TEXTFLAGS_TEXT, None))


def plain_text(found: Any) -> str:
    """Return the text of laid out characters as `get_text("text")` does."""
    return str(pymupdf.TextPage(found).extractText())


def rgb(space: Any, colour: Any) -> tuple[float, ...]:
    """Return a colour that `mupdf` draws with, in a colour space of its, as red, green and blue from 0 to 1."""
    return tuple(pymupdf.jm_lineart_color(space, colour))


def free_caches() -> None:
    """Empty MuPDF's store."""
    pymupdf.TOOLS.store_shrink(100)


def forget_objects(document: Any) -> None:
    """Drop the objects of an open document that MuPDF keeps and nothing else holds."""
    mupdf.ll_pdf_clear_xref(mupdf.pdf_document_from_fz_document(document.this).m_internal)


def take_warnings() -> str:
    """Return what MuPDF has complained about since the last call; not to leave this process."""
    return str(pymupdf.TOOLS.mupdf_warnings())


def document_fault(error: Exception) -> tuple[Reason, int | None]:
    """Return why a document does not open.

    A certificate or an unknown security handler makes it look corrupt; only MuPDF's own error, the cause, tells.
    """
    cause, code, words = _inner(error)
    if _out_of_memory(cause, code, words):
        return Reason.MEMORY_LIMIT, code
    if isinstance(error, pymupdf.EmptyFileError):
        return Reason.EMPTY_FILE, code
    if _ENCRYPTION in words:
        return Reason.ENCRYPTED, code
    return (Reason.READ_FAILED if _could_not_be_read(code, words) else Reason.CORRUPT_DOCUMENT), code


def page_fault(error: Exception) -> tuple[Reason, int | None]:
    """Return why a page could not be extracted."""
    cause, code, words = _inner(error)
    if _out_of_memory(cause, code, words):
        return Reason.MEMORY_LIMIT, code
    return (Reason.READ_FAILED if _could_not_be_read(code, words) else Reason.CORRUPT_PAGE), code


def _inner(error: Exception) -> tuple[BaseException, int | None, str]:
    """Return MuPDF's own error, its code and its words."""
    cause = error.__cause__ or error
    words = str(cause)
    code = getattr(cause, "m_code", None)
    if code is None and (found := _CODE.match(words)) is not None:
        code = int(found[1])
    return cause, code, words


def _could_not_be_read(code: int | None, words: str) -> bool:
    """Whether the system failed, and not because the document sent us to a place that no file has."""
    return code == _SYSTEM_CODE and not any(place in words for place in _NO_PLACE)


def _out_of_memory(cause: BaseException, code: int | None, words: str) -> bool:
    return isinstance(cause, MemoryError) or (code == _SYSTEM_CODE and _ALLOCATION in words)
