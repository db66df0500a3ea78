"""How lines that run from right to left are drawn."""

import unicodedata

import pytest

from engine.sample import translations
from engine.sample.shaping import drawn


def test_letters_take_the_shape_of_their_place() -> None:
    """Beh at the start, alef joined to it, and beh alone after alef, which joins nothing that follows."""
    assert drawn("باب") == "\ufe8f\ufe8e\ufe91"


def test_a_letter_between_two_others_takes_its_middle_shape() -> None:
    """Meem, hah and dal: start, middle and end of a word."""
    assert drawn("محد") == "\ufeaa\ufea4\ufee3"


def test_words_do_not_join_across_a_space() -> None:
    """The last letter of a word and the first one of the next stand for themselves."""
    assert drawn("ب ب") == "\ufe8f \ufe8f"


def test_hebrew_is_only_turned_round() -> None:
    """Its letters have one shape."""
    assert drawn("שלום") == "םולש"


@pytest.mark.parametrize("line", [line for page in translations.ARABIC + translations.HEBREW for line in page])
def test_nothing_is_lost_in_drawing(line: str) -> None:
    """Read backwards, with every shape taken for its letter, the drawn line is the line."""
    assert unicodedata.normalize("NFKC", drawn(line)[::-1]) == line
