"""The entry of a worker process, started by path: `python -I PATH_OF_THIS_FILE ARGUMENT`.

By path, so that a checkout and an installation start alike. The package `engine` is entered here without running its
`__init__`: that exports the whole engine for front ends, and a worker has no use for a database and an event loop.
"""

import sys
import types
from pathlib import Path


def main() -> int:
    """Run a worker until its parent closes its input."""
    package = types.ModuleType("engine")
    package.__path__ = [str(Path(__file__).resolve().parents[2])]
    sys.modules["engine"] = package
    from engine.work.child.service import run  # noqa: PLC0415  # it can be imported from here on only

    return run(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
