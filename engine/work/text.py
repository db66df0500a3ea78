"""The rule for page text at the border: no lone surrogates and no control characters but tab, newline and form feed.

Both ends use it: the worker cleans, the parent checks. SQLite, JSON and UTF-8 files fail on lone surrogates, and
terminals obey control characters. Each offending character becomes U+FFFD, so that the length stays as it was.
"""

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_KEPT = frozenset("\t\n\f")
_CONTROLS = frozenset(chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))) - _KEPT
_UNCLEAN = re.compile(f"[{re.escape(''.join(sorted(_CONTROLS)))}\ud800-\udfff]")
# In UTF-8 the controls up to DEL are single bytes. Mapping them all to NUL makes one pass in C enough.
_MARKED = bytes(0 if chr(code) in _CONTROLS else code for code in range(256 // 2)) + bytes(range(128, 256))
_C1_LEAD = b"\xc2"
_C1 = re.compile(rb"\xc2[\x80-\x9f]")


def cleaned(text: str) -> tuple[str, int]:
    """Return the text with each forbidden character replaced, and how many there were."""
    return _UNCLEAN.subn(REPLACEMENT, text)


def is_clean(utf8: bytes) -> bool:
    """Whether text in valid UTF-8 holds no forbidden character; lone surrogates are not valid UTF-8."""
    if b"\0" in utf8.translate(_MARKED):
        return False
    return _C1_LEAD not in utf8 or _C1.search(utf8) is None


def shows_nothing(text: str) -> bool:
    """Whether there is nothing to read: only white space and characters that stand for unreadable ones."""
    if REPLACEMENT in text:
        return not text.replace(REPLACEMENT, " ").strip()
    return not text or text.isspace()  # which looks no further than the first character that shows
