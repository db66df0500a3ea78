"""The slot: eight bytes of memory in which a worker writes what it is about to do, before it does it.

A page that kills or hangs its worker cannot tell us so; the slot can, and it spares one message a page. The worker
maps it; the parent only ever reads it through the descriptor, so that a worker that shortens the file can do no more
harm than to make the parent read nothing.
"""

import mmap
import os
import secrets
import struct
import sys
import tempfile
from enum import IntEnum
from typing import NamedTuple, Self

_SLOT_BYTES = 8
_WORD = struct.Struct("=Q")
_PAGE_BITS, _PHASE_BITS, _REQUEST_BITS, _TURN_BITS = 32, 8, 8, 16


class Phase(IntEnum):
    """What a worker is doing."""

    IDLE = 0  # It waits for something to do.
    OPENING = 1  # It opens or probes a document; the turn goes up as the hash goes on.
    PAGE = 2  # It extracts a page.


class Mark(NamedTuple):
    """What stands in a slot; as the worker wrote it, and so not to be trusted."""

    turn: int = 0
    """Goes up with each step."""
    phase: int = Phase.IDLE
    page: int = 0
    """Page number, from 1, in the phase `PAGE`."""
    request: int = 0
    """The last bits of the number of the request that it is about."""

    def tells_of(self, number: int) -> bool:
        """Whether it is about the request with this number, as far as its last bits can tell."""
        return self.request == number % (1 << _REQUEST_BITS)


MOST_TOLD_APART = 1 << _REQUEST_BITS
"""How many requests in a row a mark tells apart."""


def _pack(mark: Mark) -> int:
    turn, request = mark.turn % (1 << _TURN_BITS), mark.request % (1 << _REQUEST_BITS)
    return (((turn << _REQUEST_BITS | request) << _PHASE_BITS | mark.phase) << _PAGE_BITS) | mark.page


def _unpack(word: int) -> Mark:
    rest, page = divmod(word, 1 << _PAGE_BITS)
    rest, phase = divmod(rest, 1 << _PHASE_BITS)
    turn, request = divmod(rest, 1 << _REQUEST_BITS)
    return Mark(turn, phase, page, request)


class SlotFile:
    """The parent's end: a piece of memory that one worker inherits."""

    def __init__(self) -> None:
        self._fd = -1
        if sys.platform == "win32":
            # Descriptors cannot be inherited there; a named section takes their place, and cannot be shortened.
            self.address = f"tag:sluicegate-{secrets.token_hex(16)}"
            self._memory = mmap.mmap(-1, _SLOT_BYTES, tagname=self.address.removeprefix("tag:"))
            return
        if sys.platform == "linux":
            self._fd = os.memfd_create("sluicegate-slot", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                self._fd = os.dup(file.fileno())
        os.write(self._fd, bytes(_SLOT_BYTES))
        self.address = f"fd:{self._fd}"
        """What the worker needs to find it."""

    @property
    def inherited_fds(self) -> tuple[int, ...]:
        """The descriptors that the worker has to inherit."""
        return () if self._fd < 0 else (self._fd,)

    def read(self) -> Mark:
        """Return what stands in it; an empty mark where it cannot be read."""
        if sys.platform == "win32":
            return _unpack(_WORD.unpack(self._memory[:_SLOT_BYTES])[0])
        try:
            return _unpack(_WORD.unpack(os.pread(self._fd, _SLOT_BYTES, 0))[0])
        except (OSError, struct.error):
            return Mark()

    def close(self) -> None:
        """Give the memory back; reading gives an empty mark afterwards."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Slot:
    """The worker's end: each step is one aligned store of eight bytes, so that the parent never reads half of one."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._word = memoryview(memory).cast("Q")
        self._turn = 0

    @classmethod
    def inherited(cls, address: str) -> Self:
        """Map the slot that the parent passed on, by its address."""
        kind, _, name = address.partition(":")
        if sys.platform == "win32":
            return cls(mmap.mmap(-1, _SLOT_BYTES, tagname=name))
        if kind != "fd":
            raise ValueError(f"A slot cannot be addressed by {kind}.")
        memory = mmap.mmap(int(name), _SLOT_BYTES)
        os.close(int(name))
        return cls(memory)

    def step(self, phase: Phase, page: int = 0, *, request: int = 0) -> None:
        """Write what comes next, and for which request."""
        self._turn += 1
        self._word[0] = _pack(Mark(self._turn, phase, page, request))
