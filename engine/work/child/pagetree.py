"""Opening a document of very many pages, without holding all of them in memory for a moment.

To find a page, MuPDF makes a list of all of them, for which it reads every page and keeps what it has read: 50 MB for
50,000 pages. All that it looks at is their type. So each page is read here first, and what MuPDF keeps of it replaced
by a dictionary that has nothing but this type; then MuPDF is made to draw up its list, and forgets those dictionaries
again. The list is its own, and the same. Where anything is not as it should be, nothing is put in the way of what
MuPDF makes of it: the document is opened once more, and left as it is.
"""

from collections.abc import Iterator
from typing import Any

from engine.work.child import parser
from engine.work.child.parser import mupdf

MANY_PAGES = 10_000
"""From how many pages on it matters: 10 MB."""

_DEEPEST = 100
_ROOT, _PAGES, _KIDS, _TYPE, _PAGE = (
    getattr(mupdf, f"PDF_ENUM_NAME_{name}").m_internal for name in ("Root", "Pages", "Kids", "Type", "Page")
)


class _UnsoundError(Exception):
    """The tree is none of the usual kind, or MuPDF had to mend something; what is open is of no use any more."""


def open_pdf(file: str | bytes, *, many_pages: int = MANY_PAGES) -> Any:
    """Return the open document.

    Args:
        file: Its path, or its bytes.
        many_pages: From how many pages on to care for memory.
    """

    def list_pages(document: Any) -> None:
        pdf = mupdf.ll_pdf_document_from_fz_document(document.this.m_internal)
        # A page is an object, so that nothing of a small document has to be read to know that it is one.
        if pdf is not None and mupdf.ll_pdf_xref_len(pdf) > many_pages and not pdf.repair_attempted:
            _list_pages(pdf, many_pages)

    try:
        # With an outline, PyMuPDF has the pages looked up as it opens the document: it has to be done before.
        return parser.open_pdf(file, first=list_pages)
    except _UnsoundError:
        pass
    return parser.open_pdf(file)


def _list_pages(pdf: Any, many_pages: int) -> None:
    """Have MuPDF list the pages of a document, if they are many.

    Raises:
        _UnsoundError: When that did not go as it should.
    """
    try:
        page_count = mupdf.ll_pdf_count_pages(pdf)
        listing = page_count >= many_pages
        if listing:
            parser.take_warnings()
            _reduce_pages(pdf, page_count)
            mupdf.ll_pdf_lookup_page_obj(pdf, 0)
    except Exception as error:
        # The border to MuPDF, which raises whatever it likes; it will do so again.
        raise _UnsoundError from error
    if pdf.repair_attempted or (listing and (pdf.fwd_page_map is None or parser.take_warnings())):
        raise _UnsoundError
    if listing:
        mupdf.ll_pdf_clear_xref(pdf)


def _reduce_pages(pdf: Any, page_count: int) -> None:
    """Replace what MuPDF keeps of each page by a dictionary with nothing but its type.

    The objects of the lower level are not kept alive by looking at them, and a repair drops them all: after every
    call that may read from the file comes a look at whether there was one.
    """
    root = mupdf.ll_pdf_dict_get(mupdf.ll_pdf_dict_get(mupdf.ll_pdf_trailer(pdf), _ROOT), _PAGES)
    nodes = {mupdf.ll_pdf_to_num(root)}
    if nodes == {0}:  # it is part of the catalog, and would go with it
        raise _UnsoundError
    reduced = mupdf.ll_pdf_new_dict(pdf, 1)
    try:
        mupdf.ll_pdf_dict_put(reduced, _TYPE, _PAGE)
        path = [_kids(pdf, root)]
        while path:
            kid = next(path[-1], None)
            if kid is None:
                path.pop()
                continue
            # One that is no object of its own has no number, for which MuPDF raises.
            number = mupdf.ll_pdf_to_num(kid)
            entry = mupdf.ll_pdf_cache_object(pdf, number)
            found = entry.obj
            kind = mupdf.ll_pdf_dict_get_name(found, _TYPE)
            if pdf.repair_attempted:
                raise _UnsoundError
            if kind == "Page" and page_count:
                page_count -= 1
                entry.obj = mupdf.ll_pdf_copy_dict(reduced)
                mupdf.ll_pdf_drop_obj(found)
            elif kind == "Pages" and number not in nodes and len(path) < _DEEPEST:
                nodes.add(number)
                path.append(_kids(pdf, kid))
            else:
                raise _UnsoundError
    finally:
        mupdf.ll_pdf_drop_obj(reduced)


def _kids(pdf: Any, node: Any) -> Iterator[Any]:
    """Yield what hangs on a node."""
    kids = mupdf.ll_pdf_dict_get(node, _KIDS)
    count = mupdf.ll_pdf_array_len(kids)
    if pdf.repair_attempted:
        raise _UnsoundError
    for place in range(count):
        yield mupdf.ll_pdf_array_get(kids, place)
