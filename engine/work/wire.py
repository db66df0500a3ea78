"""The wire: frames as they come from a worker, with its complaints drained on the side.

Blocking, for the one thread that owns the worker. The end of what a worker writes to its standard error is kept. It
may be logged where the worker never became ready, and never later: a parser's messages carry paths and content.
"""

import os
import select
import time
from collections.abc import Callable

from engine.work.frames import Frame, FrameBuffer, FrameCaps
from engine.work.process import WorkerProcess

_CHUNK_BYTES = 256 * 1024
_RING_BYTES = 8 * 1024
_LOOK_S = 0.25
"""How often a wait looks up whether the worker has ended without closing its pipes (a process of its own that
inherited them may hold them open)."""


class WorkerGoneError(Exception):
    """The worker has ended, or has closed its pipes."""


class Wire:
    """Receives frames.

    Args:
        process: The worker.
        given_up: Says whether nobody waits for this worker any more; asked a few times a second.
    """

    def __init__(self, process: WorkerProcess, given_up: Callable[[], bool]) -> None:
        self._process = process
        self._given_up = given_up
        self._frames = FrameBuffer()
        self._ring = bytearray()
        self._out = process.stdout.fileno()
        self._err = -1
        if os.name != "nt":  # where pipes can be waited for: Windows has to read blocking, and only the answers
            self._poll = select.poll()
            self._poll.register(self._out, select.POLLIN)
            if process.stderr is not None:
                self._err = process.stderr.fileno()
                self._poll.register(self._err, select.POLLIN)

    @property
    def complaints(self) -> bytes:
        """The last few kilobytes of standard error."""
        return bytes(self._ring)

    @property
    def empty(self) -> bool:
        """Whether all that was read so far has been received as frames."""
        return self._frames.empty

    def receive(self, caps: Callable[[], FrameCaps]) -> Frame:
        """Wait for the next frame.

        Args:
            caps: Says how long it may be, once it begins to come.

        Raises:
            FrameError: When what comes is no frame within the caps.
            WorkerGoneError: When nothing will come any more.
        """
        while self._frames.empty or (frame := self._frames.take(caps())) is None:
            self._frames.feed(self._read())
        return frame

    def _read(self) -> bytes:
        """Return what comes next on the standard output."""
        data = os.read(self._out, _CHUNK_BYTES) if os.name == "nt" else self._read_polling()
        if not data:
            raise WorkerGoneError
        return data

    def _read_polling(self) -> bytes:
        look_at_s = time.monotonic() + _LOOK_S
        while True:
            ready = {fd for fd, _ in self._poll.poll(_LOOK_S * 1000)}
            if self._err in ready:
                self._drain()
            if self._out in ready:
                return os.read(self._out, _CHUNK_BYTES)
            if time.monotonic() >= look_at_s:
                if self._given_up() or self._process.reap() is not None:
                    return b""
                look_at_s = time.monotonic() + _LOOK_S

    def _drain(self) -> None:
        data = os.read(self._err, _CHUNK_BYTES)
        if data:
            self._ring += data
            del self._ring[:-_RING_BYTES]
        else:
            self._poll.unregister(self._err)
