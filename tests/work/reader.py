"""Says what PyMuPDF itself makes of a file; run in a process of its own, since the tests' process must not load it.

Started as `reader.py FILE`; prints a JSON list with the text of each page as `get_text()` gives it.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    """Print the pages."""
    for heavy in ("onnxruntime", "pymupdf4llm", "pymupdf.layout"):
        sys.modules[heavy] = None  # type: ignore[assignment]  # makes an import fail: they only cost time
    import pymupdf  # noqa: PLC0415  # not where this module is only looked at

    document = pymupdf.open(stream=Path(sys.argv[1]).read_bytes(), filetype="pdf")
    sys.stdout.write(json.dumps([page.get_text() for page in document]))


if __name__ == "__main__":
    main()
