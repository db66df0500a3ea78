"""Frames: whatever bytes come, the reader gives frames, waits for more, or raises its one error."""

import random

import pytest

from engine.work.frames import FrameBuffer, FrameCaps, FrameError, encode

CAPS = FrameCaps(header_bytes=1000, payload_bytes=1000)


def test_frames_come_out_as_they_went_in_however_they_were_cut() -> None:
    """Two frames that arrive byte by byte are the frames that were sent."""
    buffer, taken = FrameBuffer(), []
    for byte in encode({"a": 1}, b"\x00\xff") + encode({"b": [None, True]}):
        buffer.feed(bytes([byte]))
        if (frame := buffer.take(CAPS)) is not None:
            taken.append((frame.header, frame.payload))
    assert taken == [({"a": 1}, b"\x00\xff"), ({"b": [None, True]}, b"")]
    assert buffer.empty


@pytest.mark.parametrize(
    "caps", [FrameCaps(header_bytes=8, payload_bytes=5), FrameCaps(header_bytes=7, payload_bytes=6)]
)
def test_a_frame_over_its_cap_is_refused_from_its_first_bytes(caps: FrameCaps) -> None:
    """The lengths alone are enough to refuse a frame: nothing of it needs to be kept."""
    buffer = FrameBuffer()
    frame = encode({"a": 12}, b"123456")
    buffer.feed(frame[:7])
    assert buffer.take(caps) is None
    buffer.feed(frame[7:8])
    with pytest.raises(FrameError):
        buffer.take(caps)


def test_a_header_that_is_no_json_object_is_refused(subtests: pytest.Subtests) -> None:
    """Broken and foreign JSON, nesting beyond Python's stack and numbers that it refuses to read: the one error."""
    headers = (
        *(b"", b"[]", b"1", b'{"a":', b"\xff\xfe\xfd", b"[" * 900, b'{"a":' * 190),
        b'{"a":%b}' % (b"9" * 5000),
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    )
    for header in headers:
        with subtests.test(header=header[:20]):
            buffer = FrameBuffer()
            buffer.feed(len(header).to_bytes(4, "big") + bytes(4) + header)
            with pytest.raises(FrameError):
                buffer.take(FrameCaps(header_bytes=1 << 20))


def test_random_bytes_raise_nothing_but_the_one_error() -> None:
    """Random bytes, with and without plausible lengths, give frames, None or FrameError."""
    dice = random.Random(1)  # noqa: S311  # a repeatable test
    for _ in range(5000):
        buffer = FrameBuffer()
        data = dice.randbytes(dice.randrange(60))
        if dice.random() < 0.7:
            data = dice.randrange(40).to_bytes(4, "big") + dice.randrange(9).to_bytes(4, "big") + data
        buffer.feed(data)
        try:
            frame = buffer.take(CAPS)
        except FrameError:
            continue
        assert frame is None or isinstance(frame.header, dict)
