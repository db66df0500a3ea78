r"""Audit records: which fields they have, and the bytes of their lines.

A record is one JSON object a line: sorted keys, compact separators, UTF-8, whole numbers below 2**53, no floats, no
nested values, no lone surrogates. `prev` is the SHA-256 of the previous line's bytes without the newline; the first
record's is that of the case's header, which is the first line of an exported log. `doc_prev` is the same within one
document's records. So `sed -n 500p audit.jsonl | tr -d '\n' | sha256sum` gives the `prev` of line 501.

Covers how a line is made. Which fields the records of documents have is the business of `docrecords`; numbering,
chaining and storing, that of `journal`; checking a log, that of `chaincheck`.

The trace id of a page is derived, not random: 24 digits for case, run and document, and the page number in 8. It is
the same in every record of one page within a run, and whoever knows a case can name it without asking the case file.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from engine.case.storage import ContradictionError
from engine.models.document import Failure
from engine.models.facts import FieldValue
from engine.models.names import display_name

RECORD_VERSION: Final = 1
"""Version of the record format: `v` in every record."""

FORMAT: Final = "sluicegate-audit"
"""Name of the format, in the header line."""

LARGEST_NUMBER: Final = 2**53 - 1
"""Largest whole number that every reader of JSON keeps exactly."""

Fields = dict[str, FieldValue]

COMMON: Final = frozenset({"v", "seq", "ts", "mono_ms", "event", "run", "request_id", "prev"})
"""Fields that every record has."""

OWN_EVENTS: Final = frozenset({"EXTRACTED", "DEAD_LETTER", "DUPLICATE", "DOCUMENT", "SKIPPED", "RETRY", "CHECKPOINT"})
"""Events that only the case file itself records."""

_EVENT = re.compile(r"[A-Z][A-Z_]{0,39}")
_FIELD = re.compile(r"[a-z][a-z0-9_]{0,39}")
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical(fields: Mapping[str, FieldValue]) -> bytes:
    """Return the one byte form of a record.

    Raises:
        ContradictionError: When a text holds lone surrogates, which have no UTF-8 form.
    """
    try:
        return _encode(fields).encode()
    except UnicodeEncodeError as error:
        raise ContradictionError("a field of an audit record holds lone surrogates") from error


def digest(line: bytes) -> str:
    """Return the SHA-256 of a line's bytes, 64 hexadecimal digits."""
    return hashlib.sha256(line).hexdigest()


def timestamp(when: datetime) -> str:
    """Return a moment in UTC as records write it: microseconds and `+00:00`."""
    return when.isoformat(timespec="microseconds")


def trace_base(case_id: str, run: int, doc_id: int) -> str:
    """Return the first 24 digits of the trace ids of a document's pages within a run."""
    return hashlib.sha256(f"{case_id}/{run}/{doc_id}".encode()).hexdigest()[:24]


def trace_id(base: str, page: int = 0) -> str:
    """Return the trace id of a page, 32 hexadecimal digits; page 0 stands for the document as a whole."""
    return f"{base}{page:08x}"


def failure_fields(failure: Failure) -> Fields:
    """Return the fields that say why something failed."""
    fields: Fields = {"reason": failure.reason.value, "failure_class": failure.failure_class.value}
    for name, number in (("signal", failure.signal), ("code", failure.code)):
        if number is not None:
            fields[name] = number
    return fields


def place_fields(root: bytes, path: bytes) -> Fields:
    """Return the fields that say where a file lies: exact in base64, and escaped for people."""
    return {
        "root": display_name(root),
        "root_b64": base64.b64encode(root).decode(),
        "path": display_name(path),
        "path_b64": base64.b64encode(path).decode(),
    }


def check_noted(event: str, fields: Mapping[str, FieldValue]) -> None:
    """Check an event and its fields that come from outside the case.

    Raises:
        ContradictionError: When the log has no place for them.
    """
    if event in OWN_EVENTS or not _EVENT.fullmatch(event):
        raise ContradictionError(f"{event!a} is no event to note")
    for name, value in fields.items():
        if name in COMMON or not _FIELD.fullmatch(name):
            raise ContradictionError(f"{event} cannot have a field {name!a}")
        if not (value is None or type(value) in (int, str, bool)):
            raise ContradictionError(f"the field {name} of {event} holds a {type(value).__name__}")
    check_numbers(fields)


def check_numbers(fields: Mapping[str, FieldValue]) -> None:
    """Check that every number of a record is one that readers of JSON keep exactly.

    Raises:
        ContradictionError: When one is not.
    """
    for name, value in fields.items():
        if isinstance(value, int) and not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
            raise ContradictionError(f"the field {name} is too large a number")


class PageForm:
    """Writes the lines of extracted pages, which are nearly all lines, ten times as fast as `canonical`.

    The form is made by `canonical` itself, from a record with marks in the places of what varies, so that both give
    the same bytes; a test holds that. What is the same for many pages in a row is filled in once, by `of_document`.

    Args:
        request_id: The case's request id, in every record.
    """

    _SAME: Final = ("doc_id", "doc_sha256", "key", "mono_ms", "run", "trace", "ts")
    _VARYING: Final = ("attempt", "chars", "doc_prev", "dur_ms", "method", "page", "prev", "seq", "text_sha256")
    _NUMBERS: Final = frozenset({"attempt", "chars", "dur_ms", "mono_ms", "page", "run", "seq"})

    def __init__(self, request_id: str) -> None:
        names = {*self._SAME, *self._VARYING} - {"trace"}
        marks: Fields = {name: f"\0{name}\0" for name in names}
        # The page's number is in the trace id, too: the one thing that varies and stands in two places.
        record = {**marks, "event": "EXTRACTED", "request_id": request_id, "trace_id": "\0trace\0", "v": RECORD_VERSION}
        form = _encode(record).replace("%", "%%%%")  # it is filled in twice
        for name in (*names, "trace"):
            place = "%" if name in self._SAME else "%%"
            place += f"({name})" if name in self._SAME else ""
            place += "d" if name in self._NUMBERS else "s"
            mark = f"\\u0000{name}\\u0000"
            form = form.replace(f'"{mark}"', place) if name in self._NUMBERS else form.replace(mark, place)
        self._form = form.replace("%(trace)s", "%(trace)s%%08x")

    def of_document(
        self, *, doc_id: str, doc_sha256: str, key: str, mono_ms: int, run: int, trace: str, ts: str
    ) -> str:
        """Return the form of the lines of a document's pages, to be filled in by `%`.

        The values are, in this order: attempt, characters, doc_prev, duration in ms, method, page, prev, seq,
        text_sha256, and the page again. Words must need no escaping, numbers must be whole.

        Args:
            doc_id: The document's label.
            doc_sha256: Hash of its bytes.
            key: Its idempotency key.
            mono_ms: The moment, on the monotonic clock.
            run: Number of the run.
            trace: The first digits of the trace ids of its pages.
            ts: The moment.
        """
        same = {"doc_id": doc_id, "doc_sha256": doc_sha256, "key": key, "mono_ms": mono_ms, "run": run}
        return self._form % {**same, "trace": trace, "ts": ts}
