"""Mangled answers of a worker: right ones, broken in their bytes, their lengths, their JSON, their order or their text.

Covers only the making of bytes; both the tests and the worker program `crooked` use it. The same source of chance gives
the same answer.
"""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from engine.models.outcome import Reason
from engine.work.frames import encode
from engine.work.messages import FoundPage, PageKind, failure_frame, pages_frame, probe_frame, ready_frame

_LENGTHS_BYTES = 8
_TEXTS = (b"word ", b"\xc3\xa9\n", b"\f", b"\xef\xbf\xbd", b"\xf0\x9f\x98\x80", b"x" * 400)
_BAD_TEXTS = (b"\0", b"\x1b[2J", b"\xc2\x85", b"\xff", b"\xed\xa0\x80", b"\xc3", b"\r", b"\x7f", b"\xf4\x90\x80\x80")


def found_pages(dice: random.Random, pages: Sequence[int]) -> list[FoundPage]:
    """Return pages as a worker may have found them."""
    found = []
    for page in pages:
        kind = dice.choices(list(PageKind), weights=(6, 1, 1, 1))[0]
        if kind is PageKind.TEXT:
            text = b"page %d\n" % page + b"".join(dice.choices(_TEXTS, k=dice.randrange(6)))
            found.append(FoundPage(page=page, kind=kind, dur_ms=dice.randrange(90), text=text))
        elif kind is PageKind.FAILED:
            found.append(FoundPage(page=page, kind=kind, dur_ms=1, reason=Reason.CORRUPT_PAGE, code=dice.randrange(9)))
        else:
            found.append(FoundPage(page=page, kind=kind, dur_ms=1))
    return found


def right_pages(dice: random.Random, number: int, pages: Sequence[int]) -> list[bytes]:
    """Return the frames that answer a request for pages, cut anywhere."""
    cut = dice.randrange(len(pages))
    parts = [pages[:cut], pages[cut:]] if cut else [pages]
    return [pages_frame(number, found_pages(dice, part), done=part is parts[-1]) for part in parts]


def right_probe(dice: random.Random, number: int) -> bytes:
    """Return an answer to a probe."""
    if dice.random() < 0.2:
        return failure_frame(number, dice.choice((Reason.ENCRYPTED, Reason.CORRUPT_DOCUMENT)), None)
    return probe_frame(
        number,
        sha256=f"{dice.getrandbits(256):064x}",
        page_count=dice.randint(1, 9),
        size_bytes=100,
        mtime_ns=7,
        repaired=False,
    )


def right_ready() -> bytes:
    """Return the first frame of a worker."""
    return ready_frame(limits=["no core dumps"], sandbox="none", parser="crooked")


def mangled(dice: random.Random, frames: Sequence[bytes]) -> bytes:
    """Return a right answer broken in one or several ways; now and then it is still a right one."""
    frames = list(frames)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        at = dice.randrange(len(frames))
        if dice.random() < 0.25:
            frames = dice.choice(_ORDERS)(frames, dice)
        else:
            frames[at] = dice.choice(_MANGLES)(frames[at], dice)
        if not frames:
            return b""
    return b"".join(frames)


def _parts(frame: bytes) -> tuple[dict[str, Any], bytes]:
    """Return header and payload of a frame that may be broken already."""
    header_bytes = int.from_bytes(frame[:4], "big")
    try:
        header = json.loads(frame[_LENGTHS_BYTES : _LENGTHS_BYTES + header_bytes])
    except (ValueError, RecursionError):
        header = {}
    return header if isinstance(header, dict) else {}, frame[_LENGTHS_BYTES + header_bytes :]


def _raw(text: bytes, payload: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + len(payload).to_bytes(4, "big") + text + payload


def _value(dice: random.Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    plain = (
        *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**400, 0.5, float("nan"), float("-inf"), 1e308),
        *("", "text", "failed", "\ud800", "\x00", "x" * 2000, "done", "blank", Reason.TIME_LIMIT.value),
    )
    if depth > 3 or dice.random() < 0.7:
        return dice.choice(plain)
    inner = [_value(dice, depth + 1) for _ in range(dice.randrange(4))]
    return inner if dice.random() < 0.5 else {f"k{number}": one for number, one in enumerate(inner)}


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in a JSON value, as the container and the key in it."""
    places: list[tuple[Any, Any]] = []
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        places.append((value, key))
        places += _places(value[key])
    return places


def _other_value(frame: bytes, dice: random.Random) -> bytes:
    header, payload = _parts(frame)
    for container, key in dice.sample(places := _places(header), min(len(places), dice.choice((1, 1, 3)))):
        if key in container if isinstance(container, dict) else key < len(container):
            container[key] = _value(dice)
    return encode(header, payload)


def _other_shape(frame: bytes, dice: random.Random) -> bytes:
    """Lose, add or double something in the header."""
    header, payload = _parts(frame)
    places = _places(header)
    if not places:
        return encode({"surplus": _value(dice)}, payload)
    container, key = dice.choice(places)
    what = dice.randrange(3)
    if what == 0:
        del container[key]
    elif isinstance(container, list):
        container.insert(key, container[key] if what == 1 else _value(dice))
    else:
        container[f"{key}2"] = container[key] if what == 1 else _value(dice)
    return encode(header, payload)


def _other_number(frame: bytes, dice: random.Random) -> bytes:
    """Shift a number a little: another request, another page, another length."""
    header, payload = _parts(frame)
    numbers = [place for place in _places(header) if type(place[0][place[1]]) is int]
    for container, key in numbers and [dice.choice(numbers)]:
        container[key] += dice.choice((-1, 1, 2, 1000, 2**32))
    return encode(header, payload)


def _doubled_keys(frame: bytes, dice: random.Random) -> bytes:
    header, payload = _parts(frame)
    text = json.dumps(header)[1:-1]
    again = json.dumps({key: _value(dice) for key in header})[1:-1]
    both = [text, again] if dice.random() < 0.5 else [again, text]
    return _raw("{{{}}}".format(",".join(part for part in both if part)).encode(), payload)


def _no_json(frame: bytes, dice: random.Random) -> bytes:
    _, payload = _parts(frame)
    texts = (b"", b"[]", b"null", b"1" * 5000, b"[" * 9000, b'{"a":' * 2500, b"{" + b" " * 9000 + b"}", b"\xff\xfe{}")
    return _raw(dice.choice((*texts, dice.randbytes(200), json.dumps({"number": 1}).encode("utf-16"))), payload)


def _other_lengths(frame: bytes, dice: random.Random) -> bytes:
    at = dice.choice((0, 4))
    value = dice.choice((0, 1, 100, 16 * 1024, 16 * 1024 + 1, 2**24, 2**31, 2**32 - 1))
    return frame[:at] + value.to_bytes(4, "big") + frame[at + 4 :]


def _other_bytes(frame: bytes, dice: random.Random) -> bytes:
    broken = bytearray(frame)
    for _ in range(dice.choice((1, 1, 4, 30)) if broken else 0):
        broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
    return bytes(broken)


def _cut(frame: bytes, dice: random.Random) -> bytes:
    return frame[: dice.randrange(len(frame) + 1)]


def _stuffed(frame: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(frame) + 1)
    return frame[:at] + dice.randbytes(dice.choice((1, 8, 3000))) + frame[at:]


def _other_text(frame: bytes, dice: random.Random) -> bytes:
    """Put something into the text that must not be there, with lengths that still add up."""
    header, payload = _parts(frame)
    at, bad = dice.randrange(len(payload) + 1), dice.choice(_BAD_TEXTS)
    keep = payload[: max(0, at - len(bad))] + bad + payload[at:]
    return encode(header, keep[: len(payload)] if dice.random() < 0.8 else payload + bad)


def _huge(frame: bytes, dice: random.Random) -> bytes:
    header, payload = _parts(frame)
    return encode(header, payload + b"x" * dice.choice((70_000, 3_000_000)))


def _shuffled(frames: list[bytes], dice: random.Random) -> list[bytes]:
    return dice.sample(frames, len(frames))


def _repeated(frames: list[bytes], dice: random.Random) -> list[bytes]:
    return frames + [dice.choice(frames)] * dice.choice((1, 2, 50))


def _missing(frames: list[bytes], dice: random.Random) -> list[bytes]:
    return dice.sample(frames, len(frames) - 1)


def _other_end(frames: list[bytes], dice: random.Random) -> list[bytes]:
    """Say that it is done where it is not, or the other way round."""
    at = dice.randrange(len(frames))
    header, payload = _parts(frames[at])
    if isinstance(header.get("done"), bool):
        frames[at] = encode(header | {"done": not header["done"]}, payload)
    return frames


def _other_kind(frames: list[bytes], dice: random.Random) -> list[bytes]:
    """Answer something else than what was asked, or say once more that it is ready."""
    number = int.from_bytes(dice.randbytes(2), "big")
    other = dice.choice((right_ready(), right_probe(dice, number), failure_frame(number, Reason.EMPTY_FILE)))
    frames.insert(dice.randrange(len(frames) + 1), other)
    return frames


_MANGLES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_other_value, _other_value, _other_shape, _other_number, _doubled_keys, _no_json),
    *(_other_lengths, _other_bytes, _cut, _stuffed, _other_text, _huge),
)
_ORDERS: tuple[Callable[[list[bytes], random.Random], list[bytes]], ...] = (
    *(_shuffled, _repeated, _missing, _other_end, _other_kind),
)
