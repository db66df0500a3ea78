"""The quick way to a page's text: what it gives is to the byte what PyMuPDF's own way gives, failures included."""

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.mutants import bases, mutants
from tests.support.corpus import corpus_rows

TWOFOLD = Path(__file__).with_name("twofold.py")
SEED = int(os.environ.get("SLUICEGATE_SEED") or random.SystemRandom().randrange(10**6))
SEED_THAT_ENDS = 7
"""Nothing ends a page here that takes for ever: these mutants are known to have none."""


def compared(pages: int, *paths: Path) -> dict[str, int]:
    """Compare odd pages and the pages of files; return how often what came of them, once there is no difference."""
    print(f"SLUICEGATE_SEED={SEED}")
    command = [sys.executable, str(TWOFOLD), str(SEED), str(pages), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    assert not found["different"]
    ways: dict[str, int] = found["ways"]
    return ways


def test_odd_pages_read_the_same_in_both_ways() -> None:
    """Many pages of odd characters, places, boxes and turns, of which many are read in each way."""
    ways = compared(1600)
    assert sum(ways[kind] for kind in ("text", "blank", "no_text", "failed")) == 1600
    assert ways["text"] > 600
    assert 300 < ways["quick"] < 1300


def test_plain_pages_are_read_in_the_quick_way(tmp_path: Path) -> None:
    """Text that is well inside of the page needs nothing else."""
    path = tmp_path / "plain.pdf"
    path.write_bytes(bases(tmp_path, real=False)[0])
    assert compared(0, path) == {"text": 4, "quick": 4}


def test_broken_documents_read_the_same_in_both_ways(tmp_path: Path) -> None:
    """Damage is noticed as before: the same reasons, numbers and flags, page by page."""
    paths = []
    for mutant in mutants(SEED_THAT_ENDS, 160, bases(tmp_path / "bases", real=False)):
        paths.append(tmp_path / mutant.name)
        paths[-1].write_bytes(mutant.data)
    ways = compared(0, *paths)
    assert min(ways["text"], ways["failed"]) > 10


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.skipif(corpus_rows() is None, reason="the shared corpus is not beside this checkout")
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.whole), 3])
def test_real_documents_read_the_same_in_both_ways(every: int) -> None:
    """Every file that ends by itself, or every third of them."""
    paths = [row.path for row in corpus_rows() or () if row.found not in {"timeout", "memory"}][::every]
    at_once = os.cpu_count() or 1
    with ThreadPoolExecutor(at_once) as threads:
        ways = list(threads.map(lambda first: compared(0, *paths[first::at_once]), range(at_once)))
    assert sum(part["quick"] for part in ways) > 500 // every
