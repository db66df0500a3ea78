"""The two streams of the terminal: where words go, and how they stay harmless.

Covers consoles that never take data for markup, names made fit to be shown, and a reader that goes away: then output
falls silent and the work goes on. What is said is the business of `progress` and `summary`.
"""

import io
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO, cast

from rich.console import Console
from rich.text import Text

from engine.models.names import display_name


def shown(text: str | Path) -> str:
    """Return a name as it may be shown: see `engine.models.names`.

    Args:
        text: A path or a name, bytes that are no UTF-8 included (as surrogates).
    """
    return display_name(str(text).encode("utf-8", sys.getfilesystemencodeerrors()))


def command_line(words: Sequence[str | Path]) -> str:
    """Return a command as it can be pasted into a shell, made fit to be shown."""
    plain = [str(word) for word in words]
    return shown(subprocess.list2cmdline(plain) if os.name == "nt" else shlex.join(plain))


class LastingStream:
    """A text stream that outlives its reader.

    When the pipe is closed or the terminal is gone, it swallows what is written instead of ending the program: the
    work is worth more than its display. Where there was no stream from the start (`2>&-`), nobody is there either.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = io.StringIO() if stream is None else stream
        self._gone = stream is None
        if isinstance(stream, io.TextIOWrapper):
            # What the encoding lacks is written as an escape, where it would raise an error.
            stream.reconfigure(errors="backslashreplace")

    @property
    def encoding(self) -> str:
        """Name of the stream's encoding; rich draws in plain ASCII where it has to."""
        return self._stream.encoding or "utf-8"

    def write(self, text: str) -> int:
        """Write text, if anybody is still there."""
        return self._while_there(lambda: self._stream.write(text)) or len(text)

    def flush(self) -> None:
        """Pass on what was written, if anybody is still there."""
        self._while_there(self._stream.flush)

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return not self._gone and self._stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor; rich asks it for the width of the terminal."""
        return self._stream.fileno()

    def _while_there(self, act: Callable[[], int | None]) -> int | None:
        if self._gone:
            return None
        try:
            return act()
        except OSError:
            self._gone = True
            self._lead_nowhere()
            return None

    def _lead_nowhere(self) -> None:
        """Let what is still buffered vanish, so that the interpreter does not complain when it flushes at its end."""
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


class PlainWordsConsole(Console):
    """A console that prints what it is given: no markup, no highlighting, no emoji names."""

    def __init__(self, stream: TextIO | None) -> None:
        lasting = LastingStream(stream)
        super().__init__(file=cast("TextIO", lasting), markup=False, highlight=False, emoji=False)

    @property
    def redraws(self) -> bool:
        """Whether lines that stand on the screen can be drawn again: it is a terminal, and a capable one."""
        return self.file.isatty() and not self.is_dumb_terminal

    def write_line(self, text: str = "", style: str = "") -> None:
        """Print a line without breaking it, so that it can be copied.

        Args:
            text: The line; not markup.
            style: Name of a rich style.
        """
        self.print(Text(text, style=style), soft_wrap=True)


def output() -> PlainWordsConsole:
    """Return the console for what was asked for: standard output."""
    return PlainWordsConsole(sys.stdout)


def messages() -> PlainWordsConsole:
    """Return the console for everything said along the way: standard error."""
    return PlainWordsConsole(sys.stderr)
