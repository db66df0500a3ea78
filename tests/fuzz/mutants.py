"""Mutated PDFs: good and bad ones broken in many ways, the same ones for the same seed.

Covers the kinds of damage and the documents that they are done to: those of `tests.support.pdfs`, and real ones where
there are any. What the program makes of them is the business of `trial`.
"""

import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support import corpus, pdfs

_LARGEST_BASE_BYTES = 256 * 1024
_OBJECT = re.compile(rb"\b(\d{1,10} \d{1,5} obj)(.*?)endobj", re.DOTALL)
_REFERENCE = re.compile(rb"\b\d{1,10} \d{1,5} R\b")
_NUMBER = re.compile(rb"(?<=[ \[/<(])-?\d+(?:\.\d+)?(?=[ \]/>)\r\n])")
_NAME = re.compile(rb"/[A-Za-z][A-Za-z0-9]*")
_LENGTH = re.compile(rb"/Length \d+")
_XREF_ENTRY = re.compile(rb"\b\d{10} \d{5} [nf]")
_STARTXREF = re.compile(rb"startxref\s+\d+")
_FLATE = re.compile(rb"/FlateDecode[^>]*>>\s*stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
_NUMBERS = (b"0", b"-1", b"1", b"65536", b"2147483647", b"2147483648", b"-2147483649", b"9" * 30, b"1e9", b"0.0000001")
_FILTERS = (
    *(b"/FlateDecode", b"/LZWDecode", b"/ASCII85Decode", b"/ASCIIHexDecode", b"/RunLengthDecode"),
    *(b"/CCITTFaxDecode", b"/JBIG2Decode", b"/DCTDecode", b"/JPXDecode", b"/Crypt", b"/Nothing"),
)
_OPERATORS = (
    *(b"q", b"Q", b"BT", b"ET", b"Tj", b"TJ", b"Do", b"cm", b"Tf", b"Td", b"re", b"W", b"n", b"f", b"sh", b"BI"),
    *(b"ID", b"EI", b"BDC", b"EMC", b"gs", b"/F1", b"/X", b"(text)", b"<FEFF>", b"[", b"]", b"<<", b">>", b"1e30"),
)

Change = Callable[[bytes, random.Random, Sequence[bytes]], bytes]
"""Takes a document, a source of chance and all documents that there are, and gives another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One broken document."""

    number: int
    kind: str
    data: bytes

    @property
    def name(self) -> str:
        """Name of its file, from which its kind can be read again."""
        return f"{self.number:06d}-{self.kind}.pdf"


def kind_of(path: str) -> str:
    """Return the kind that a file's name tells."""
    return Path(path).stem.partition("-")[2]


def bases(folder: Path, *, real: bool = True) -> list[bytes]:
    """Return the documents to break.

    Args:
        folder: Where the generated ones may be written.
        real: Whether to add real ones, where there are any.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "base.pdf"
    made = [
        pdfs.text_pdf(path, 4).read_bytes(),
        pdfs.text_pdf(path, 12, seed=3, words=120, rotate=90).read_bytes(),
        pdfs.blank_pdf(path, 2).read_bytes(),
        pdfs.image_only_pdf(path, 2).read_bytes(),
        pdfs.damaged_stream_pdf(path, keep=True).read_bytes(),
        pdfs.page_error_pdf(path).read_bytes(),
        pdfs.missing_page_pdf(path).read_bytes(),
        pdfs.never_ending_pdf(path, 2, levels=6).read_bytes(),
        pdfs.memory_bomb_pdf(path, 2, levels=6).read_bytes(),
        pdfs.truncated_pdf(path).read_bytes(),
        pdfs.encrypted_pdf(path, password="").read_bytes(),
        pdfs.encrypted_pdf(path).read_bytes(),
        _packed(path),
    ]
    rows = (corpus.corpus_rows() or ()) if real else ()
    return made + [row.path.read_bytes() for row in rows if 0 < row.size_bytes <= _LARGEST_BASE_BYTES]


def _packed(path: Path) -> bytes:
    """Return a document with compressed contents, a form and a dictionary of graphics states."""
    file = pdfs.PdfFile()
    form = file.stream(b"BT /F1 9 Tf 40 40 Td (inner) Tj ET", b"/Type/XObject/Subtype/Form/BBox[0 0 200 200]")
    for page in range(1, 4):
        content = b"q /G gs BT /F1 12 Tf 50 700 Td (packed %d) Tj ET /X Do Q" % page
        file.page(
            zlib.compress(content * 20),
            filtered=b"/Filter/FlateDecode",
            resources=b"/XObject<</X %d 0 R>>/ExtGState<</G<</CA 0.5>>>>" % form,
        )
    return file.write(path).read_bytes()


def mutants(seed: int, count: int, documents: Sequence[bytes], *, first: int = 0) -> Iterator[Mutant]:
    """Yield mutants; one depends on the seed, its number and the documents, not on the ones before it.

    Args:
        seed: The seed.
        count: How many.
        documents: The documents to break.
        first: Number of the first one.
    """
    kinds = tuple(CHANGES)
    for number in range(first, first + count):
        dice = random.Random(f"{seed}/{number}")  # noqa: S311  # repeatable on purpose
        kind = kinds[number % len(kinds)]
        yield Mutant(number=number, kind=kind, data=CHANGES[kind](dice.choice(documents), dice, documents))


def _flip_bits(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    broken = bytearray(data)
    for _unused in range(dice.choice((1, 2, 8, 40))):
        broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
    return bytes(broken)


def _overwrite(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    broken = bytearray(data)
    for _unused in range(dice.randint(1, 6)):
        at = dice.randrange(len(broken))
        size = min(dice.choice((1, 4, 64, 512)), len(broken) - at)
        broken[at : at + size] = dice.choice((bytes(size), b"\xff" * size, dice.randbytes(size)))
    return bytes(broken)


def _truncate(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    return data[: dice.randint(1, len(data))]


def _cut_out(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = sorted(dice.randrange(len(data) + 1) for _unused in range(2))
    end = min(end, start + dice.choice((1, 16, 1024, len(data))))
    return data[:start] + data[end:]


def _repeat(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    start = dice.randrange(len(data))
    piece = data[start : start + dice.choice((1, 32, 1024, 16_384))]
    at = dice.randrange(len(data) + 1)
    return data[:at] + piece * dice.randint(1, 8) + data[at:]


def _splice(data: bytes, dice: random.Random, documents: Sequence[bytes]) -> bytes:
    other = dice.choice(documents)
    return data[: dice.randint(1, len(data))] + other[dice.randrange(len(other)) :]


def _swap_objects(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    found = list(_OBJECT.finditer(data))
    if len(found) < 2:
        return _repeat(data, dice, ())
    one, two = sorted(dice.sample(found, 2), key=lambda match: match.start())
    return b"".join(
        (data[: one.start(2)], two[2], data[one.end(2) : two.start(2)], one[2], data[two.end(2) :]),
    )


def _graft_object(data: bytes, dice: random.Random, documents: Sequence[bytes]) -> bytes:
    mine, other = list(_OBJECT.finditer(data)), list(_OBJECT.finditer(dice.choice(documents)))
    if not mine or not other:
        return _splice(data, dice, documents)
    place, graft = dice.choice(mine), dice.choice(other)
    return data[: place.start(2)] + graft[2] + data[place.end(2) :]


def _redirect(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    most = data.count(b" obj") + 2
    return _replaced(data, dice, _REFERENCE, lambda: b"%d 0 R" % dice.randrange(most))


def _renumber(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    return _replaced(data, dice, _NUMBER, lambda: dice.choice(_NUMBERS))


def _rename(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    names = _NAME.findall(data) or [b"/Type"]
    return _replaced(data, dice, _NAME, lambda: dice.choice(names))


def _stream_lengths(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    return _replaced(data, dice, _LENGTH, lambda: b"/Length " + dice.choice((*_NUMBERS, b"%d" % dice.randrange(9999))))


def _filters(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    if b"Decode" not in data:
        chosen = b"[" + b"".join(dice.choices(_FILTERS, k=dice.choice((1, 2, 40)))) + b"]"
        return _replaced(data, dice, _LENGTH, lambda: b"/Filter%b/Length 99" % chosen)
    return _replaced(data, dice, re.compile(rb"/[A-Za-z0-9]+Decode\b"), lambda: dice.choice(_FILTERS))


def _cross_references(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    if dice.random() < 0.3:
        return _replaced(data, dice, _STARTXREF, lambda: b"startxref\n%d" % dice.randrange(2 * len(data)))
    return _replaced(
        data,
        dice,
        _XREF_ENTRY,
        lambda: b"%010d %05d %b" % (dice.randrange(2 * len(data)), 0, dice.choice((b"n", b"f"))),
    )


def _nesting(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    place = dice.choice(list(_OBJECT.finditer(data)) or [re.compile(rb"\A()()").search(data)])
    if place is None:
        return data
    deep = dice.choice((b"[", b"<<", b"<</A ", b"(", b"[<</Kids ")) * dice.choice((10, 600, 60_000))
    return data[: place.start(2)] + deep + data[place.start(2) :]


def _contents(data: bytes, dice: random.Random, documents: Sequence[bytes]) -> bytes:
    """Change what is drawn inside of a compressed stream, which stays a valid one."""
    streams = list(_FLATE.finditer(data))
    if not streams:
        return _operators(data, dice, documents)
    place = dice.choice(streams)
    try:
        plain = zlib.decompress(place[1])
    except zlib.error:
        return _overwrite(data, dice, documents)
    packed = zlib.compress(_flip_bits(_operators(plain or b" ", dice, documents), dice, documents))
    return data[: place.start(1)] + packed + data[place.end(1) :]


def _operators(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    for _unused in range(dice.randint(1, 12)):
        at = dice.randrange(len(data) + 1)
        words = b" ".join(dice.choices(_OPERATORS, k=dice.choice((1, 5, 300))))
        data = data[:at] + b" " + words + b" " + data[at:]
    return data


def _replaced(data: bytes, dice: random.Random, what: re.Pattern[bytes], by: Callable[[], bytes]) -> bytes:
    """Replace a few places of a kind; where there is none, do some damage all the same."""
    places = list(what.finditer(data))
    if not places:
        return _overwrite(data, dice, ())
    chosen = dice.sample(places, min(len(places), dice.choice((1, 1, 3, 20))))
    for place in sorted(chosen, key=lambda match: -match.start()):
        data = data[: place.start()] + by() + data[place.end() :]
    return data


CHANGES: dict[str, Change] = {
    "flipped": _flip_bits,
    "overwritten": _overwrite,
    "truncated": _truncate,
    "cut-out": _cut_out,
    "repeated": _repeat,
    "spliced": _splice,
    "swapped": _swap_objects,
    "grafted": _graft_object,
    "redirected": _redirect,
    "renumbered": _renumber,
    "renamed": _rename,
    "lengths": _stream_lengths,
    "filters": _filters,
    "xref": _cross_references,
    "nested": _nesting,
    "contents": _contents,
}
"""Every kind of damage, by its name."""
