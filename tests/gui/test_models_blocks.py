"""The window onto a long list: bounded, ageing, and exact about what changed."""

from gui.models.blocks import Blocks


def _blocks() -> Blocks[str]:
    return Blocks(block_rows=4, kept=3)


def test_only_the_blocks_used_last_are_kept() -> None:
    """With one block too many, the one that was looked at longest ago goes."""
    blocks = _blocks()
    for first in (0, 4, 8):
        blocks.put(first, ["a", "b", "c", "d"])
    assert blocks.get(0) == "a"  # used again, so that the block of row 4 is the oldest now
    blocks.put(12, ["e"])
    assert (blocks.get(0), blocks.get(4), blocks.get(8), blocks.get(12)) == ("a", None, "a", "e")
    assert blocks.records == 9
    assert repr(blocks) == "<Blocks 3 of 3 kept, 0 stale, 9 records>"


def test_a_put_says_which_rows_are_others_now() -> None:
    """Rows that stay equal are not named, and neighbours are named as one range."""
    blocks = _blocks()
    assert blocks.put(0, ["a", "b", "c", "d", "e"]) == [(0, 4)]
    assert blocks.put(0, ["a", "X", "Y", "d", "Z"]) == [(1, 2), (4, 4)]
    assert blocks.put(0, ["a", "X", "Y", "d", "Z"]) == []


def test_what_is_stale_is_still_shown_until_something_newer_comes() -> None:
    """Making stale forgets nothing, and a put makes its own block fresh again."""
    blocks = _blocks()
    blocks.put(0, ["a", "b", "c", "d", "e"])
    blocks.make_stale()
    assert blocks.get(0) == "a"
    assert not blocks.is_fresh(0)
    blocks.put(0, ["a", "b", "c", "d"])
    assert blocks.is_fresh(0)
    assert not blocks.is_fresh(1)


def test_an_empty_answer_makes_a_block_fresh() -> None:
    """That there is nothing new is an answer too."""
    blocks = _blocks()
    blocks.put(0, ["a"])
    blocks.make_stale()
    assert blocks.put(0, []) == []
    assert blocks.is_fresh(0)


def test_rows_beyond_the_end_are_forgotten() -> None:
    """After a cut no row beyond it is known, and those before it are."""
    blocks = _blocks()
    blocks.put(0, list("abcdefgh"))
    blocks.cut(6)
    assert [blocks.get(row) for row in range(8)] == ["a", "b", "c", "d", "e", "f", None, None]
    blocks.cut(0)
    assert blocks.records == 0
