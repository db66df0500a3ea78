"""A tiny document of our own: what a worker reads before any other, to be warm and to know the parser it has."""

WORD = "ready"
"""What stands on its one page, twice, in two blocks."""


def specimen() -> bytes:
    """Return the document."""
    content = b"0 0 9 9 re f BT /F 9 Tf 9 80 Td (%b) Tj 0 -60 Td (%b) Tj ET" % (WORD.encode(), WORD.encode())
    bodies = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%b\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    data, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(bodies, 1):
        offsets.append(len(data))
        data += b"%d 0 obj%b\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start
    return bytes(data)
