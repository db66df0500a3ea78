"""What MuPDF's warnings say about a page: it reads on past broken streams, and only a warning tells.

Words from MuPDF 1.28's sources. Pure text in, flags out; nothing here loads the parser.
"""

import re

_LOST_WORDS = (
    "treating as end of file",
    "read error",
    "premature end of",
    "content stream is not a stream",
    "cannot load content stream",
    "ignoring rest of page",
    "page may not be correct",
    "cannot draw text since font and size not set",
    "cannot find XObject resource",
    "ignoring broken object",
)
"""Part of the page was left out."""
_LOST = re.compile("|".join(_LOST_WORDS))

_SYSTEM = re.compile(r"read error: \S")
"""The system could not read the file: MuPDF adds the system's words. A broken stream reads `read error; ...`."""

_HARMLESS_WORDS = (
    r"$",
    r"\.\.\. repeated \d+ times\.\.\.",
    "Document claims to have",
    "PDF stream Length incorrect",
    "ignoring zlib error",
    "line feed missing after stream begin",
    "expected 'endobj'",
    "invalid link destination",
    "ignoring broken ICC",
    "cannot create ICC link",
    "lcms: ",
    "format error: cmsOpenProfile",
    "library error: cmsCreateTransform",
    "bogus font ",
    "missing font descriptor",
    "syntax error: missing font descriptor",
    "non-embedded font using",
    "freetype ",
    "ignored error when loading embedded font",
    "library error: FT_New_Memory_Face",
    "workaround for ",
)
"""A line that begins so, or is empty, says nothing against a page on which nothing is drawn."""
_HARMLESS = re.compile("|".join(_HARMLESS_WORDS))


def lost_content(warnings: str) -> bool:
    """Whether part of the page was left out, so that text may be missing."""
    return _LOST.search(warnings) is not None


def system_could_not_read(warnings: str) -> bool:
    """Whether reading the file failed, which is no fault of the document."""
    return _SYSTEM.search(warnings) is not None


def may_be_blank(warnings: str) -> bool:
    """Whether a page on which nothing is drawn may be called blank: nothing but harmless warnings.

    To call a page blank is to say that nothing is missing. A warning that is not known speaks against it.
    """
    return all(_HARMLESS.match(line) is not None for line in warnings.split("\n"))
