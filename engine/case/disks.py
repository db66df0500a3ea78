r"""Whether a folder lies on a disk of this computer: a case may not lie on a network file system.

SQLite's write-ahead log needs memory shared between processes and locks that hold; network file systems give
neither reliably, and cases on them get damaged. Sources may be remote.

On Linux the table of mounts tells. On Windows only paths that name a server (`\\server\share`) are recognised, and
a drive letter that stands for one is not; on macOS nothing is: there, the refusal is not given.
"""

import os
import re
import sys
from pathlib import Path

from engine.case.storage import shown
from engine.errors import CaseError

MOUNTS = Path("/proc/self/mountinfo")
"""The mounts that this process sees, on Linux."""

NETWORK_TYPES = frozenset(
    {
        b"9p",
        b"afs",
        b"beegfs",
        b"ceph",
        b"cifs",
        b"coda",
        b"davfs",
        b"fuse.ceph",
        b"fuse.davfs",
        b"fuse.davfs2",
        b"fuse.glusterfs",
        b"fuse.grpcfuse",
        b"fuse.gvfsd-fuse",
        b"fuse.rclone",
        b"fuse.s3fs",
        b"fuse.sshfs",
        b"fuse.smbnetfs",
        b"gfs2",
        b"glusterfs",
        b"gpfs",
        b"lustre",
        b"ncpfs",
        b"nfs",
        b"nfs4",
        b"ocfs2",
        b"smb2",
        b"smb3",
        b"smbfs",
    }
)
"""Types of file systems, as Linux names them, that reach over a network or a border between machines."""

_OCTAL = re.compile(rb"\\([0-7]{3})")


def require_local_disk(path: Path, mounts: bytes | None = None) -> None:
    """Refuse a path on a network file system.

    Args:
        path: Where the case lies or is to lie.
        mounts: The table of mounts in the form of `/proc/self/mountinfo`; None asks the system.

    Raises:
        CaseError: When it is on one, with a sentence that offers another place.
    """
    kind = network_type(path, mounts)
    if kind is not None:
        raise CaseError(
            f"{shown(path)} lies on a network file system ({kind}), where a case would get damaged. Choose a folder "
            "on a disk of this computer for the case; the PDFs themselves may stay where they are."
        )


def network_type(path: Path, mounts: bytes | None = None) -> str | None:
    """Return the type of the network file system that holds a path, or None where it is local or cannot be told."""
    if mounts is None:
        if sys.platform == "win32":
            return "server" if path.drive.startswith("\\\\") else None
        try:
            mounts = MOUNTS.read_bytes()
        except OSError:
            return None
    kind = _type_at(os.fsencode(os.path.realpath(path)), mounts)
    return kind.decode("ascii", "replace") if kind in NETWORK_TYPES else None


def _type_at(path: bytes, mounts: bytes) -> bytes:
    """Return the type of the mount with the longest matching mount point; the later of two at one point covers."""
    longest, kind = -1, b""
    for line in mounts.splitlines():
        fields, _, source = line.partition(b" - ")
        words = fields.split(b" ")
        if len(words) < 5 or not source:
            continue
        point = _OCTAL.sub(lambda match: bytes([int(match[1], 8) & 0xFF]), words[4])
        below = point if point.endswith(b"/") else point + b"/"
        if (path == point or path.startswith(below)) and len(point) >= longest:
            longest, kind = len(point), source.split(b" ")[0]
    return kind
