"""What the machine, or the container around us, lets this program use.

Affinity, CPU quota and memory limit of our control group and of those around it count, since they are what a process
gets, whatever the machine has; of both versions of control groups.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def usable_cores() -> int:
    """Return how many cores this process may use, at least 1."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has affinity
        cores = os.cpu_count() or 1
    return max(1, math.ceil(min(cores, container_cores())))


def usable_memory_bytes() -> int:
    """Return how much memory this process and its children may use together."""
    return min(int(psutil.virtual_memory().total), container_memory_bytes())


def container_cores(groups: Path = _GROUPS, own: Path = _OWN_GROUPS) -> float:
    """Return the smallest CPU quota of the groups around us, in cores, or infinity.

    Args:
        groups: Where control groups are mounted.
        own: The system's list of this process's groups.
    """
    quotas = [math.inf]
    for folder in _folders(groups, own, "cpu"):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        if not quota:
            quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit() and int(period):
            quotas.append(int(quota) / int(period))
    return min(quotas)


def container_memory_bytes(groups: Path = _GROUPS, own: Path = _OWN_GROUPS) -> int:
    """Return the smallest memory limit of the groups around us; where there is none, a very large number.

    Args:
        groups: Where control groups are mounted.
        own: The system's list of this process's groups.
    """
    limits = [2**63 - 1]
    for folder in _folders(groups, own, "memory"):
        for name in ("memory.max", "memory.high", "memory.limit_in_bytes"):
            limit = _read(folder / name)
            limits += [int(limit)] if limit.isdigit() and int(limit) else []
    return min(limits)


def _folders(groups: Path, own: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of our group and of all around it, in both versions.

    In a container the list may name a group by its path outside; what is mounted inside as the outermost is then ours.
    """
    yield from (groups, groups / controller)
    for line in _read(own).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and controller not in controllers.split(","):
            continue
        mounted = groups / controller if controllers else groups
        inside = PurePosixPath(path.lstrip("/"))
        if ".." not in inside.parts:
            yield from (mounted / part for part in (inside, *inside.parents))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
