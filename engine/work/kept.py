"""Which documents a worker keeps open: one rule for both ends of the pipe, so that the parent knows what is at hand.

Long documents come span by span, in turn with one another and with many short ones. Opening one anew costs as much
as some of its pages, for one of thousands of pages as much as thirty. Those that are in the middle of their pages
come again, and are kept; those that were only counted, or are through, go first. A worker does not see the end of a
document whose last pages another one reads: it is no longer waited for after a while.
"""

from typing import Generic, TypeVar

K = TypeVar("K")

MOST_KEPT_OPEN = 4
"""How many documents a worker keeps open: two long ones that are read in turn, and two more on their way."""

PATIENCE = 1000
"""For how many uses of other documents one is kept: between two spans of a long one come some hundred short ones."""


class KeptOpen(Generic[K]):
    """The documents that a worker keeps open, by whatever tells them apart."""

    def __init__(self) -> None:
        self._stays_until: dict[K, int] = {}  # a number of uses; the last used one last
        self._uses = 0

    def __contains__(self, key: K) -> bool:
        return key in self._stays_until

    def use(self, key: K, *, goes_on: bool) -> K | None:
        """Note that a document is used now, and return the one that has to be closed for it.

        Args:
            key: The document.
            goes_on: Whether it is in the middle of its pages, so that it will most likely be asked for again.
        """
        self._uses += 1
        self._stays_until.pop(key, None)
        leaving = None
        if len(self._stays_until) >= MOST_KEPT_OPEN:
            oldest = next(iter(self._stays_until))
            leaving = next((one for one, until in self._stays_until.items() if until < self._uses), oldest)
            del self._stays_until[leaving]
        self._stays_until[key] = self._uses + PATIENCE if goes_on else 0
        return leaving

    def drop(self, key: K) -> None:
        """Note that a document is closed."""
        self._stays_until.pop(key, None)
