"""Where a worker gives up what it does not need any more, after its warm-up and before the first document.

On Linux there are two layers, each of which is entered whether or not the other can be: `landlock` and `seccomp`.
Other systems have none yet. What was reached is said in words that go into the audit log, and no more is claimed.
"""

import os
import sys
from dataclasses import dataclass
from functools import partial

from engine.work.child import kernel, landlock, seccomp
from engine.work.child.kernel import LayerMissingError, Syscall

NOT_SUPPORTED = "none: not supported by this system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What is in force after entering."""

    words: str
    confined: bool
    """Whether every layer is."""


def enter(*, call: Syscall = kernel.syscall, machine: str | None = None) -> Reached:
    """Enter the sandbox that this system has, as far as it goes.

    Args:
        call: Makes a call of the kernel.
        machine: Name of the machine as the kernel has it; None asks.
    """
    if sys.platform != "linux":
        return Reached(words=NOT_SUPPORTED, confined=False)
    machine = machine or os.uname().machine
    layers = {"landlock": partial(landlock.enter, call), "seccomp": partial(seccomp.enter, machine, call)}
    words, missing = [], 0
    for name, enter_layer in layers.items():
        try:
            kernel.give_up_privileges()
            words.append(enter_layer())
        except LayerMissingError as error:
            missing += 1
            words.append(f"no {name}: {error}")
    said = ", ".join(words)
    return Reached(words=f"none: {said}" if missing == len(layers) else said, confined=missing == 0)
