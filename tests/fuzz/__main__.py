"""The whole fuzzing: `python -m tests.fuzz`, or `make fuzz`.

Takes the number of broken documents from `SLUICEGATE_FUZZ` (default 5,000) and the seed from `SLUICEGATE_SEED`, and
prints both. Ends with 1 where a promise was broken; what broke it is then kept in a folder that is named.
"""

import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from engine.settings import MIB
from tests.fuzz import exchange, tables
from tests.fuzz.mutants import Mutant, bases, mutants
from tests.fuzz.trial import Fate, narrowed, tried

_BATCH = 250
_READ_PER_DOCUMENT = 4
"""Answers that are read without a process, for each document."""
_ASKED_PER_DOCUMENT = 0.4
"""Requests put to crooked workers, for each document."""


def main() -> int:
    """Break documents and answers, and say what came of it."""
    count = int(os.environ.get("SLUICEGATE_FUZZ") or 5000)
    seed = int(os.environ.get("SLUICEGATE_SEED") or random.SystemRandom().randrange(10**6))
    say(f"SLUICEGATE_SEED={seed} SLUICEGATE_FUZZ={count}")
    broken = _documents(seed, count)
    broken += _answers(seed, count)
    say("", f"{broken} promises were broken." if broken else "Every promise was kept.")
    return 1 if broken else 0


def say(*lines: str) -> None:
    """Print lines, at once."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def _documents(seed: int, count: int) -> int:
    """Run the program over broken documents; return how many promises were broken."""
    fates: list[Fate] = []
    broken = most_bytes = 0
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sluicegate-fuzz-") as folder:
        place = Path(folder)
        documents = bases(place / "bases")
        say(f"{len(documents)} documents to break")
        for first in range(0, count, _BATCH):
            batch = list(mutants(seed, min(_BATCH, count - first), documents, first=first))
            trial = tried(batch, place / "batch")
            fates += trial.fates
            most_bytes = max(most_bytes, trial.main_rss_bytes)
            say(f"  {first + len(batch):>6,} in {time.monotonic() - started_s:,.0f} s")
            if trial.broken:
                broken += len(trial.broken)
                say(*trial.broken[:20])
                guilty = [mutant for mutant in batch if mutant.name in trial.guilty]
                say(f"kept in {_kept(guilty or narrowed(batch, place / 'batch'), seed)}")
    say("", *tables.outcome_lines(fates), "", *tables.reason_lines(fates), "")
    say(
        f"{len(fates):,} of {count:,} documents accounted for in {time.monotonic() - started_s:,.0f} s; "
        f"the main process took at most {most_bytes // MIB} MB"
    )
    return broken + (len(fates) != count)


def _kept(guilty: Sequence[Mutant], seed: int) -> Path:
    """Keep documents that break a promise; return where."""
    folder = Path(tempfile.mkdtemp(prefix=f"sluicegate-fuzz-seed-{seed}-"))
    for mutant in guilty:
        (folder / mutant.name).write_bytes(mutant.data)
    return folder


def _answers(seed: int, count: int) -> int:
    """Mangle answers of workers; return how many promises were broken."""
    read = exchange.read(seed, count * _READ_PER_DOCUMENT)
    say("", f"{read.ends.total():,} mangled answers read: {_counts(read)}", *read.broken[:20])
    asked = asyncio.run(exchange.storm(seed, max(20, int(count * _ASKED_PER_DOCUMENT))))
    say(f"{asked.ends.total():,} requests to crooked workers: {_counts(asked)}", *asked.broken[:20])
    say(f"this process grew by at most {asked.growth_bytes / MIB:.0f} MB")
    return len(read.broken) + len(asked.broken)


def _counts(found: exchange.Exchange) -> str:
    return ", ".join(f"{number:,} {word}" for word, number in found.ends.most_common())


if __name__ == "__main__":
    sys.exit(main())
