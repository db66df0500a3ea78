"""A window onto a long list: the few blocks of records that were looked at last, and nothing else.

Covers keeping, replacing, ageing and forgetting; knows no Qt. Asking for what is missing is the business of
`record_table`.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Generic

from gui.models.columns import Row

BLOCK_ROWS = 256
KEPT_BLOCKS = 32


class Blocks(Generic[Row]):
    """The blocks of a list that were used last; the oldest goes when one too many comes."""

    def __init__(self, *, block_rows: int = BLOCK_ROWS, kept: int = KEPT_BLOCKS) -> None:
        """Start empty.

        Args:
            block_rows: Records a block.
            kept: Most blocks kept.
        """
        self._block_rows = block_rows
        self._kept = kept
        # Block number -> its rows, None where a row never came; the one used last stands last.
        self._blocks: OrderedDict[int, list[Row | None]] = OrderedDict()
        self._stale: set[int] = set()

    def __repr__(self) -> str:
        return f"<Blocks {len(self._blocks)} of {self._kept} kept, {len(self._stale)} stale, {self.records} records>"

    @property
    def records(self) -> int:
        """How many records are held."""
        return sum(row is not None for rows in self._blocks.values() for row in rows)

    def block_of(self, row: int) -> int:
        """Return the number of the block that a row belongs to."""
        return row // self._block_rows

    def get(self, row: int) -> Row | None:
        """Return the record of a row, if it is held, and note that its block is in use."""
        block, place = divmod(row, self._block_rows)
        rows = self._blocks.get(block)
        if rows is None:
            return None
        self._blocks.move_to_end(block)
        return rows[place]

    def is_fresh(self, block: int) -> bool:
        """Return whether a block is held and not out of date."""
        return block in self._blocks and block not in self._stale

    def make_stale(self) -> None:
        """Let every block count as out of date; what it holds is shown until something newer comes."""
        self._stale.update(self._blocks)

    def put(self, first: int, records: Sequence[Row]) -> list[tuple[int, int]]:
        """Take over records.

        Args:
            first: Row of the first one.
            records: The records of that row and those after it.

        Returns:
            The ranges of rows that are others now, each as first and last row.
        """
        changed: list[tuple[int, int]] = []
        for row, record in enumerate(records, first):
            block, place = divmod(row, self._block_rows)
            rows = self._blocks.setdefault(block, [None] * self._block_rows)
            if rows[place] == record:
                continue
            rows[place] = record
            if changed and changed[-1][1] == row - 1:
                changed[-1] = (changed[-1][0], row)
            else:
                changed.append((row, row))
        for block in range(first // self._block_rows, (first + max(1, len(records)) - 1) // self._block_rows + 1):
            self._settle(block)
        return changed

    def cut(self, row_count: int) -> None:
        """Forget every row from `row_count` on."""
        for block in [number for number in self._blocks if (number + 1) * self._block_rows > row_count]:
            keep = max(0, row_count - block * self._block_rows)
            if keep == 0:
                self._forget(block)
            else:
                self._blocks[block][keep:] = [None] * (self._block_rows - keep)

    def clear(self) -> None:
        """Forget everything."""
        self._blocks.clear()
        self._stale.clear()

    def _settle(self, block: int) -> None:
        if block not in self._blocks:
            return
        self._stale.discard(block)
        self._blocks.move_to_end(block)
        while len(self._blocks) > self._kept:
            self._forget(next(iter(self._blocks)))

    def _forget(self, block: int) -> None:
        del self._blocks[block]
        self._stale.discard(block)
