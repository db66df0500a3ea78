"""Export of the texts: one file a document, in folders like the source's, for people and for other programs.

Pages are separated by form feeds, so that page n is the n-th part: a page without text, be it blank or a dead letter,
is an empty part, and form feeds within a text become newlines. A document whose bytes another one accounts for gets
that one's text. Documents without any extracted page, and those not done yet, get no file.

Every text is compared with the hash that the audit log states for it. The folder appears under its name only when
everything is in it.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from engine.case.filenames import text_path
from engine.case.parts import new_part
from engine.case.reader import CaseReader
from engine.case.storage import shown
from engine.errors import CaseDamagedError, ExportError
from engine.models.document import document_label
from engine.models.outcome import Outcome, RowState
from engine.models.run import DocumentRow, TextReport

_DOCUMENTS_A_READ: Final = 200


def export_text(reader: CaseReader, folder: Path) -> TextReport:
    """Write the texts of all documents that are done.

    Args:
        reader: The case.
        folder: The folder to make; it may exist if it is empty.

    Raises:
        ExportError: When it could not be written, or the folder holds something; then it is as it was.
        CaseDamagedError: When a text in the case is not the one that the log states.
    """
    documents = pages = 0
    with _new_folder(folder) as inside:
        for row in _documents_with_text(reader):
            source = row.duplicate_of or row.doc_id
            target = inside / text_path(*reader.raw_path(row.doc_id), row.doc_id)
            target.parent.mkdir(parents=True, exist_ok=True)
            # Nothing that is there already is ever opened: the folder is ours, and names are unique.
            with target.open("xb") as file:
                for page in range(1, (row.page_count or 0) + 1):
                    file.write(b"" if page == 1 else b"\f")
                    file.write(_page_bytes(reader, source, page))
            documents += 1
            pages += row.page_count or 0
    return TextReport(folder=folder, documents=documents, pages=pages)


def _documents_with_text(reader: CaseReader) -> Iterator[DocumentRow]:
    first = 1
    while rows := reader.document_rows(first, _DOCUMENTS_A_READ):
        for row in rows:
            first = row.doc_id + 1
            if row.state is not RowState.DONE or row.outcome is Outcome.DEAD_LETTER:
                continue
            if row.duplicate_of is not None:
                original = reader.document_rows(row.duplicate_of, 1)[0]
                if original.outcome is not Outcome.EXTRACTED:
                    continue
            yield row


def _page_bytes(reader: CaseReader, doc_id: int, page: int) -> bytes:
    line, text = reader.page_record(doc_id, page) or (b"", None)
    if text is None:
        return b""
    raw = text.encode()
    # A quotation mark within a text of the record would be escaped: this is the field, and nothing that looks like it.
    if f'"text_sha256":"{hashlib.sha256(raw).hexdigest()}"'.encode() not in line:
        raise CaseDamagedError(
            f"The text of page {page} of {document_label(doc_id)} in {shown(reader.path)} is not the one whose hash "
            "stands in the audit log. The texts were not exported."
        )
    return raw.replace(b"\f", b"\n")


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder beside `folder` that takes its name when the block ends without error, and is removed otherwise."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ExportError(
                f"{shown(folder)} holds something already. Choose a new folder, or an empty one, for the texts."
            )
        temporary = new_part(folder.absolute().parent)
        temporary.mkdir()
        try:
            yield temporary
            if os.name == "nt" and folder.exists():  # there, a folder cannot take the place of an empty one
                folder.rmdir()
            temporary.rename(folder)
        except BaseException:  # whatever ends it: no part stays behind
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except OSError as error:
        raise ExportError(
            f"The texts could not be written to {shown(folder)} ({error.strerror}). Nothing new stands under that "
            "name. Choose another place, or make room there."
        ) from error
