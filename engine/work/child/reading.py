"""The text of a page, to the byte what PyMuPDF's `get_text("text")` gives, in less time where that is certain.

PyMuPDF looks at each character once more before it writes it: whether it lies on the page, and how to escape it.
MuPDF's own writer does neither. It differs in how it ends lines and blocks, in characters that have no place in UTF-8,
and in those that lie outside of the page. Where one of these could matter, PyMuPDF's way is taken. Finding and laying
out the characters is the same work in both ways. What a text means is the business of `pages`.
"""

from dataclasses import dataclass
from typing import Any

from engine.work.child.blocks import count_inside
from engine.work.child.parser import laid_out, mupdf, plain_text
from engine.work.text import REPLACEMENT

_MARGIN = 1.0
"""How far inside of the page, in points, text must lie for no character of it to count as outside."""
_FIRST_BUFFER_BYTES = 8192
_BLOCK_END, _LINE_END, _EMPTY_LINE = b"\n\n", b"\n", b"\n\n\n"
_REPLACEMENT = REPLACEMENT.encode()
_LONGEST_IN_UTF8 = 4


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page, as it was found."""

    text: str
    utf8: bytes | None = None
    """The same in UTF-8, where it is at hand."""
    too_long: bool = False
    """Whether it has more characters than were allowed; it was then left where it was."""


def page_text(pdf: Any, index: int, *, most_chars: int) -> PageText:
    """Return the text of a page.

    Args:
        pdf: The open document.
        index: Number of the page, from 0.
        most_chars: Most characters that it may have.
    """
    page = _upright_page(pdf, index)
    if page is None:
        return PageText(str(pdf.load_page(index).get_text("text")))
    found = laid_out(page)
    return _quick_text(found, most_chars) or PageText(plain_text(found))


def _upright_page(pdf: Any, index: int) -> Any:
    """Load a page; return None where PyMuPDF would turn it first, or has words of its own for what is wrong with it."""
    try:
        page = mupdf.fz_load_page(pdf.this, index)
        entries = mupdf.ll_pdf_page_from_fz_page(page.m_internal).obj
        turned = mupdf.ll_pdf_to_int(mupdf.ll_pdf_dict_gets_inheritable(entries, "Rotate"))
    except Exception:  # noqa: BLE001  # a border to MuPDF; it is asked again in PyMuPDF's way, which then fails alike
        return None
    return None if turned else page


def _quick_text(found: Any, most_chars: int) -> PageText | None:
    """Return what MuPDF writes, brought into PyMuPDF's form; or None where the two may differ."""
    blocks = _blocks_inside(found.m_internal)
    if blocks is None:
        return None
    written = _written(found.m_internal, _LONGEST_IN_UTF8 * most_chars)
    if written is None:
        return PageText("", too_long=True)
    # A block that is none of text ends nothing. A line without characters, or one that ends in a line feed of its own,
    # is no line to PyMuPDF.
    if written.count(_BLOCK_END) != blocks or _EMPTY_LINE in written or written.startswith(_LINE_END):
        return None
    if _REPLACEMENT in written:  # stands for what is no character, too
        return None
    utf8 = written.replace(_BLOCK_END, _LINE_END)
    try:
        return PageText(utf8.decode(), utf8)
    except UnicodeDecodeError:  # MuPDF writes a NUL in a way that is no UTF-8
        return None


def _blocks_inside(found: Any) -> int | None:
    """Return how many blocks there are, or None where not all are well inside of the page."""
    page = found.mediabox
    return count_inside(found, (page.x0 + _MARGIN, page.y0 + _MARGIN, page.x1 - _MARGIN, page.y1 - _MARGIN))


def _written(found: Any, most_bytes: int) -> bytes | None:
    """Return what MuPDF writes of a page's text, or None where that is too long.

    The objects of the lower level have to be dropped by hand, and cost half as much as those of the upper one.
    """
    buffer = mupdf.ll_fz_new_buffer(_FIRST_BUFFER_BYTES)
    try:
        output = mupdf.ll_fz_new_output_with_buffer(buffer)
        try:
            mupdf.ll_fz_print_stext_page_as_text(output, found)
            mupdf.ll_fz_close_output(output)
        finally:
            mupdf.ll_fz_drop_output(output)
        if buffer.len > most_bytes:
            return None
        return bytes(mupdf.ll_fz_buffer_to_bytes_internal(buffer, 0))
    finally:
        mupdf.ll_fz_drop_buffer(buffer)
