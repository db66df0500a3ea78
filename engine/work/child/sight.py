"""Whether anything can be seen on a page that has no text: what tells a blank page from one that only OCR could read.

The page is drawn to a device of our own, which has it stopped at the first thing that shows. PyMuPDF would list all
that is drawn first: ten times as much work as the text of such a page. Only where nothing shows is its list asked for,
so that what is called blank was looked at twice.
"""

from typing import Any

from engine.work.child.parser import mupdf, rgb

_WHITE = (1.0, 1.0, 1.0)
_MOST_PATHS = 1000
_WATCHED = (
    "fill_path",
    "stroke_path",
    "fill_text",
    "stroke_text",
    "ignore_text",
    "fill_shade",
    "fill_image",
    "fill_image_mask",
)


def shows_something(page: Any) -> bool:
    """Whether something can be seen on a page: anything but text without extent and white areas."""
    turned = page.rotation
    if not turned:
        return _shows_something(page)
    # As PyMuPDF does for its lists: once it is turned, text without extent has some, by the rounding of its corners.
    page.set_rotation(0)
    try:
        return _shows_something(page)
    finally:
        page.set_rotation(turned)


def _shows_something(page: Any) -> bool:
    sight = _Sight()
    mupdf.fz_run_page(page.this, sight, mupdf.FzMatrix(), sight.cookie)
    mupdf.fz_close_device(sight)
    if sight.caught or not sight.paths:
        return sight.caught
    drawings = page.get_cdrawings()
    accounted = sum(2 if drawing["type"] == "fs" else 1 for drawing in drawings)
    return accounted < sight.paths or not all(
        drawing.get("fill", _WHITE) == _WHITE and drawing.get("color", _WHITE) == _WHITE for drawing in drawings
    )


class _Sight(mupdf.FzDevice2):  # type: ignore[misc]  # nothing of MuPDF has types
    """Looks on while a page is drawn, up to the first thing that shows.

    MuPDF calls these methods; where one raises, the drawing ends with an error of MuPDF's.
    """

    def __init__(self) -> None:
        super().__init__()
        for kind in _WATCHED:
            getattr(self, f"use_virtual_{kind}")()
        self.cookie = mupdf.FzCookie()
        self.caught = False
        """Whether something shows."""
        self.paths = 0
        """White areas and lines so far."""

    def fill_path(self, _context: Any, _path: Any, _even_odd: Any, _matrix: Any, *colour: Any) -> None:
        """Look at an area."""
        self._look_at_path(*colour)

    def stroke_path(self, _context: Any, _path: Any, _stroke: Any, _matrix: Any, *colour: Any) -> None:
        """Look at a line."""
        self._look_at_path(*colour)

    def fill_text(self, _context: Any, text: Any, matrix: Any, *_colour: Any) -> None:
        """Look at letters."""
        self._look_at_text(text, None, matrix)

    def stroke_text(self, _context: Any, text: Any, stroke: Any, matrix: Any, *_colour: Any) -> None:
        """Look at the outlines of letters."""
        self._look_at_text(text, stroke, matrix)

    def ignore_text(self, _context: Any, text: Any, matrix: Any) -> None:
        """Look at letters that are not drawn."""
        self._look_at_text(text, None, matrix)

    def fill_shade(self, *_what: Any) -> None:
        """Take note of a shade."""
        self._catch()

    def fill_image(self, *_what: Any) -> None:
        """Take note of a picture."""
        self._catch()

    def fill_image_mask(self, *_what: Any) -> None:
        """Take note of a stencil."""
        self._catch()

    def _look_at_path(self, space: Any, colour: Any, *_rest: Any) -> None:
        self.paths += 1
        if self.paths > _MOST_PATHS or rgb(space, colour) != _WHITE:
            self._catch()

    def _look_at_text(self, text: Any, stroke: Any, matrix: Any) -> None:
        box = mupdf.ll_fz_bound_text(text, stroke, matrix)
        if box.x1 > box.x0 and box.y1 > box.y0:
            self._catch()

    def _catch(self) -> None:
        self.caught = True
        self.cookie.set_abort()
