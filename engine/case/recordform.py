"""The form of an audit record as an outsider reads it: one line in, its fields out, or what is wrong with it.

Needs nothing but the standard library, and nothing of what wrote the log: what a record must look like is stated here
a second time, from the outside. Whether records fit together is the business of `chaincheck`.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from engine.models.outcome import FailureClass, Method, Outcome, Reason, SkipReason

PAGE_EVENTS: Final = ("EXTRACTED", "DEAD_LETTER", "DUPLICATE")
"""Events that are the terminal record of a page."""

LARGEST_NUMBER: Final = 2**53 - 1
"""Largest whole number that every reader of JSON keeps exactly."""

LABEL: Final = re.compile(r"D([0-9]{7}|[1-9][0-9]{7,11})")
"""A document's number."""

HASH: Final = re.compile(rb"[0-9a-f]{64}")

_COMMON: Final = {"v": int, "seq": int, "ts": str, "mono_ms": int, "run": int, "request_id": str, "prev": str}
_PAGE: Final = {
    "trace_id": str,
    "doc_id": str,
    "doc_sha256": str,
    "key": str,
    "page": int,
    "method": str,
    "chars": int,
    "text_sha256": str,
    "attempt": int,
    "dur_ms": int,
    "doc_prev": str,
}
_PLACE: Final = {"root": str, "root_b64": str, "path": str, "path_b64": str, "size_bytes": int, "mtime_ns": str}
_FIELDS: Final[dict[str, dict[str, type]]] = {
    "EXTRACTED": _PAGE,
    "DEAD_LETTER": {**_PAGE, "reason": str, "failure_class": str},
    "DUPLICATE": {**_PAGE, "duplicate_of": str},
    "DOCUMENT": {**_PLACE, "trace_id": str, "doc_id": str, "doc_prev": str, "outcome": str, "repaired": bool},
    "SKIPPED": {**_PLACE, "doc_id": str, "doc_prev": str, "reason": str},
    "RETRY": {"trace_id": str, "doc_id": str, "doc_prev": str, "reason": str, "failure_class": str, "attempt": int},
    "CHECKPOINT": {"count": int, "head": str},
}
_WANTED: Final = {event: {**_COMMON, **fields} for event, fields in _FIELDS.items()}
_FAILURE: Final[dict[str, frozenset[str]]] = {"reason": frozenset(Reason), "failure_class": frozenset(FailureClass)}
_WORDS: Final[dict[str, dict[str, frozenset[str]]]] = {
    "EXTRACTED": {"method": frozenset(Method)},
    "DEAD_LETTER": {"method": frozenset(Method), **_FAILURE},
    "DUPLICATE": {"method": frozenset(Method)},
    "DOCUMENT": {"outcome": frozenset(Outcome)},
    "SKIPPED": {"reason": frozenset(SkipReason)},
    "RETRY": _FAILURE,
}
"""Fields whose words come from a closed list."""
DOCUMENT_EVENTS: Final = frozenset(_FIELDS) - {"CHECKPOINT"}
"""Events of one document or page."""

_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)


class FormError(Exception):
    """A line is no record at all; the message says why."""


def parse(line: bytes) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the fields of a line that is one flat JSON object of whole numbers, texts, flags and nulls.

    Returns:
        The fields, and what is wrong with the form all the same.

    Raises:
        FormError: When it is not.
    """
    try:
        encoding = "utf-8" if line.startswith(b'{"') else json.detect_encoding(line)
        fields = _decode(line.decode(encoding, "surrogatepass"))  # as json.loads does
        written = _encode(fields).encode()
    except (ValueError, RecursionError) as error:  # a lone surrogate, which has no UTF-8 form, is a ValueError, too
        raise FormError("the line is no JSON object of whole numbers, texts and flags") from error
    if not isinstance(fields, dict) or not {dict, list}.isdisjoint(map(type, fields.values())):
        raise FormError("the line is no flat JSON object")
    flaws = []
    if written != line:
        flaws.append("the line is not written in the one form that it must have")
    if any(type(value) is int and abs(value) > LARGEST_NUMBER for value in fields.values()):
        flaws.append("a number is too large to be kept exactly")
    return fields, flaws


def missing_fields(fields: dict[str, Any]) -> list[str]:
    """Return the names of the fields that a record of its event lacks, or has with a value that cannot be."""
    event = fields.get("event")
    if not isinstance(event, str):
        return ["event"]
    wrong = [name for name, kind in _WANTED.get(event, _COMMON).items() if type(fields.get(name)) is not kind]
    wrong += [name for name, words in _WORDS.get(event, {}).items() if name not in wrong and fields[name] not in words]
    if wrong or "failure_class" not in _WORDS.get(event, {}):
        return wrong
    return [] if Reason(fields["reason"]).failure_class == fields["failure_class"] else ["failure_class"]


def is_timestamp(text: str) -> bool:
    """Whether a text is a moment as records write it."""
    return _TIMESTAMP.fullmatch(text) is not None


def _refuse(text: str) -> None:
    raise ValueError(text)


# Made once: json.loads and json.dumps make them anew for each line.
_decode = json.JSONDecoder(parse_float=_refuse, parse_constant=_refuse).decode
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
