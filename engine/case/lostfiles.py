"""What a damaged case still tells of its files: where each lies, what was known of it, and which are pending.

Nothing vouches for a row of the manifest as hashes do for the log. But its place stands twice in the file, in the row
and in the index over it, and never changes: where both agree it is taken for true. Where they differ, that of the two
is taken whose file is there. A root is taken from the log, where a record of a document below it gives it.
"""

import base64
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from engine.case.salvage import Salvage


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a document's file lies, and what it was like when it was found."""

    root: bytes
    path: bytes
    version: int
    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What the look into a document had found."""

    sha256: str
    page_count: int
    repaired: bool


class LostFiles:
    """Answers from what was found; it writes only the list of pending files into the scratch database.

    Args:
        found: What was left of the case.
    """

    def __init__(self, found: Salvage) -> None:
        self._scratch = found.scratch
        self._scratch.execute(_PENDING)
        self._roots: dict[int, bytes | None] = {}

    def place(self, doc_id: int) -> Place | None:
        """Return where the file of a document lies, or None where nothing tells."""
        rows = self._all(
            "SELECT root_id, path, version, size_bytes, mtime_ns FROM files WHERE doc_id = ? ORDER BY at DESC", doc_id
        )
        entries = self._all("SELECT root_id, path, version FROM places_of_files WHERE doc_id = ?", doc_id)
        stated = [row[:3] for row in rows]
        candidates = [place for place in stated if place in entries] or [*stated, *entries]
        known = [(root, *place) for place in candidates if (root := self._root(place[0])) is not None]
        if not known:
            return None
        there = [place for place in known if len(known) == 1 or os.path.lexists(_location(place[0], place[2]))]
        root, root_id, path, version = (there or known)[0]
        same = [row[3:] for row in rows if row[:3] == (root_id, path, version)] or [row[3:] for row in rows]
        size_bytes, mtime_ns = same[0] if same else (0, 0)
        return Place(root=root, path=path, version=version, size_bytes=size_bytes, mtime_ns=mtime_ns)

    def opened(self, doc_id: int, sha256: str) -> Opened | None:
        """Return what is known of a document of that hash whose pages are being processed, or None."""
        rows = self._all(
            "SELECT page_count, repaired FROM files "
            "WHERE doc_id = ? AND sha256 = ? AND page_count > 0 ORDER BY at DESC",
            doc_id,
            sha256,
        )
        return Opened(sha256=sha256, page_count=rows[0][0], repaired=rows[0][1] == 1) if rows else None

    def find_pending(self, kept: int) -> int:
        """List the files of documents that have no record among the first so many; return how many there are.

        What the case had left out is none of them, and of several versions of a file only the last is.
        """
        self._scratch.execute("DELETE FROM pending")
        after = -1
        while numbers := self._all(_UNRECORDED, after, kept, after, kept):
            for (doc_id,) in numbers:
                after = doc_id
                place = self.place(doc_id)
                if place is not None and self._is_document(doc_id, place):
                    row = (place.root, place.path, place.version, place.size_bytes, place.mtime_ns)
                    self._scratch.execute(_KEEP_LATEST, row)
        count: int = self._scratch.execute("SELECT count(*) FROM pending").get
        return count

    def pending(self) -> Iterator[tuple[bytes, bytes, int, int]]:
        """Yield root, path, size and time of each file that `find_pending` listed."""
        rows: Iterator[Any] = self._scratch.execute("SELECT root, path, size_bytes, mtime_ns FROM pending")
        return rows

    def sources(self) -> list[bytes]:
        """Return what had been asked for, as far as the file tells; roots stand in for what it does not tell."""
        found: dict[int, bytes] = {}
        rows = self._all(_SOURCES)
        for number, path, is_indexed in rows:
            if number not in found or is_indexed:
                found[number] = path
        stated = [
            json.loads(line).get("count", 0) for (line,) in self._all("SELECT line FROM chain WHERE event = 'SOURCES'")
        ]
        if len(found) < max(stated, default=1):
            roots = [self._root(root_id) for (root_id,) in self._all("SELECT DISTINCT root_id FROM roots")]
            return sorted({*found.values(), *(root for root in roots if root is not None)})
        return list(dict.fromkeys(found[number] for number in sorted(found)))

    def _is_document(self, doc_id: int, place: Place) -> bool:
        """Whether a file is one to process, not one that was left out."""
        states = self._all("SELECT state FROM files WHERE doc_id = ? ORDER BY at DESC LIMIT 1", doc_id)
        if states:
            return bool(states[0][0] != "skipped")
        location = _location(
            place.root, place.path
        )  # only the index knows it: the enumeration finds it again if need be
        return location.lower().endswith(b".pdf") and os.path.isfile(location) and not os.path.islink(location)  # noqa: PTH113, PTH114  # bytes

    def _root(self, root_id: int) -> bytes | None:
        if root_id not in self._roots:
            recorded = Counter(
                base64.b64decode(json.loads(line)["root_b64"]) for (line,) in self._all(_BELOW_ROOT, root_id)
            )
            rows = [path for (path,) in self._all("SELECT path FROM roots WHERE root_id = ?", root_id)]
            entries = [path for (path,) in self._all("SELECT path FROM indexed WHERE number = ?", root_id)]
            both = [path for path in rows if path in entries]
            candidates = [*(path for path, _ in recorded.most_common(1)), *both, *rows]
            self._roots[root_id] = candidates[0] if candidates else None
        return self._roots[root_id]

    def _all(self, query: str, *values: int | str) -> list[Any]:
        rows: list[Any] = self._scratch.execute(query, values).fetchall()
        return rows


def _location(root: bytes, path: bytes) -> bytes:
    return os.path.join(root, path)  # noqa: PTH118  # Path knows no bytes


_PENDING: Final = """
CREATE TABLE pending (
    root BLOB, path BLOB, version INTEGER, size_bytes INTEGER, mtime_ns INTEGER, PRIMARY KEY (root, path)
) WITHOUT ROWID
"""
_KEEP_LATEST: Final = (
    "INSERT INTO pending VALUES (?, ?, ?, ?, ?) ON CONFLICT (root, path) DO UPDATE SET "
    "version = excluded.version, size_bytes = excluded.size_bytes, mtime_ns = excluded.mtime_ns "
    "WHERE excluded.version > version"
)
_UNRECORDED: Final = (
    "SELECT doc_id FROM files WHERE doc_id > ? AND NOT EXISTS "
    "(SELECT 1 FROM chain WHERE chain.doc_id = files.doc_id AND seq <= ?) "
    "UNION SELECT doc_id FROM places_of_files AS entry WHERE doc_id > ? AND NOT EXISTS "
    "(SELECT 1 FROM chain WHERE chain.doc_id = entry.doc_id AND seq <= ?) ORDER BY doc_id LIMIT 500"
)
_SOURCES: Final = (
    "SELECT number, path, EXISTS (SELECT 1 FROM indexed WHERE indexed.number = sources.number "
    "AND indexed.path = sources.path) FROM sources"
)
_BELOW_ROOT: Final = (
    "SELECT line FROM chain JOIN places_of_files USING (doc_id) "
    "WHERE root_id = ? AND event IN ('DOCUMENT', 'SKIPPED') LIMIT 20"
)
