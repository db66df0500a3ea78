r"""How the names of files are shown to people: escaped, so that no name can pretend to be another or hide anything.

A name is bytes, and anybody may have chosen them. `display_name` gives text that is safe on one line of a window, a
terminal or a log, and from which the bytes can be told again. It is never used to open a file, and names of exported
files are the business of `engine.case.filenames`.

Escapes:
    `\xff`       a byte that is no UTF-8.
    `\u{202e}`   a character that would not be seen or would change how others are seen: control characters (C0, C1),
                 line and paragraph separators, bidi controls, zero-width and other invisible characters,
                 non-characters, and lone surrogates (Windows allows them in names).
    `\u{5c}`     a backslash, only where it would otherwise read as the start of one of these escapes; anywhere else
                 it stays `\`, so that a Windows path is shown as people know it.
"""

import re

# Every character that is shown as an escape. Spelled out, and not taken from `unicodedata`, so that the same name is
# written the same way by every version of Python. U+FFFD stays: it is visible, and bytes never turn into it here.
_UNSAFE = (
    "\x00-\x1f\x7f-\x9f"  # C0 and C1 controls, DEL
    "\u00ad\u034f\u061c"  # soft hyphen, grapheme joiner, Arabic letter mark
    "\u115f\u1160\u3164\uffa0"  # Hangul fillers
    "\u17b4\u17b5\u180b-\u180f"  # invisible Khmer vowels, Mongolian selectors and vowel separator
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero-width, separators, bidi controls, invisible operators
    "\ufdd0-\ufdef\ufeff\ufff0-\ufffb\ufffe\uffff"  # non-characters, byte order mark, annotation marks
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # shorthand and musical format controls
    "\U000e0000-\U000e0fff"  # tags and supplementary variation selectors
    "\ud800-\udfff"  # lone surrogates, and bytes that are no UTF-8 (as `surrogateescape` gives them)
)
# A surrogate written as three bytes, as Windows names hold it: `surrogateescape` gives its bytes one by one.
_SURROGATE_BYTES = re.compile("\udced([\udca0-\udcbf])([\udc80-\udcbf])")
_ESCAPED = re.compile(rf"\\(?=x[0-9a-f]{{2}}|u\{{)|{_SURROGATE_BYTES.pattern}|[{_UNSAFE}]")


def display_name(raw: bytes) -> str:
    """Return a name or a path for people: one line, no hidden characters, no lone surrogates.

    Args:
        raw: The name as the file system spells it (`os.fsencode`).
    """
    return _ESCAPED.sub(_escape, raw.decode("utf-8", "surrogateescape"))


def _escape(match: re.Match[str]) -> str:
    found = match.group()
    if len(found) == 3:
        middle, last = (ord(letter) & 0x3F for letter in match.groups())
        return f"\\u{{{0xD000 | middle << 6 | last:x}}}"
    code = ord(found)
    if 0xDC80 <= code <= 0xDCFF:  # only `surrogateescape` makes these: a byte
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{{{code:x}}}"
