"""What the engine exports: every name is there, loaded only when it is used."""

import subprocess
import sys

import engine


def test_every_exported_name_can_be_loaded() -> None:
    """`from engine import X` works for each X that is promised, and for nothing else."""
    for name in engine.__all__:
        assert getattr(engine, name) is not None
    assert not hasattr(engine, "no_such_name")
    assert set(engine.__all__) <= set(dir(engine))


def test_importing_the_engine_loads_none_of_its_parts() -> None:
    """A worker process imports the package's root and must not pay for the case file or the flow."""
    code = "import engine, sys; print([name for name in sys.modules if name.startswith('engine.') or name == 'apsw'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
