"""Draws the documents of the sample batch; a program of its own, since it loads MuPDF.

Run as `python -I writer.py FOLDER` with the plan as JSON on its standard input: for each document its path, its pages
and what is done to it at the end. It imports nothing else of the engine, so that it runs by its path alone.
The same plan gives the same bytes: nothing random, no dates. The plan is made in `documents`, and sent by `batch`.
"""

import contextlib
import hashlib
import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

# PyMuPDF would otherwise load a layout model that is not used here, which takes three times its memory.
for name in ("onnxruntime", "pymupdf4llm", "pymupdf.layout"):
    sys.modules[name] = None  # type: ignore[assignment]  # this is how a module is marked as not to be had

import pymupdf  # noqa: E402  # only once the marks above are set

Page = dict[str, Any]

_MARGIN_PT = 54
_LEADING = 1.3
"""Distance of lines, as a multiple of the letters' size."""
_SCAN_DPI = 150
_SCRIPTS = {"hebrew": 5, "arabic": 6}
"""MuPDF's numbers for the scripts whose fonts it brings along."""
_CMAP = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Letters def /CMapType 2 def
1 begincodespacerange <0000> <ffff> endcodespacerange %d beginbfchar
%sendbfchar endcmap CMapName currentdict /CMap defineresource pop end end
"""
_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_PERMISSIONS = -64


def main() -> None:
    """Draw every document of the plan that is not there yet into its folder."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    folder = Path(sys.argv[1])
    for document in json.load(sys.stdin.buffer):
        path = folder / document["path"]
        if path.exists():
            continue  # an interrupted batch is being completed, and a file that is there is a whole one
        data = finished(drawn(document["pages"]), document["finish"])
        with contextlib.suppress(OSError) if document["optional"] else contextlib.nullcontext():
            put(path, data)


def put(path: Path, data: bytes) -> None:
    """Write a file wholly or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name("unfinished.part")
    part.write_bytes(data)
    try:
        part.replace(path)
    except OSError:
        part.unlink()
        raise


def drawn(pages: list[Page]) -> pymupdf.Document:
    """Return a document with these pages."""
    document = pymupdf.open()
    for page in pages:
        target = document.new_page()
        match page["kind"]:
            case "text":
                write_lines(target, page)
            case "broken":
                write_lines(target, page)
                break_last_stream(document, target)
            case "torn":
                write_lines(target, page)
                write_lines(target, page)  # the second stream, to be broken
                break_last_stream(document, target)
            case "right_to_left":
                write_right_to_left(target, page)
            case "scan":
                show_picture(target, page)
        target.set_rotation(page["rotate"])
    shapes = {shape for page in pages if page["kind"] == "right_to_left" for line in page["lines"] for shape in line}
    if shapes:
        name_letters(document, pymupdf.Font(script=_SCRIPTS[pages[0]["font"]]), shapes)
    return document


def write_lines(target: pymupdf.Page, page: Page) -> None:
    """Write lines of text from the top left corner on."""
    start = (_MARGIN_PT, _MARGIN_PT + page["size_pt"])
    target.insert_text(start, page["lines"], fontname=page["font"], fontsize=page["size_pt"], lineheight=_LEADING)


def write_right_to_left(target: pymupdf.Page, page: Page) -> None:
    """Write lines, given as they are drawn from left to right, up to the right margin."""
    font, size_pt = pymupdf.Font(script=_SCRIPTS[page["font"]]), page["size_pt"]
    writer = pymupdf.TextWriter(target.rect)
    for number, line in enumerate(page["lines"], 1):
        left = target.rect.width - _MARGIN_PT - font.text_length(line, size_pt)
        writer.append((left, _MARGIN_PT + number * size_pt * 1.8), line, font=font, fontsize=size_pt)
    writer.write_text(target)


def name_letters(document: pymupdf.Document, font: pymupdf.Font, shapes: set[str]) -> None:
    """Let every shape of a letter stand for the letter, so that what is read can be searched; and drop other shapes."""
    letters = {font.has_glyph(ord(shape)): unicodedata.normalize("NFKC", shape) for shape in shapes}
    table = "".join(f"<{glyph:04x}> <{ord(letter):04x}>\n" for glyph, letter in sorted(letters.items()) if glyph)
    for xref, _extension, _kind, base, *_ in document.get_page_fonts(0):
        if base == font.name:
            names = int(document.xref_get_key(xref, "ToUnicode")[1].split()[0])
            document.update_stream(names, (_CMAP % (table.count("\n"), table)).encode())
    document.subset_fonts()


def show_picture(target: pymupdf.Page, page: Page) -> None:
    """Show a picture of the lines in black and white, as a scanner would make it."""
    with pymupdf.open() as paper:
        sheet = paper.new_page()
        write_lines(sheet, page)
        grey = sheet.get_pixmap(dpi=_SCAN_DPI, colorspace=pymupdf.csGRAY)
    black_and_white = grey.samples.translate(bytes(0 if level < 140 else 255 for level in range(256)))
    target.insert_image(target.rect, pixmap=pymupdf.Pixmap(pymupdf.csGRAY, grey.width, grey.height, black_and_white, 0))


def break_last_stream(document: pymupdf.Document, target: pymupdf.Page) -> None:
    """Put bytes into the page's last stream that cannot be unpacked."""
    xref = target.get_contents()[-1]
    document.update_stream(xref, b"\xff" * 300, compress=False)
    document.xref_set_key(xref, "Filter", "/FlateDecode")


def finished(document: pymupdf.Document, finish: str) -> bytes:
    """Return the bytes of a document."""
    if finish == "cut_in_middle":  # with the page tree packed into one of the last objects, so that it is lost
        data: bytes = document.tobytes(no_new_id=True, garbage=3, deflate=True, use_objstms=1)
        return data[: len(data) // 2]
    data = document.tobytes(no_new_id=True, garbage=3, deflate=True)
    match finish:
        case "cut_at_end":
            return data[: data.rindex(b"\nxref") + 30]
        case "locked":
            return encrypted(data, b"not to be guessed")
        case "restricted":
            return encrypted(data, b"")
    return data


# MuPDF can encrypt, but with a random file identifier, so that the bytes would differ each time. What follows is the
# standard security handler, revision 2, for documents without strings in their objects.


def encrypted(data: bytes, password: bytes) -> bytes:
    """Return a document encrypted with a password (40-bit RC4); with an empty one, anybody may open it."""
    identifier = hashlib.sha256(data).digest()[:16]
    padded = (password + _PADDING)[:32]
    owner = rc4(md5(padded)[:5], padded)
    key = md5(padded + owner + _PERMISSIONS.to_bytes(4, "little", signed=True) + identifier)[:5]
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    with pymupdf.open(stream=data, filetype="pdf") as document:
        for xref in range(1, document.xref_length()):
            offsets.append(len(out))
            out += b"%d 0 obj\n%b\n" % (xref, document.xref_object(xref, compressed=True).encode())
            if document.xref_is_stream(xref):
                object_key = md5(key + xref.to_bytes(3, "little") + b"\0\0")[:10]
                out += b"stream\n%b\nendstream\n" % rc4(object_key, document.xref_stream_raw(xref))
            out += b"endobj\n"
        catalog = document.pdf_catalog()
    start, size = len(out), len(offsets) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    name, user = identifier.hex().encode(), rc4(key, _PADDING).hex().encode()
    out += b"trailer\n<</Size %d/Root %d 0 R/ID[<%b><%b>]" % (size, catalog, name, name)
    encrypt = b"/Encrypt<</Filter/Standard/V 1/R 2/O<%b>/U<%b>/P %d>>>>\n"
    out += encrypt % (owner.hex().encode(), user, _PERMISSIONS)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def md5(data: bytes) -> bytes:
    """Return the MD5 hash that the format asks for."""
    return hashlib.md5(data, usedforsecurity=False).digest()


def rc4(key: bytes, data: bytes) -> bytes:
    """Return bytes encrypted with RC4, the cipher that the format asks for."""
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


if __name__ == "__main__":
    main()
