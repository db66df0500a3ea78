"""Text at the border: what is replaced, what stays, and that both ends agree about it."""

import random
import unicodedata

from engine.work.text import REPLACEMENT, cleaned, is_clean, shows_nothing


def test_control_characters_and_lone_surrogates_are_replaced_one_for_one() -> None:
    """NUL, carriage return, escape, DEL, C1 controls and surrogates become U+FFFD; the length stays."""
    text = "a\x00b\rc\x1bd\x7fe\x85f\ud800g\udfffh"
    clean, replaced = cleaned(text)
    assert clean == "a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg\ufffdh"
    assert (replaced, len(clean)) == (7, len(text))


def test_tab_newline_form_feed_and_all_else_stay() -> None:
    """Nothing that a person could read is touched."""
    text = "tab\t newline\n page\f é ü \xa0 \xad 漢字 עברית 😀 \u2028 \ufeff"
    assert cleaned(text) == (text, 0)
    assert is_clean(text.encode())


def test_exactly_the_control_characters_of_unicode_are_forbidden() -> None:
    """The rule is Unicode's category of controls, and surrogates, less the three that are kept."""
    for code in range(0x3000):
        character = chr(code)
        forbidden = unicodedata.category(character) == "Cc" and character not in "\t\n\f"
        assert cleaned(character)[1] == forbidden
        assert is_clean(character.encode()) is not forbidden


def test_both_ends_agree_on_random_text() -> None:
    """What the worker's rule leaves alone, the parent's rule accepts; what it changes, the parent would refuse."""
    dice = random.Random(1)  # noqa: S311  # a repeatable test
    for _ in range(2000):
        text = "".join(chr(dice.choice((dice.randrange(0x100), dice.randrange(0xD800)))) for _ in range(12))
        clean, replaced = cleaned(text)
        assert is_clean(text.encode()) is (replaced == 0)
        assert is_clean(clean.encode())


def test_white_space_and_unreadable_characters_show_nothing() -> None:
    """A page of blanks and replacement characters has nothing to read; one letter changes that."""
    assert shows_nothing("")
    assert shows_nothing(f" \n\t\xa0{REPLACEMENT}\f")
    assert not shows_nothing(f" \n{REPLACEMENT}.")
