"""How the names of files are shown: safe, on one line, and from the escapes the bytes can be told again."""

import random
import re
import unicodedata

import pytest

from engine.models.names import display_name


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"report.pdf", "report.pdf"),
        ("Größe 東京.pdf".encode(), "Größe 東京.pdf"),
        (b"a\xff\xfeb", "a\\xff\\xfeb"),
        (b"line\nbreak\ttab\x7f", "line\\u{a}break\\u{9}tab\\u{7f}"),
        ("c1\x85".encode(), "c1\\u{85}"),
        ("invoice\u202efdp.exe".encode(), "invoice\\u{202e}fdp.exe"),
        ("a\u2028b\u2029c".encode(), "a\\u{2028}b\\u{2029}c"),
        ("zero\u200bwidth\ufeff".encode(), "zero\\u{200b}width\\u{feff}"),
        (b"\xed\xa0\x80", "\\u{d800}"),
        (b"\xed\xb0\x80\xed", "\\u{dc00}\\xed"),
        ("tag\U000e0041".encode(), "tag\\u{e0041}"),
        (b"C:\\Users\\me", "C:\\Users\\me"),
        (b"\\\\server\\share", "\\\\server\\share"),
        (b"\\xff", "\\u{5c}xff"),
        (b"\\u{a}", "\\u{5c}u{a}"),
        (b"\\\xff", "\\\\xff"),
        ("\ufffd".encode(), "\ufffd"),
        (b"", ""),
    ],
)
def test_names_are_shown_escaped(raw: bytes, shown: str) -> None:
    """Each kind of character that could hide or mislead has its escape, and nothing else has one."""
    assert display_name(raw) == shown


def _told_again(shown: str) -> bytes:
    """Read the escapes back, as the documentation of the module says."""
    parts = re.split(r"(\\x[0-9a-f]{2}|\\u\{[0-9a-f]+\})", shown)
    raw = b""
    for part in parts:
        if re.fullmatch(r"\\x[0-9a-f]{2}", part):
            raw += bytes.fromhex(part[2:])
        elif re.fullmatch(r"\\u\{[0-9a-f]+\}", part):
            raw += chr(int(part[3:-1], 16)).encode("utf-8", "surrogatepass")
        else:
            raw += part.encode()
    return raw


_PIECES = [
    b"\\", b"x", b"u{", b"}", b"ff", b"\xff", b"\xed", b"\xa0", b"\x80", b"\n", b"a", "\u202e".encode(),
    "ä".encode(), b"\xed\xa0\x80", "\u200b".encode(), "\U0001f600".encode(), b"5c",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_the_bytes_can_be_told_from_what_is_shown(seed: int) -> None:
    """No two names look the same, hostile mixtures of escapes and odd bytes included."""
    source = random.Random(seed)  # noqa: S311  # repeatable, not secret
    for _ in range(200):
        raw = b"".join(source.choices(_PIECES, k=source.randrange(4))) + source.randbytes(source.randrange(6))
        assert _told_again(display_name(raw)) == raw


@pytest.mark.parametrize("seed", range(4))
def test_nothing_invisible_is_shown(seed: int) -> None:
    """What is shown is one line of UTF-8 without control, format and separator characters or surrogates."""
    source = random.Random(seed)  # noqa: S311  # repeatable, not secret
    for _ in range(50):
        text = "".join(chr(source.choice([source.randrange(0x3000), source.randrange(0x110000)])) for _ in range(20))
        shown = display_name(text.encode("utf-8", "surrogatepass"))
        shown.encode()
        assert len(shown.splitlines()) <= 1
        kinds = {unicodedata.category(letter) for letter in shown} & {"Cc", "Zl", "Zp", "Cs"}
        assert not kinds
        controls = {letter for letter in shown if unicodedata.bidirectional(letter) in BIDI_CONTROLS}
        assert not controls


BIDI_CONTROLS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
