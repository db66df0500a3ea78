"""Names for exported files: readable, safe on every file system, and never the same for two documents.

A source's names come from anybody and any system. What is made of them here keeps folders and names recognisable,
holds nothing that a file system or a shell could misread, and cannot leave the folder that it is put into. That no
two documents share a name does not depend on any of this: the document's number is part of it.
"""

import hashlib
import os
import re
import unicodedata
from pathlib import PurePath
from typing import Final

from engine.models.document import document_label
from engine.models.names import display_name

LONGEST_NAME: Final = 120
"""Bytes of one folder's or file's name, before number and ending: all file systems take twice as many."""

LONGEST_PATH: Final = 160 if os.name == "nt" else 1500
"""Bytes of a path below the folder of the export; a deeper tree is cut."""

DEEP: Final = "_deep"
"""Folder for documents whose own folders nest too deep to be kept."""

_UNSAFE: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED: Final = re.compile(
    r"(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$)(\.|$)", re.IGNORECASE
)
_LIKE_A_FILE: Final = re.compile(r"\.D\d{7,}\.txt$", re.IGNORECASE)


def text_path(root: bytes, path: bytes, doc_id: int) -> PurePath:
    """Return where a document's text goes, below the folder of the export.

    Args:
        root: The source root; its last part becomes the topmost folder.
        path: The document's path below the root.
        doc_id: Its number in the manifest.
    """
    *folders, name = _parts(path) or [b"document"]
    top = (_parts(root) or [b"root"])[-1]
    ending = f".{document_label(doc_id)}.txt"
    stem = name[:-4] if name[-4:].lower() == b".pdf" and len(name) > 4 else name
    file = safe_name(stem) + ending
    whole = PurePath(*(_folder_name(part) for part in (top, *folders)), file)
    if len(str(whole).encode()) <= LONGEST_PATH:
        return whole
    return PurePath(DEEP, file)


def safe_name(raw: bytes) -> str:
    """Return a name that every file system takes; where it differs from the original, a hash of that is added.

    Args:
        raw: One part of a path, as the source spells it.
    """
    shown = display_name(raw)
    name = unicodedata.normalize("NFC", _UNSAFE.sub("_", shown)).rstrip(". ").lstrip(" ")
    name = _cut(name, LONGEST_NAME)
    if _RESERVED.match(name) or name.strip(".") == "":
        name = f"_{name}".rstrip(".")
    if name.encode() == raw:
        return name
    return f"{name}~{hashlib.sha256(raw).hexdigest()[:8]}"


def _parts(path: bytes) -> list[bytes]:
    separators = rb"[/\\]+" if os.name == "nt" else b"/+"
    return [part for part in re.split(separators, path) if part]


def _folder_name(raw: bytes) -> str:
    """Return a folder's name, which must also not look like the name of an exported file."""
    name = safe_name(raw)
    return f"{name}_" if _LIKE_A_FILE.search(name) else name


def _cut(name: str, longest: int) -> str:
    """Cut a name to so many bytes of UTF-8, at a character."""
    return name.encode()[:longest].decode("utf-8", "ignore").rstrip(". ")
