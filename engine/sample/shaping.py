"""The order and the shapes in which scripts that run from right to left are drawn.

Covers Arabic and Hebrew without digits, brackets and vowel signs, which is what the sample batch needs. The texts are
in `translations`.
"""

import unicodedata
from collections.abc import Iterator


def _arabic_shapes() -> Iterator[tuple[tuple[str, str], str]]:
    """Yield what Unicode knows of the shapes of single letters: letter and position, and the shape."""
    for code in range(0xFE80, 0xFEF5):
        position, *letters = unicodedata.decomposition(chr(code)).split()
        if len(letters) == 1:
            yield (chr(int(letters[0], 16)), position), chr(code)


_SHAPES = dict(_arabic_shapes())


def drawn(line: str) -> str:
    """Return a line that runs from right to left as it is drawn from left to right, with its letters joined.

    Lam and alef stand side by side and are not drawn as one sign: readers disagree about the order of the two letters
    that such a sign stands for. Digits would have to keep their own direction; the texts here have none.
    """
    letters = []
    for index, letter in enumerate(line):
        after = _joins_next(letter) and (line[index + 1 : index + 2], "<final>") in _SHAPES
        before = index > 0 and _joins_next(line[index - 1]) and (letter, "<final>") in _SHAPES
        position = {(False, False): "<isolated>", (False, True): "<initial>", (True, True): "<medial>"}
        letters.append(_SHAPES.get((letter, position.get((before, after), "<final>")), letter))
    return "".join(reversed(letters))


def _joins_next(letter: str) -> bool:
    return (letter, "<initial>") in _SHAPES
