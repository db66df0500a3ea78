"""What the machine, or the container around us, lets this program use.

Affinity, CPU quota and memory limit of the control group count, since they are what a process gets, whatever the
machine has. Only version 2 of control groups is asked.
"""

import math
import os
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Return how many cores this process may use, at least 1."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has affinity
        cores = os.cpu_count() or 1
    return max(1, math.ceil(min(cores, _container_cores())))


def usable_memory_bytes() -> int:
    """Return how much memory this process and its children may use together."""
    total = int(psutil.virtual_memory().total)
    limit = _read("memory.max")
    return min(total, int(limit)) if limit.isdigit() else total


def _container_cores() -> float:
    """Return the CPU quota (`cpu.max`: quota and period in microseconds), or infinity."""
    quota, _, period = _read("cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else math.inf


def _read(name: str) -> str:
    try:
        return (_CGROUP / name).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
