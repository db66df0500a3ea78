"""The record of starts: how many in a row have failed, how long to wait, and when to give up.

One failing start among good ones is nobody's business. Many in a row have a cause that trying again does not remove,
and a run that spins on it would look alive for ever.
"""

_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 0.1, 5.0


class StartRecord:
    """Remembers starts of workers."""

    def __init__(self) -> None:
        self._failed_in_a_row = 0
        self._not_before_s: float | None = None

    def allows(self, now_s: float) -> bool:
        """Whether it is time to start another worker."""
        return self._not_before_s is None or now_s >= self._not_before_s

    def succeeded(self) -> None:
        """Note that a worker became ready."""
        self._failed_in_a_row, self._not_before_s = 0, None

    def failed(self, fault: str, now_s: float, most: int) -> str:
        """Note that a worker did not become ready.

        Args:
            fault: Why, in our words.
            now_s: The clock now.
            most: How many in a row are bearable.

        Returns:
            The sentence to give up with, or an empty string while it is worth trying again.
        """
        self._failed_in_a_row += 1
        backoff_s = min(_FIRST_BACKOFF_S * 2.0 ** (self._failed_in_a_row - 1), _LONGEST_BACKOFF_S)
        self._not_before_s = now_s + backoff_s
        if self._failed_in_a_row <= most:
            return ""
        return (
            f"Worker processes cannot be started: {self._failed_in_a_row} attempts in a row failed (the last one: "
            f"{fault}). No page can be tried like this. Look for too little free memory, too many running processes "
            "or a damaged installation, and start again; nothing that was done is lost."
        )
