"""Which documents a worker keeps open: one rule for both ends of the pipe, so that the parent knows what is at hand.

Long documents come span by span, in turn with one another and with many short ones. Opening one anew costs as much
as some of its pages, for one of thousands of pages as much as thirty. Those that are in the middle of their pages
come again, and are kept; those that were only counted, or are through, go first.
"""

from typing import Generic, TypeVar

K = TypeVar("K")

MOST_KEPT_OPEN = 4
"""How many documents a worker keeps open: two long ones that are read in turn, and two more on their way."""


class KeptOpen(Generic[K]):
    """The documents that a worker keeps open, by whatever tells them apart."""

    def __init__(self) -> None:
        self._goes_on: dict[K, bool] = {}  # the last used one last

    def __contains__(self, key: K) -> bool:
        return key in self._goes_on

    def use(self, key: K, *, goes_on: bool) -> K | None:
        """Note that a document is used now, and return the one that has to be closed for it.

        Args:
            key: The document.
            goes_on: Whether it is in the middle of its pages, so that it will most likely be asked for again.
        """
        self._goes_on.pop(key, None)
        leaving = None
        if len(self._goes_on) >= MOST_KEPT_OPEN:
            leaving = next((one for one, returns in self._goes_on.items() if not returns), next(iter(self._goes_on)))
            del self._goes_on[leaving]
        self._goes_on[key] = goes_on
        return leaving

    def drop(self, key: K) -> None:
        """Note that a document is closed."""
        self._goes_on.pop(key, None)
