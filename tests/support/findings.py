"""What MuPDF finds in the documents of a folder, asked of a process of its own.

Tests compare it with what the program says. The process that runs the tests never loads MuPDF.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

READER = Path(__file__).with_name("mupdf_reader.py")


def findings(folder: Path) -> dict[bytes, dict[str, Any]]:
    """Return what MuPDF makes of every document below a folder, by its path below it.

    Each has `opens`; one that opens has `is_pdf` and `locked`; one that can be read has `repaired` and `pages`. A
    page has its `warnings`, and either `error` or `text`, `drawn` and `rotation`.
    """
    done = subprocess.run([sys.executable, "-I", READER, folder], check=True, capture_output=True)
    return {bytes.fromhex(path): facts for path, facts in json.loads(done.stdout).items()}
