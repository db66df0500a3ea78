"""A worker's life: take the pipes, put on the limits, warm up, say what was reached, and answer until the end.

What is printed by anybody goes to standard error, since the pipe to the parent is taken out of reach first. The
answers themselves are in `answers`.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from typing import BinaryIO

from engine.work.child import limits, sandbox
from engine.work.frames import Frame, FrameBuffer, FrameCaps
from engine.work.messages import OUT_OF_MEMORY_STATUS, Launch, ready_frame
from engine.work.slot import Slot

_REQUEST_CAPS = FrameCaps(payload_bytes=64 * 1024)
_READ_BYTES = 64 * 1024
_CANNOT_WORK = 3


def run(argument: str) -> int:
    """Run until the parent closes the input; return the exit status."""
    launch = Launch.from_argument(argument)
    requests, replies = _take_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    words = [*limits.die_with_parent(launch.parent_pid), *limits.step_back()]
    slot = Slot.inherited(launch.slot)
    # Loads the parser: before the limits, under which Python could not keep compiled modules.
    from engine.work.child.answers import Answers, parser_version, warm_up  # noqa: PLC0415  # as said

    words += limits.limit_resources(launch.address_space_bytes)
    if not warm_up():
        return _CANNOT_WORK
    # What is there now stays: it is not looked through for cycles again and again.
    gc.collect()
    gc.freeze()
    parser = parser_version()
    reached = sandbox.enter()
    replies.write(ready_frame(limits=words, sandbox=reached.words, confined=reached.confined, parser=parser))
    replies.flush()
    answers = Answers(slot, replies)
    status = 0
    try:
        for frame, more in _frames(requests):
            answers.give(frame, more=more)
    except MemoryError:
        status = OUT_OF_MEMORY_STATUS
    # Without tearing down: MuPDF would take its time, and might crash where nothing is lost any more.
    os._exit(status)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return private copies of standard input and output, and point those elsewhere."""
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(requests, "rb", buffering=0), os.fdopen(replies, "wb")


def _frames(requests: BinaryIO) -> Iterator[tuple[Frame, bool]]:
    """Yield requests, and whether more were sent along with each, until the parent closes the pipe."""
    buffer = FrameBuffer()
    while data := requests.read(_READ_BYTES):
        buffer.feed(data)
        while (frame := buffer.take(_REQUEST_CAPS)) is not None:
            yield frame, not buffer.empty
