"""Where a worker gives up what it does not need any more, after its warm-up and before the first document.

Entering a sandbox of the operating system (Landlock and seccomp on Linux) belongs here, and only here. So far none is
entered, and that is what is reported.
"""

NONE = "none"


def enter() -> str:
    """Enter the sandbox that this system has, and return its name, or `none`."""
    return NONE
