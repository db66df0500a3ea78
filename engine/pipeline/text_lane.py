"""The text lane's work: a span goes to a worker, its outcomes to the commit lane, what was lost back to the scheduler.

Covers which results are final and which are tried again. Permits of final pages come back with their commit, those
of pages to be tried again at once, since they have to be admitted anew, behind fresh work.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from engine.models.document import Failure, LostPage, PageResult, Span, SpanReport
from engine.models.facts import PageRetried, PagesDone
from engine.models.outcome import Method, Outcome, Reason
from engine.pipeline.commits import CommitLane
from engine.pipeline.retry import RetryPolicy
from engine.pipeline.scheduler import SpanScheduler, page_ranges
from engine.pipeline.upstream import Blame


class TextLane:
    """Decides what becomes of a span's report.

    Args:
        commits: Takes final outcomes.
        scheduler: Takes spans to try again.
        policy: Which failures to try again.
        give_back: Gives back the permits of that many pages.
        blame: Tells what a failure, for a reason, of a document (by its path) says about its source.
    """

    def __init__(
        self,
        *,
        commits: CommitLane,
        scheduler: SpanScheduler,
        policy: RetryPolicy,
        give_back: Callable[[int], None],
        blame: Callable[[Reason, bytes], Awaitable[Blame]],
    ) -> None:
        self._commits = commits
        self._scheduler = scheduler
        self._policy = policy
        self._give_back = give_back
        self._blame = blame

    async def deliver(self, span: Span, report: SpanReport) -> None:
        """Commit what is final and schedule what is not.

        Raises:
            StorageError: When the case can no longer be written.
        """
        final = list(report.results)
        again = {
            result.page
            for result in final
            if result.failure is not None and await self._is_tried_again(span, result, result.failure)
        }
        if again:
            final = [result for result in final if result.page not in again]
        if report.lost is not None:
            final += await self._lost(span, report.lost)
        for pages in page_ranges(report.untried):
            self._again(span, pages, 0.0, attempt=span.attempt, alone=span.alone)
        if final:
            await self._commits.put(PagesDone(doc_id=span.document.doc_id, results=tuple(final)))

    async def _is_tried_again(self, span: Span, result: PageResult, failure: Failure) -> bool:
        """Return whether a page that failed gets another try, which is scheduled then."""
        blame = await self._blame(failure.reason, span.document.location)
        if blame is Blame.SOURCE:
            # It is tried again as soon as the source is back, and this was no try.
            self._again(span, range(result.page, result.page + 1), 0.0, attempt=result.attempt)
            return True
        delay_s = self._policy.delay_s(failure.reason, result.attempt, passing=blame is Blame.MOMENT)
        if delay_s is None:
            return False
        await self._commits.put(
            PageRetried(doc_id=span.document.doc_id, page=result.page, failure=failure, attempt=result.attempt)
        )
        self._again(span, range(result.page, result.page + 1), delay_s, attempt=result.attempt + 1)
        return True

    async def _lost(self, span: Span, lost: LostPage) -> Iterable[PageResult]:
        """Try the page that had the worker when it ended once more, alone; or return it as a dead letter."""
        delay_s = self._policy.delay_s(lost.failure.reason, span.attempt, lost=True)
        if delay_s is None:
            return [
                PageResult(
                    page=lost.page,
                    outcome=Outcome.DEAD_LETTER,
                    method=Method.NONE,
                    failure=lost.failure,
                    attempt=span.attempt,
                )
            ]
        await self._commits.put(
            PageRetried(doc_id=span.document.doc_id, page=lost.page, failure=lost.failure, attempt=span.attempt)
        )
        self._again(span, range(lost.page, lost.page + 1), delay_s, attempt=span.attempt + 1, alone=True)
        return []

    def _again(self, span: Span, pages: range, delay_s: float, *, attempt: int, alone: bool = False) -> None:
        again = replace(span, first_page=pages.start, page_count=len(pages), attempt=attempt, alone=alone)
        # First to the scheduler, then the permits back: in between the run must not look finished.
        self._scheduler.add_retry(again, delay_s)
        self._give_back(len(pages))
