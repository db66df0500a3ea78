"""What is left to do in a case: the queries that a run asks to begin, to feed itself and to go on after a crash."""

import os
from collections.abc import Sequence
from typing import Final

import apsw

from engine.case.schema import doc_and_page, place_of
from engine.models.document import DocumentRef, OpenDocument, PageUnit, Strikes

_PAGES_A_READ: Final = 5000


def _location(root: bytes, path: bytes) -> bytes:
    return os.path.join(root, path)  # noqa: PTH118  # Path knows no bytes


def pending_documents(connection: apsw.Connection, after: int, limit: int) -> Sequence[DocumentRef]:
    """Return documents that are pending, by number, those above `after`."""
    rows = connection.execute(
        "SELECT doc_id, roots.path, manifest.path, size_bytes, mtime_ns FROM manifest JOIN roots USING (root_id) "
        "WHERE state = 'pending' AND doc_id > ? ORDER BY doc_id LIMIT ?",
        (after, limit),
    )
    return [
        DocumentRef(doc_id=doc_id, location=_location(root, path), size_bytes=size, mtime_ns=mtime)
        for doc_id, root, path, size, mtime in rows
    ]


def open_documents(connection: apsw.Connection, after: int, limit: int) -> Sequence[OpenDocument]:
    """Return documents whose pages are known and not all done, by number, those above `after`."""
    rows = connection.execute(
        "SELECT doc_id, roots.path, manifest.path, sha256, page_count, size_bytes, mtime_ns "
        "FROM manifest JOIN roots USING (root_id) WHERE state = 'open' AND doc_id > ? ORDER BY doc_id LIMIT ?",
        (after, limit),
    )
    return [
        OpenDocument(
            doc_id=doc_id,
            location=_location(root, path),
            sha256=sha256.hex(),
            page_count=page_count,
            size_bytes=size,
            mtime_ns=mtime,
        )
        for doc_id, root, path, sha256, page_count, size, mtime in rows
    ]


def pending_pages(connection: apsw.Connection, doc_id: int, after: int, limit: int) -> Sequence[int]:
    """Return page numbers of an open document without terminal record, those above `after`."""
    count = connection.execute("SELECT page_count FROM manifest WHERE doc_id = ? AND state = 'open'", (doc_id,)).get
    pages: list[int] = []
    first = after + 1
    while count is not None and first <= count and len(pages) < limit:
        last = min(first + _PAGES_A_READ - 1, count)
        done = {
            page
            for (page,) in connection.execute(
                "SELECT place & 0xFFFFFFFF FROM audit WHERE place BETWEEN ? AND ?",
                (place_of(doc_id, first), place_of(doc_id, last)),
            )
        }
        pages.extend(page for page in range(first, last + 1) if page not in done)
        first = last + 1
    return pages[:limit]


def strikes(connection: apsw.Connection, after: PageUnit, limit: int) -> Sequence[Strikes]:
    """Return what has strikes and no terminal record, in order; page 0 stands for a whole document."""
    # A case that is only read may still have the first version's tables, which knew nothing of deaths.
    has_deaths = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'deaths'").get
    deaths_of = "(SELECT count FROM deaths WHERE deaths.place = strikes.place)" if has_deaths else "NULL"
    rows = connection.execute(
        f"SELECT place, count, coalesce({deaths_of}, 0) FROM strikes WHERE place > ? "  # noqa: S608  # our own words
        "AND NOT EXISTS (SELECT 1 FROM audit WHERE audit.place = strikes.place) ORDER BY place LIMIT ?",
        (place_of(after.doc_id, after.page), limit),
    )
    found = []
    for place, count, deaths in rows:
        doc_id, page = doc_and_page(place)
        found.append(Strikes(unit=PageUnit(doc_id=doc_id, page=page), count=count, deaths=deaths))
    return found
