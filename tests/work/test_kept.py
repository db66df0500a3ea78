"""Which documents a worker keeps open."""

import subprocess
import sys
from pathlib import Path

from engine.work.kept import MOST_KEPT_OPEN, PATIENCE, KeptOpen
from tests.support.pdfs import text_pdf

READING = """
import os, sys
from engine.work.child.documents import Shelf
from engine.work.child.source import DocumentError, SourceFile
long, *short = (path.encode() for path in sys.argv[1:])
shelf = Shelf()
def read(location, goes_on):
    file = SourceFile(location)
    document = shelf.get(location, file.version, goes_on=goes_on)
    file.close()
    return document
first = read(long, True)
opened = [read(location, False) for location in short]
assert read(long, True) is first
assert read(short[-1], False) is opened[-1]
assert read(short[0], False) is not opened[0]
assert opened[0]._pdf is None
version = first.file.version
os.remove(long)
try:
    shelf.get(long, version, goes_on=True)
except DocumentError:
    assert first._pdf is None
else:
    raise AssertionError
"""


def test_a_long_document_stays_open_while_short_ones_go_by() -> None:
    """Those in the middle of their pages are kept, however many others come in between."""
    kept = KeptOpen[int]()
    assert kept.use(1, goes_on=True) is None
    assert kept.use(2, goes_on=True) is None
    left = [kept.use(number, goes_on=False) for number in range(10, 20)]
    assert left == [None] * (MOST_KEPT_OPEN - 2) + [*range(10, 20)][: 10 - MOST_KEPT_OPEN + 2]
    assert 1 in kept
    assert 2 in kept


def test_among_long_documents_the_one_that_waited_for_longest_goes() -> None:
    """There is no more room than for so many."""
    kept = KeptOpen[int]()
    for number in range(MOST_KEPT_OPEN):
        kept.use(number, goes_on=True)
    kept.use(0, goes_on=True)
    assert kept.use(99, goes_on=True) == 1
    assert 0 in kept


def test_a_document_that_is_through_goes_before_those_that_are_not() -> None:
    """Its last pages were asked for, so that nobody is likely to ask again."""
    kept = KeptOpen[int]()
    for number in range(MOST_KEPT_OPEN):
        kept.use(number, goes_on=True)
    kept.use(2, goes_on=False)
    assert kept.use(99, goes_on=False) == 2


def test_a_document_that_nobody_asks_for_any_more_is_not_kept_for_ever() -> None:
    """Another worker may have read its last pages."""
    kept = KeptOpen[int]()
    for number in range(MOST_KEPT_OPEN):
        kept.use(number, goes_on=True)
    left = [kept.use(100, goes_on=False)]
    left += [kept.use(number, goes_on=False) for number in range(101, 100 + 2 * PATIENCE)]
    assert [number for number in left if number is not None and number < 100] == [*range(MOST_KEPT_OPEN)]
    assert left.index(1) >= PATIENCE - MOST_KEPT_OPEN


def test_a_document_that_was_closed_leaves_its_place() -> None:
    """Nothing has to go for the next one."""
    kept = KeptOpen[int]()
    for number in range(MOST_KEPT_OPEN):
        kept.use(number, goes_on=True)
    kept.drop(1)
    assert kept.use(99, goes_on=True) is None
    assert 1 not in kept


def test_the_shelf_of_a_worker_follows_the_rule(tmp_path: Path) -> None:
    """The long document is opened once, the short ones are closed in their turn, and one that is removed at once."""
    paths = [text_pdf(tmp_path / f"{number}.pdf", 2) for number in range(MOST_KEPT_OPEN + 2)]
    subprocess.run([sys.executable, "-c", READING, *map(str, paths)], check=True)
