"""Small real PDFs for tests, written byte by byte, good ones and bad ones.

Covers one helper per kind of file that the program must cope with, and the words that a page of a good one holds.
Nothing here loads a PDF library: the process that runs the tests must not. Every helper returns the path it wrote,
and gives the same bytes for the same arguments. What a whole sample batch looks like is in `engine.sample`.
"""

import hashlib
import os
import random
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

_WORDS = (
    *("archive", "balance", "carrier", "district", "engine", "fabric", "garden", "harbour", "index", "journal"),
    *("kettle", "ledger", "meadow", "notice", "office", "parcel", "quarry", "record", "signal", "timber"),
    *("upland", "valley", "window", "yellow", "account", "bridge", "copper", "delivery", "estate", "ferry"),
)
_WORDS_PER_LINE = 8
_WIDTH, _HEIGHT = 595, 842


def page_words(page: int, *, seed: int = 0, words: int = 40) -> list[str]:
    """Return the words on a page, in reading order; `get_text().split()` of that page gives the same.

    Args:
        page: Page number, from 1.
        seed: The seed that the document was written with; another seed gives other words on every page.
        words: Number of words, at least 2; the first two name the seed and the page, so that no two pages are equal.
    """
    dice = random.Random(f"{seed}/{page}")  # noqa: S311  # repeatable filler, nothing secret
    return [f"seed{seed}", f"page{page}", *dice.choices(_WORDS, k=words - 2)]


class PdfFile:
    """Collects the objects of one PDF and writes them; for tests that need a page of their own making.

    Object 1 is the catalog, 2 the page tree and 3 the font `/F1` (Helvetica), on every page's resources.
    """

    def __init__(self) -> None:
        self._objects: dict[int, bytes] = {
            3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
        }
        self._streams: dict[int, bytes] = {}
        self.kids: list[int] = []
        """Object numbers of the pages, in order; a test may add one that does not exist."""

    def add(self, body: bytes) -> int:
        """Add an object and return its number."""
        number = max(self._objects) + 1
        self._objects[number] = body
        return number

    def stream(self, data: bytes, entries: bytes = b"") -> int:
        """Add a stream as it is and return its object's number."""
        number = self.add(b"<<%b/Length %d>>" % (entries, len(data)))
        self._streams[number] = data
        return number

    def page(self, content: bytes = b"", *, entries: bytes = b"", resources: bytes = b"", filtered: bytes = b"") -> int:
        """Add a page and return its object's number.

        Args:
            content: Its content stream, as stored.
            entries: More entries of the page's dictionary, such as `/Rotate 90`.
            resources: More entries of its resources.
            filtered: Entries of the content stream's dictionary, such as `/Filter/FlateDecode`.
        """
        contents = b"/Contents %d 0 R" % self.stream(content, filtered) if content else b""
        number = self.add(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Resources<</Font<</F1 3 0 R>>%b>>%b%b>>"
            % (_WIDTH, _HEIGHT, resources, contents, entries)
        )
        self.kids.append(number)
        return number

    def write(self, path: Path, *, tree_last: bool = False, password: str | None = None) -> Path:
        """Write the file and return its path.

        Args:
            path: Where to.
            tree_last: Whether the catalog and the page tree stand behind the pages, where truncation loses them.
            password: Encrypt with this password (40-bit RC4); an empty one restricts the file and opens it to all.
        """
        return put(path, self.to_bytes(tree_last=tree_last, password=password))

    def to_bytes(self, *, tree_last: bool = False, password: str | None = None) -> bytes:
        """Return the bytes of the file; see `write`."""
        kids = b" ".join(b"%d 0 R" % kid for kid in self.kids)
        tree = {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Count %d/Kids[%b]>>" % (len(self.kids), kids),
        }
        objects = (self._objects | tree) if tree_last else (tree | self._objects)
        key, trailer = (b"", b"") if password is None else _encryption(password.encode())
        out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
        offsets: dict[int, int] = {}
        for number, body in objects.items():
            offsets[number] = len(out)
            out += b"%d 0 obj\n%b\n" % (number, body)
            if (data := self._streams.get(number)) is not None:
                out += b"stream\n%b\nendstream\n" % (_rc4(_object_key(key, number), data) if key else data)
            out += b"endobj\n"
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1)
        out += b"".join(b"%010d 00000 n \n" % offsets[number] for number in sorted(offsets))
        out += b"trailer\n<</Size %d/Root 1 0 R%b>>\n" % (len(offsets) + 1, trailer)
        out += b"startxref\n%d\n%%%%EOF\n" % start
        return bytes(out)


def put(path: Path, data: bytes) -> Path:
    """Write a file that nobody is still writing to: it was last changed an hour ago."""
    path.write_bytes(data)
    changed_ns = time.time_ns() - 3_600_000_000_000
    os.utime(path, ns=(changed_ns, changed_ns))
    return path


def text_pdf(path: Path, pages: int = 3, *, seed: int = 0, words: int = 40, rotate: int = 0) -> Path:
    """Write a document of plain text; `page_words` gives what stands on each page."""
    return _text_file(range(1, pages + 1), seed=seed, words=words, rotate=rotate).write(path)


def batch(folder: Path, documents: int, pages_each: int, *, seed: int = 0, words: int = 40) -> list[Path]:
    """Write documents `00001.pdf`, ... of plain text into a folder; number n has the seed `seed + n`."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        text_pdf(folder / f"{number:05d}.pdf", pages_each, seed=seed + number, words=words)
        for number in range(1, documents + 1)
    ]


def blank_pdf(path: Path, pages: int = 1) -> Path:
    """Write pages on which nothing is drawn."""
    file = PdfFile()
    for _ in range(pages):
        file.page()
    return file.write(path)


def image_only_pdf(path: Path, pages: int = 1, *, seed: int = 0) -> Path:
    """Write pages that show a picture and hold no text, as a scan does; the picture shows nothing to read."""
    file = PdfFile()
    side = 64
    for page in range(1, pages + 1):
        bits = random.Random(f"{seed}/{page}").randbytes(side * side // 8)  # noqa: S311  # a repeatable pattern
        picture = file.stream(
            zlib.compress(bits),
            b"/Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 1" % (side, side)
            + b"/Filter/FlateDecode",
        )
        file.page(b"q 400 0 0 400 90 200 cm /Im Do Q", resources=b"/XObject<</Im %d 0 R>>" % picture)
    return file.write(path)


def never_ending_pdf(path: Path, pages: int = 1, *, bad_page: int = 1, seed: int = 0, levels: int = 60) -> Path:
    """Write text pages of which one never ends: forms that each draw the next one twice, `levels` deep.

    The innermost form draws nothing that is kept, so that the page takes time for ever and memory hardly at all.
    """
    return _bad_page_file(pages, bad_page, seed, lambda file: _doubling(file, levels, b"n")).write(path)


def memory_bomb_pdf(path: Path, pages: int = 1, *, bad_page: int = 1, seed: int = 0, levels: int = 60) -> Path:
    """Write text pages of which one has text without end: it takes ever more memory, until something stops it."""
    line = b"BT /F1 4 Tf 10 10 Td (%b) Tj ET" % (b"All work and no rest. " * 40)
    return _bad_page_file(pages, bad_page, seed, lambda file: _doubling(file, levels, line)).write(path)


def damaged_stream_pdf(path: Path, pages: int = 3, *, bad_page: int = 2, seed: int = 0, keep: bool = False) -> Path:
    """Write text pages of which one has a broken content stream: it gives no text and no error, only a warning.

    Args:
        path: Where to.
        pages: Number of pages.
        bad_page: Which one is damaged, from 1.
        seed: Seed of the words.
        keep: Whether only the second half of the page's content is broken, so that its words are still there.
    """

    def damage(file: PdfFile) -> None:
        broken = file.stream(b"\xff" * 200, b"/Filter/FlateDecode")
        good = file.stream(_text_content(page_words(bad_page, seed=seed))) if keep else broken
        file.page(entries=b"/Contents[%d 0 R %d 0 R]" % (good, broken))

    return _bad_page_file(pages, bad_page, seed, damage).write(path)


def page_error_pdf(path: Path, pages: int = 3, *, bad_page: int = 2, seed: int = 0) -> Path:
    """Write text pages of which one raises an error when it is loaded: there the page tree leads back to its root."""

    def circle(file: PdfFile) -> None:
        file.kids.append(file.add(b"<</Type/Pages/Count 1/Kids[2 0 R]>>"))

    return _bad_page_file(pages, bad_page, seed, circle).write(path)


def missing_page_pdf(path: Path, pages: int = 3, *, bad_page: int = 2, seed: int = 0) -> Path:
    """Write text pages of which one is not there: it loads without an error, has no text, and only a warning tells."""
    return _bad_page_file(pages, bad_page, seed, lambda file: file.kids.append(99_999)).write(path)


def truncated_pdf(path: Path, pages: int = 6, *, seed: int = 0, lost: bool = False) -> Path:
    """Write a document that is cut off.

    Args:
        path: Where to.
        pages: Number of pages of the whole document.
        seed: Seed of the words.
        lost: Whether the page tree is cut off with the end, so that the document cannot be opened. Otherwise only the
            cross-reference table is: all pages can be read once the file is repaired.
    """
    whole = _text_file(range(1, pages + 1), seed=seed).to_bytes(tree_last=lost)
    end = whole.rindex(b"1 0 obj\n<</Type/Catalog") if lost else whole.rindex(b"xref\n0 ") + 40
    return put(path, whole[:end])


def no_pages_pdf(path: Path) -> Path:
    """Write a PDF that opens and has no pages."""
    return PdfFile().write(path)


def wreck_pdf(path: Path) -> Path:
    """Write what begins like a PDF and holds nothing that could be repaired, so that it does not even open."""
    return put(path, b"%PDF-1.7\n" + b"\x00nothing of use\n" * 200)


def encrypted_pdf(path: Path, pages: int = 2, *, seed: int = 0, password: str = "sesame") -> Path:  # noqa: S107  # a test's
    """Write a document that needs a password; with an empty one it is encrypted, and opens all the same."""
    return _text_file(range(1, pages + 1), seed=seed).write(path, password=password)


def not_a_pdf(path: Path) -> Path:
    """Write a page of HTML, which a PDF library may open in good faith."""
    return put(path, b"<!DOCTYPE html><html><body><h1>404</h1><p>This is no PDF.</p></body></html>\n")


def empty_file(path: Path) -> Path:
    """Write a file of no bytes."""
    return put(path, b"")


def _text_file(pages: Iterable[int], *, seed: int, words: int = 40, rotate: int = 0) -> PdfFile:
    file = PdfFile()
    for page in pages:
        _text_page(file, page, seed=seed, words=words, rotate=rotate)
    return file


def _text_page(file: PdfFile, page: int, *, seed: int, words: int = 40, rotate: int = 0) -> None:
    content = _text_content(page_words(page, seed=seed, words=words))
    file.page(content, entries=b"/Rotate %d" % rotate if rotate else b"")


def _text_content(words: Sequence[str]) -> bytes:
    size = 11 if len(words) <= 55 * _WORDS_PER_LINE else 4  # small print, where the page would overflow
    lines = [" ".join(words[at : at + _WORDS_PER_LINE]) for at in range(0, len(words), _WORDS_PER_LINE)]
    shown = "\n".join(f"({line}) Tj T*" for line in lines)
    return f"BT /F1 {size} Tf {size * 1.25:g} TL 50 {_HEIGHT - 60} Td\n{shown}\nET".encode("ascii")


def _bad_page_file(pages: int, bad_page: int, seed: int, add_bad_page: Callable[[PdfFile], object]) -> PdfFile:
    file = PdfFile()
    for page in range(1, pages + 1):
        if page == bad_page:
            add_bad_page(file)
        else:
            _text_page(file, page, seed=seed)
    return file


def _doubling(file: PdfFile, levels: int, innermost: bytes) -> int:
    """Add a page that draws a form `2 ** levels` times, through forms that each draw the next one twice."""
    kind = b"/Type/XObject/Subtype/Form/BBox[0 0 %d %d]" % (_WIDTH, _HEIGHT)
    form = file.stream(innermost, kind + b"/Resources<</Font<</F1 3 0 R>>>>")
    for _ in range(levels):
        form = file.stream(b"/X Do /X Do", kind + b"/Resources<</XObject<</X %d 0 R>>>>" % form)
    return file.page(b"/X Do", resources=b"/XObject<</X %d 0 R>>" % form)


# The standard security handler, revision 2, from the PDF reference: old and weak, and supported everywhere.

_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_PERMISSIONS = -64
_FILE_ID = b"0123456789abcdef"


def _encryption(password: bytes) -> tuple[bytes, bytes]:
    """Return the file's key, and what the trailer says of the encryption."""
    padded = (password + _PADDING)[:32]
    owner = _rc4(_md5(padded)[:5], padded)
    key = _md5(padded + owner + _PERMISSIONS.to_bytes(4, "little", signed=True) + _FILE_ID)[:5]
    user = _rc4(key, _PADDING)
    return key, b"/Encrypt<</Filter/Standard/V 1/R 2/O<%b>/U<%b>/P %d>>/ID[<%b><%b>]" % (
        owner.hex().encode(),
        user.hex().encode(),
        _PERMISSIONS,
        _FILE_ID.hex().encode(),
        _FILE_ID.hex().encode(),
    )


def _object_key(key: bytes, number: int) -> bytes:
    return _md5(key + number.to_bytes(3, "little") + b"\0\0")[: len(key) + 5]


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _rc4(key: bytes, data: bytes) -> bytes:
    box, j = list(range(256)), 0
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) % 256
        box[i], box[j] = box[j], box[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + box[i]) % 256
        box[i], box[j] = box[j], box[i]
        out.append(byte ^ box[(box[i] + box[j]) % 256])
    return bytes(out)
