"""`python -m gui`: the same as the `sluicegate` command."""

from gui.command import main

main()
