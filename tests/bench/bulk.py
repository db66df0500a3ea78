"""Cases of any size made by the program's own commit code, with an extractor that makes up the text.

For what does not depend on PDFs: the engine's own memory, and the export and verification of long logs.
"""

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from engine.models.document import DocumentRef, PageResult, Probe, Span, SpanReport
from engine.models.outcome import Method, Outcome
from engine.session.directories import Directories
from engine.session.opening import usual_parts
from engine.settings import Settings
from tests.bench.measured import MeasuredSession, new_session
from tests.support.runs import write_documents
from tests.support.scripted_extractor import ScriptedExtractor

PAGES_A_DOCUMENT = 1000


class BulkExtractor(ScriptedExtractor):
    """Makes up pages without remembering any.

    Args:
        chars: About how many characters a page has.
    """

    def __init__(self, *, chars: int) -> None:
        super().__init__()
        words = (f"word{number % 97} " for number in itertools.count())
        self._filler = "".join(itertools.islice(words, chars // 7 + 1))[:chars]

    async def probe_one(self, document: DocumentRef) -> Probe:
        """Override: count as many pages as the file has bytes, without reading it."""
        return Probe(
            sha256=hashlib.sha256(document.location).hexdigest(),
            page_count=document.size_bytes,
            size_bytes=document.size_bytes,
            mtime_ns=document.mtime_ns,
            repaired=False,
        )

    async def extract_one(self, span: Span) -> SpanReport:
        """Override: make up the pages of a span."""
        await self._work(span)
        return SpanReport(results=tuple(self._results(span)))

    def _results(self, span: Span) -> Iterator[PageResult]:
        for page in span.pages:
            text = f"{span.document.doc_id} {page} {self._filler}"
            yield PageResult(
                page=page,
                outcome=Outcome.EXTRACTED,
                method=Method.TEXT,
                text=text,
                dur_ms=1,
            )


def bulk_session(case: Path, home: Path, *, chars: int) -> MeasuredSession:
    """Return a session over a new case in which every page is made up."""
    parts = replace(usual_parts(), extractor=lambda _settings: BulkExtractor(chars=chars))
    return new_session(case, directories=Directories.below(home), settings=Settings(), parts=parts)


def write_bulk(folder: Path, pages: int) -> Path:
    """Write files that stand for so many pages in all, and return their folder."""
    whole, rest = divmod(pages, PAGES_A_DOCUMENT)
    return write_documents(folder, [*[PAGES_A_DOCUMENT] * whole, *([rest] if rest else [])])
