"""Frames: how the two ends of a worker's pipes cut the byte stream into messages.

A frame is two unsigned 32-bit numbers in network order (length of the header, length of the payload), a header (one
JSON object in UTF-8) and a payload of raw bytes. Nothing is ever unpickled. Whoever reads says how long a frame may
be, and an oversized one is refused before any of it is kept. What the messages mean is in `messages`.
"""

import json
import struct
from dataclasses import dataclass
from typing import Any

_LENGTHS = struct.Struct("!II")
_to_json = json.JSONEncoder(separators=(",", ":")).encode
HEADER_BASE_BYTES = 16 * 1024
"""Room for the header of any message that does not list pages."""


class FrameError(Exception):
    """What came through a pipe is not what the protocol allows; the only error that decoding raises."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message as it came through a pipe."""

    header: dict[str, Any]
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameCaps:
    """How long the next frame may be."""

    header_bytes: int = HEADER_BASE_BYTES
    payload_bytes: int = 0


def encode(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """Return a message as the bytes of one frame."""
    text = _to_json(header).encode("ascii")
    return b"".join((_LENGTHS.pack(len(text), len(payload)), text, payload))


class FrameBuffer:
    """Collects bytes from a pipe and gives them back as frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes as they came."""
        self._bytes += data

    def take(self, caps: FrameCaps) -> Frame | None:
        """Return the next frame, or None while it is not complete.

        Args:
            caps: How long it may be.

        Raises:
            FrameError: When it is too long or its header is no JSON object.
        """
        if len(self._bytes) < _LENGTHS.size:
            return None
        header_bytes, payload_bytes = _LENGTHS.unpack_from(self._bytes)
        if header_bytes > caps.header_bytes or payload_bytes > caps.payload_bytes:
            raise FrameError(f"A frame of {header_bytes} + {payload_bytes} bytes is longer than allowed.")
        end = _LENGTHS.size + header_bytes + payload_bytes
        if len(self._bytes) < end:
            return None
        with memoryview(self._bytes) as view:
            header = bytes(view[_LENGTHS.size : _LENGTHS.size + header_bytes])
            payload = bytes(view[_LENGTHS.size + header_bytes : end])
        del self._bytes[:end]
        return Frame(_json_object(header), payload)

    @property
    def empty(self) -> bool:
        """Whether every byte that came has been taken as a frame."""
        return not self._bytes


def _json_object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrameError("The header of a frame is no JSON.") from error
    if not isinstance(value, dict):
        raise FrameError("The header of a frame is no JSON object.")
    return value
