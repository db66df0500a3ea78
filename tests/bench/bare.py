"""The bare script: what a careful user would write to get the text of many PDFs, and the ceiling to compare with.

Run as `python bare.py WORKERS < LIST`, with the paths of the documents on standard input, each followed by a zero
byte, the largest first. One process a worker, each taking the next document when it is done with one; no queue, no
log, no window, and nothing is kept of the text but its length. It imports nothing of the program.
"""

import json
import multiprocessing
import os
import sys
import time

# As in the program's workers: a layout model that is not used here would cost time and memory.
for name in ("onnxruntime", "pymupdf4llm", "pymupdf.layout"):
    sys.modules[name] = None  # type: ignore[assignment]  # this is how a module is marked as not to be had

import pymupdf  # noqa: E402  # only once the marks above are set


def read(path: bytes) -> tuple[int, int]:
    """Return the numbers of pages and of characters that a document gives."""
    pages = chars = 0
    try:
        with pymupdf.open(os.fsdecode(path), filetype="pdf") as document:
            for number in range(document.page_count):
                try:
                    chars += len(document[number].get_text())
                except (RuntimeError, ValueError, IndexError, pymupdf.mupdf.FzErrorBase):
                    continue
                pages += 1
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):
        return pages, chars
    return pages, chars


def be_quiet() -> None:
    """Keep the parser's complaints to itself."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)


def main() -> None:
    """Read everything and print what it took as JSON; times are on the monotonic clock."""
    paths = [path for path in sys.stdin.buffer.read().split(b"\0") if path]
    with multiprocessing.Pool(int(sys.argv[1]), be_quiet) as pool:
        pool.map(abs, range(int(sys.argv[1])))
        ready_s, ready_cpu_s = time.monotonic(), time.process_time()
        results = list(pool.imap_unordered(read, paths))
        done_s, done_cpu_s = time.monotonic(), time.process_time()
        pool.close()
        pool.join()
    report = {
        "pages": sum(pages for pages, _ in results),
        "chars": sum(chars for _, chars in results),
        "ready_s": ready_s,
        "done_s": done_s,
        "cpu_main_s": done_cpu_s - ready_cpu_s,
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
