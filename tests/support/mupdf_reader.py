"""Reads every document of a folder with MuPDF and prints what it found as JSON; a program of its own.

Run by `tests.support.findings`. Names go out as hexadecimal digits, since they need not be text.
"""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

for name in ("onnxruntime", "pymupdf4llm", "pymupdf.layout"):
    sys.modules[name] = None  # type: ignore[assignment]  # a layout model that is not used here

import pymupdf  # noqa: E402  # only once the marks above are set

PASSWORD = "sesame"  # noqa: S105  # the one that `tests.support.pdfs` uses


def read(data: bytes) -> dict[str, Any]:
    """Return what MuPDF makes of a document's bytes."""
    try:
        document = pymupdf.open(stream=data)
    except (pymupdf.FileDataError, pymupdf.EmptyFileError):
        return {"opens": False}
    facts = {"opens": True, "is_pdf": document.is_pdf, "locked": bool(document.needs_pass)}
    if facts["locked"] and not document.authenticate(PASSWORD):
        return facts
    return facts | {"repaired": bool(document.is_repaired), "pages": list(read_pages(document))}


def read_page(page: Any) -> dict[str, Any]:
    """Return the text of a page, whether anything is drawn on it, and whether its streams are broken."""
    text, drawn = page.get_text(), bool(page.get_bboxlog())
    return {"text": text, "drawn": drawn, "rotation": page.rotation}


def read_pages(document: Any) -> Iterator[dict[str, Any]]:
    """Yield what there is on each page; where it cannot be read, only that."""
    for number in range(document.page_count):
        pymupdf.TOOLS.reset_mupdf_warnings()
        try:
            facts = read_page(document[number])
        except (RuntimeError, MemoryError, pymupdf.mupdf.FzErrorBase):
            facts = {"error": True}
        yield facts | {"warnings": pymupdf.TOOLS.mupdf_warnings()}


def main() -> None:
    """Read all files whose names end in .pdf, in any case."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    root, found = os.fsencode(sys.argv[1]), {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118  # paths are bytes
            if name.lower().endswith(b".pdf") and not os.path.islink(path):  # noqa: PTH114  # paths are bytes
                with open(path, "rb") as file:  # noqa: PTH123  # paths are bytes
                    found[os.path.relpath(path, root).hex()] = read(file.read())
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
