"""Open documents: from a file to pages that can be asked for, and a shelf that keeps some of them open.

A large document comes span by span; opening it anew for each would cost more than the pages. The file stays open as
well, so that a change under way can be seen. Which ones are kept is the rule of `engine.work.kept`.
"""

import os
import sys
from typing import Any

from engine.models.outcome import Reason
from engine.work.child import pagetree, parser
from engine.work.child.reading import PageText, page_text
from engine.work.child.source import DocumentError, SourceFile, Version
from engine.work.kept import KeptOpen

_MOST_PAGES_UNCHECKED = 10_000


class Document:
    """An open PDF.

    Args:
        file: Its file, which belongs to the document from now on.
        many_pages: From how many pages on to care for memory while it is opened.

    Raises:
        DocumentError: When it is no PDF that can be read.
    """

    def __init__(self, file: SourceFile, *, many_pages: int = pagetree.MANY_PAGES) -> None:
        self.file = file
        self._pdf: Any = None
        try:
            self._open(many_pages)
        except DocumentError:
            self.close()
            raise
        except Exception as error:
            # The border to MuPDF, which raises whatever it likes; the reason is found, its words stay here.
            self.close()
            raise DocumentError(*parser.document_fault(error)) from error

    def _open(self, many_pages: int) -> None:
        self._pdf = pagetree.open_pdf(_openable(self.file), many_pages=many_pages)
        if not self._pdf.is_pdf:
            raise DocumentError(Reason.NOT_A_PDF)
        if self._pdf.needs_pass:
            raise DocumentError(Reason.ENCRYPTED)
        self.page_count = int(self._pdf.page_count)
        # A page is an object of its own. A few bytes can claim, or build out of one object, pages without end.
        if not 1 <= self.page_count <= max(_MOST_PAGES_UNCHECKED, int(self._pdf.xref_length())):
            raise DocumentError(Reason.CORRUPT_DOCUMENT)
        self.repaired = bool(self._pdf.is_repaired)

    def page(self, number: int) -> Any:
        """Load a page, by its number from 1."""
        return self._pdf.load_page(number - 1)

    def text(self, number: int, *, most_chars: int) -> PageText:
        """Return the text of a page, by its number from 1."""
        return page_text(self._pdf, number - 1, most_chars=most_chars)

    def forget(self) -> None:
        """Let go of the objects that MuPDF came across, page by page; it reads them again when they are asked for."""
        if not self._pdf.is_repaired:  # what a repair made up is nowhere else, and would be missing from then on
            parser.forget_objects(self._pdf)

    def close(self) -> None:
        """Close it.

        MuPDF then forgets what it kept of it. Emptying its store besides would take the fonts of the other open
        document away, which would be read anew for each of its spans.
        """
        if self._pdf is not None and not self._pdf.is_closed:
            self._pdf.close()
        self._pdf = None
        self.file.close()


class Shelf:
    """Keeps documents open, by their locations."""

    def __init__(self) -> None:
        self._documents: dict[bytes, Document] = {}
        self._kept = KeptOpen[bytes]()

    def put(self, document: Document) -> None:
        """Keep a document that was counted open."""
        self.drop(document.file.location)
        self._keep(document, goes_on=False)

    def drop(self, location: bytes) -> None:
        """Close a document, if it is open."""
        self._kept.drop(location)
        document = self._documents.pop(location, None)
        if document is not None:
            document.close()

    def forget(self) -> None:
        """Let go of what was read of the documents; they stay open."""
        for document in self._documents.values():
            document.forget()

    def get(self, location: bytes, version: Version, *, goes_on: bool) -> Document:
        """Return a document, open, in the version that is asked for.

        Args:
            location: Its path.
            version: The version of its file.
            goes_on: Whether there are more of its pages to come after those for which it is asked for now.

        Raises:
            DocumentError: When it cannot be opened, or the file is not that version any more.
        """
        try:
            file = SourceFile(location)
        except DocumentError:
            self.drop(location)  # a file that was removed gives its room on the disk back
            raise
        if file.version != version:
            file.close()
            self.drop(location)
            raise DocumentError(Reason.SOURCE_CHANGED)
        document = self._documents.get(location)
        if document is not None and (document.file.identity, document.file.version) == (file.identity, version):
            file.close()
        else:
            self.drop(location)
            document = Document(file)
        self._keep(document, goes_on=goes_on)
        return document

    def _keep(self, document: Document, *, goes_on: bool) -> None:
        location = document.file.location
        leaving = self._kept.use(location, goes_on=goes_on)
        if leaving is not None:
            self._documents.pop(leaving).close()
        self._documents[location] = document


def _openable(file: SourceFile) -> str | bytes:
    """Return what MuPDF can open: a path to the very file that is open already, or its bytes where there is none.

    Going through the descriptor leaves no moment for another file to take its place, and works for names that are
    not UTF-8, which MuPDF cannot open.
    """
    if sys.platform == "win32":
        return os.fsdecode(file.location)
    path = f"/proc/self/fd/{file.fd}" if sys.platform == "linux" else f"/dev/fd/{file.fd}"
    return path if os.path.exists(path) else file.read_all()  # noqa: PTH110  # no path of ours
