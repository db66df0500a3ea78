"""A worker that enters less of its sandbox than it could, as on a system that has less.

Started as `loose_worker.py without|no-landlock ARGUMENT`, run by path, as a worker is.
"""

import errno
import functools
import sys
import types
from pathlib import Path


def main() -> int:
    """Work, without a sandbox or as on a kernel that knows no Landlock."""
    package = types.ModuleType("engine")
    package.__path__ = [str(Path(__file__).resolve().parents[2] / "engine")]
    sys.modules["engine"] = package
    from engine.work.child import kernel, sandbox, service  # noqa: PLC0415  # it can be imported from here on only

    def call(number: int, *arguments: int) -> int:
        if number >= 444:  # Landlock's three
            raise OSError(errno.ENOSYS, "simulated")
        return kernel.syscall(number, *arguments)

    if sys.argv[1] == "without":
        sandbox.enter = functools.partial(sandbox.Reached, words="none", confined=False)
    else:
        sandbox.enter = functools.partial(sandbox.enter, call=call)
    return service.run(sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
