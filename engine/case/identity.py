"""What identifies a case: the header line, which is the first line of its audit log."""

import json
import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

from engine.case.audit import FORMAT, RECORD_VERSION, Fields, canonical, digest, timestamp
from engine.case.storage import damaged
from engine.errors import CaseError

LONGEST_REQUEST_ID = 200
"""Characters; it stands in every audit record."""

_CASE_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseIdentity:
    """A case's header, as it was written at its creation and never changes."""

    case_id: str
    """32 hexadecimal digits, random."""
    request_id: str
    created: str
    """UTC, ISO 8601."""
    line: bytes
    """The header line, without the newline."""
    digest: str
    """SHA-256 of the line: the first record's `prev`."""

    @classmethod
    def new(cls, request_id: str, now: datetime) -> Self:
        """Return the identity of a new case.

        Args:
            request_id: What the work is for, as the person calls it.
            now: The moment of creation, in UTC.

        Raises:
            CaseError: When the request id cannot stand in a record.
        """
        if not request_id.strip() or len(request_id) > LONGEST_REQUEST_ID or not request_id.isprintable():
            raise CaseError(
                f"The request id must be 1 to {LONGEST_REQUEST_ID} printable characters on one line, such as "
                "FOIA-2026-0117. No case was created."
            )
        case_id, created = uuid.uuid4().hex, timestamp(now)
        fields: Fields = {
            "case_id": case_id,
            "created": created,
            "format": FORMAT,
            "request_id": request_id,
            "v": RECORD_VERSION,
        }
        line = canonical(fields)
        return cls(case_id=case_id, request_id=request_id, created=created, line=line, digest=digest(line))

    @classmethod
    def of_line(cls, line: bytes | None, path: Path) -> Self:
        """Return the identity that a header line gives.

        Args:
            line: The line, or None where the case has none.
            path: The case file, for the sentence.

        Raises:
            CaseDamagedError: When the line is none that this program writes.
        """
        try:
            fields = json.loads(line or b"")
            case_id, request_id, created = fields["case_id"], fields["request_id"], fields["created"]
            # The case id becomes the name of a file elsewhere: nothing else than digits may come through here.
            good = fields["format"] == FORMAT and _CASE_ID.fullmatch(case_id) and canonical(fields) == line
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise damaged(path) from error
        if not good or not isinstance(request_id, str) or not isinstance(created, str):
            raise damaged(path)
        return cls(
            case_id=case_id, request_id=request_id, created=created, line=line or b"", digest=digest(line or b"")
        )
