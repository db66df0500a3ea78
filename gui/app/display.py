"""Whether a window can be shown here, found out before Qt is asked: Qt would abort the whole process.

Covers the display and the system libraries that Qt loads, and the sentence that names what is missing. Knows nothing
of Qt itself, and must not load it.
"""

import ctypes
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_LIBRARY = re.compile(r"lib[\w+-]+\.so(?:\.\d+)*")

PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libX11.so.6": "libx11-6",
    "libfreetype.so.6": "libfreetype6",
}
"""System libraries that Qt's modules need on Linux, and the Debian packages that bring them."""

XCB_PACKAGES = {
    "libxcb.so.1": "libxcb1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}
"""The same for its X11 plugin; without one of them Qt aborts the process when the application object is made."""


def no_display(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return a sentence if there is nothing to show a window on, or an empty text.

    Args:
        environ: The environment variables.
        platform: The system, as `sys.platform` names it.
    """
    if platform in {"win32", "darwin"} or environ.get("QT_QPA_PLATFORM"):
        return ""
    if not environ.get("DISPLAY") and not environ.get("WAYLAND_DISPLAY"):
        return "There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)."
    return ""


def missing_libraries(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return a sentence that names what Qt's X11 plugin lacks and what to install, or an empty text.

    The plugin itself is loaded, because what it needs differs from one version of Qt to the next.

    Args:
        environ: The environment variables.
        platform: The system, as `sys.platform` names it.
    """
    plugin = _xcb_plugin() if platform == "linux" and _wants_xcb(environ) else None
    problem = _load_problem(str(plugin)) if plugin is not None else ""
    if not problem:
        return ""
    others = [name for name in XCB_PACKAGES if _load_problem(name)]
    return sentence_for(dict.fromkeys([*_LIBRARY.findall(problem), *others]))


def require_charts() -> None:
    """Refuse to go on where what draws the charts is not installed: it is loaded when the window shows already.

    Raises:
        ModuleNotFoundError: When one of its packages is missing.
    """
    for name in ("numpy", "pyqtgraph"):
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_problem(error: ImportError) -> str:
    """Return a sentence about Qt that cannot be imported: the system library that it lacks, or what Python says."""
    names = _LIBRARY.findall(str(error))
    return sentence_for(names) or f"The window cannot be loaded ({error}). Install what is missing."


def unreachable_display(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return a sentence if the X display does not answer, or an empty text; call it after `missing_libraries`."""
    if platform != "linux" or not _wants_xcb(environ):
        return ""
    library = ctypes.CDLL("libxcb.so.1")
    library.xcb_connect.restype = ctypes.c_void_p
    library.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    library.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = library.xcb_connect(os.fsencode(environ["DISPLAY"]) if "DISPLAY" in environ else None, None)
    broken = bool(library.xcb_connection_has_error(connection))
    library.xcb_disconnect(connection)
    return f"The display {environ.get('DISPLAY', '')} does not answer." if broken else ""


def sentence_for(missing: Iterable[str]) -> str:
    """Return the sentence about missing libraries, or an empty text if there are none."""
    names = list(missing)
    if not names:
        return ""
    packages = sorted({(PACKAGES | XCB_PACKAGES).get(name, name) for name in names})
    return (
        f"The window needs system libraries that are not installed ({', '.join(names)}). On Debian or Ubuntu: "
        f"sudo apt-get install {' '.join(packages)}."
    )


def _wants_xcb(environ: Mapping[str, str]) -> bool:
    """Return whether Qt is going to use X11: it is asked to, or there is no Wayland to prefer."""
    asked = environ.get("QT_QPA_PLATFORM", "")
    return asked.startswith("xcb") if asked else not environ.get("WAYLAND_DISPLAY")


def _xcb_plugin() -> Path | None:
    """Return Qt's X11 plugin, or None where Qt is not installed or comes from elsewhere."""
    spec = importlib.util.find_spec("PySide6")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        plugin = Path(place) / "Qt" / "plugins" / "platforms" / "libqxcb.so"
        if plugin.exists():
            return plugin
    return None


def _load_problem(name: str) -> str:
    """Return what the system says about a library that it cannot load, or an empty text."""
    try:
        ctypes.CDLL(name)
    except OSError as error:
        return str(error)
    return ""
