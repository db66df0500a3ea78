"""What a control group around the program allows is what the program reckons with."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from engine.machine import container_cores, container_memory_bytes, usable_cores, usable_memory_bytes
from engine.settings import MIB, FlowLimits, Settings, WorkerLimits

NO_LIMIT = 2**63 - 1
HUGE = "9223372036854771712"  # what version 1 says for no limit


def groups(tmp_path: Path, own: str, **files: str) -> tuple[Path, Path]:
    """Write control groups (`a__b` stands for `a/b`, `_dot_` for a dot) and the list of this process's own ones."""
    root = tmp_path / "cgroup"
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    (tmp_path / "own").write_text(own)
    return root, tmp_path / "own"


@pytest.mark.parametrize(
    ("own", "files", "limit"),
    [
        ("", {}, NO_LIMIT),
        ("0::/\n", {"memory_dot_max": "536870912"}, 536870912),
        ("0::/\n", {"memory_dot_max": "max"}, NO_LIMIT),
        ("0::/user/app\n", {"user__memory_dot_max": "1000", "user__app__memory_dot_max": "max"}, 1000),
        ("0::/user/app\n", {"user__memory_dot_max": "1000", "user__app__memory_dot_high": "500"}, 500),
        ("0::/outside/box\n", {"memory_dot_max": "700"}, 700),
        ("4:memory:/box\n", {"memory__box__memory_dot_limit_in_bytes": "300"}, 300),
        ("4:memory:/box\n", {"memory__memory_dot_limit_in_bytes": HUGE}, int(HUGE)),
        ("4:cpu:/box\n", {"memory__box__memory_dot_limit_in_bytes": "300"}, NO_LIMIT),
        ("0::/../../etc\nnonsense\n", {"memory_dot_max": "900"}, 900),
    ],
)
def test_the_smallest_memory_limit_around_us_counts(
    tmp_path: Path, own: str, files: dict[str, str], limit: int
) -> None:
    """Of both versions of control groups, of our own group and of those around it, in a container too."""
    assert container_memory_bytes(*groups(tmp_path, own, **files)) == limit


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, math.inf),
        ({"cpu_dot_max": "max 100000"}, math.inf),
        ({"cpu_dot_max": "150000 100000"}, 1.5),
        ({"cpu__cpu_dot_cfs_quota_us": "200000", "cpu__cpu_dot_cfs_period_us": "100000"}, 2.0),
        ({"cpu__cpu_dot_cfs_quota_us": "-1", "cpu__cpu_dot_cfs_period_us": "100000"}, math.inf),
    ],
)
def test_a_cpu_quota_counts(tmp_path: Path, files: dict[str, str], cores: float) -> None:
    """A quota is so many cores, in both versions."""
    assert container_cores(*groups(tmp_path, "0::/\n", **files)) == cores


@pytest.mark.parametrize(
    ("usable_mib", "workers", "address_space_mib"),
    [(24_000, 2, 2048), (4_000, 4, 2048), (2_000, 2, 1256), (512, 1, 278), (512, 2, 256), (128, 8, 256)],
)
def test_a_worker_never_gets_more_than_the_budget_leaves(usable_mib: int, workers: int, address_space_mib: int) -> None:
    """Where the budget is small, one page cannot fill it; where it is large, the limit that was set holds."""
    settings = Settings(flow=FlowLimits.build(workers=workers), worker=WorkerLimits(address_space_bytes=2048 * MIB))
    carried = settings.within(usable_mib * MIB)
    assert carried.worker.address_space_bytes // MIB == address_space_mib
    assert replace(carried, worker=settings.worker) == settings


def test_this_machine_has_something_to_use() -> None:
    """At least one core, and memory for more than this test."""
    assert usable_cores() >= 1
    assert usable_memory_bytes() > 64 * 2**20
