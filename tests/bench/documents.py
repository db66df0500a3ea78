"""The benchmark's documents: which ones there are, and where they lie once they are made.

A collection is made once and kept below the system's folder for temporary files, under a name that follows from its
plan and from the program that sets it, so that another version of either is another collection. Setting the pages is
the business of `typesetter`.
"""

import hashlib
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.sample import prose

_TYPESETTER = Path(__file__).with_name("typesetter.py")
_SPREAD = 1.1
"""Standard deviation of the logarithm of a document's number of pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One document."""

    path: str
    """Its file's name."""
    pages: int
    picture_bytes: int = 0
    """About how many bytes of each page are a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Documents in a folder."""

    folder: Path
    documents: int
    pages: int


def office(documents: int, pages: int, *, longest: int = 0) -> tuple[Planned, ...]:
    """Plan what an office's folder holds: many short documents, some long ones.

    Args:
        documents: How many documents.
        pages: How many pages they have together, at least one each.
        longest: Pages of one more document, or 0 for none.
    """
    dice = random.Random(documents)  # noqa: S311  # a repeatable plan, nothing secret
    weights = [math.exp(dice.gauss(0, _SPREAD)) for _ in range(documents)]
    counts = [1 + int((pages - documents) * weight / sum(weights)) for weight in weights]
    for place in range(pages - sum(counts)):  # what rounding left over
        counts[place % documents] += 1
    plan = [Planned(path=f"file-{number:05d}.pdf", pages=count) for number, count in enumerate(counts, 1)]
    return (*plan, *([Planned(path="binder.pdf", pages=longest)] if longest else []))


def collection(plan: Sequence[Planned], *, place: Path | None = None) -> Collection:
    """Return the documents of a plan, made now where they are not there yet.

    Args:
        plan: The documents.
        place: Where collections lie; None for the usual place.
    """
    place = place or usual_place()
    text = json.dumps([asdict(planned) for planned in plan])
    folder = place / f"documents-{_key([text.encode(), _TYPESETTER.read_bytes(), Path(prose.__file__).read_bytes()])}"
    if not folder.is_dir():
        unfinished = Path(tempfile.mkdtemp(dir=place))
        try:
            command = [sys.executable, "-m", "tests.bench.typesetter", str(unfinished)]
            subprocess.run(command, input=text.encode(), check=True)
            if not folder.is_dir():  # somebody else may have been quicker
                unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return Collection(folder=folder, documents=len(plan), pages=sum(planned.pages for planned in plan))


def usual_place() -> Path:
    """Return the folder in which collections lie: this user's own, below the system's one for temporary files."""
    user = os.getuid() if hasattr(os, "getuid") else "files"
    place = Path(tempfile.gettempdir()) / f"sluicegate-bench-{user}"
    place.mkdir(mode=0o700, exist_ok=True)
    return place


def _key(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]
