"""The pool: documents and pages as errands for worker processes. This is the engine's extractor.

Covers which jobs go together, and those that come back untried. Trying again what was lost is the pipeline's business;
the workers themselves are that of `workforce`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby

from engine.models.document import DocumentRef, Failure, Probe, Span, SpanReport
from engine.models.outcome import Reason
from engine.work.errand import J
from engine.work.jobs import ProbeJob, SpanJob, dead_letters
from engine.work.messages import LONG_S
from engine.work.workforce import Workforce

_UNBEGUN_TRIES = 3
"""How many workers may turn out to have died idle before an errand is given up."""


class WorkerPool(Workforce):
    """Extracts documents in worker processes; made like any workforce."""

    async def probe(self, documents: Sequence[DocumentRef]) -> Sequence[Probe | Failure | None]:
        """Open and hash documents, one after the other; None for those that others took too long for.

        Raises:
            WorkerStartError: When workers can no longer be started, or the pool is closed.
        """

        def job(place: int) -> ProbeJob:
            return ProbeJob.of(documents[place], self.next_number(), self._settings)

        jobs = await self._work([document.doc_id for document in documents], job)
        return [None if job is None else job.outcome for job in jobs]

    async def extract(self, spans: Sequence[Span]) -> Sequence[SpanReport]:
        """Extract the text of the pages of spans, one after the other; those that others took too long for are untried.

        Raises:
            WorkerStartError: When workers can no longer be started, or the pool is closed.
        """
        begun_s = self._clock()
        reports: list[SpanReport] = []
        for together in _errands(spans):
            if reports and self._clock() - begun_s > LONG_S:
                reports += map(_untried, together)
            else:
                reports += await self._extract(together)
        return reports

    async def _extract(self, spans: Sequence[Span]) -> Sequence[SpanReport]:
        """Extract spans that one worker may take together."""
        late = [self._is_overdue(span) for span in spans]
        in_time = [span for span, is_late in zip(spans, late, strict=True) if not is_late]

        def job(place: int) -> SpanJob:
            return SpanJob.of(in_time[place], self.next_number(), self._settings)

        doc_ids = [span.document.doc_id for span in in_time]
        jobs = iter(await self._work(doc_ids, job, alone=spans[0].alone))
        too_late = Failure(reason=Reason.TIME_LIMIT)
        reports = []
        for span, is_late in zip(spans, late, strict=True):
            if is_late:
                reports.append(SpanReport(results=dead_letters(span, too_late)))
            else:
                done = next(jobs)
                reports.append(_untried(span) if done is None else done.outcome)
        return reports

    def _is_overdue(self, span: Span) -> bool:
        """Whether its document has taken all the time that it may take."""
        return self._times.spent_s(span.document.doc_id) > self._settings.clocks.document_s

    async def _work(
        self, doc_ids: Sequence[int], make_job: Callable[[int], J], *, alone: bool = False
    ) -> Sequence[J | None]:
        """Have a job done for each place in a list, and return the jobs in its order when they are over.

        One worker gets as many as may be sent at once. What is left when it ends early is the next one's: each errand
        that was begun has settled a job, so that this comes to an end. Where one of them takes long, those that are
        left are not done, so that nobody waits long for what is done; the first errand settles one in any case.

        Args:
            doc_ids: The document that each job is about.
            make_job: Makes the job for a place.
            alone: Whether a fresh worker is to do it, and nothing afterwards.
        """
        settled: dict[int, J] = {}
        in_vain = 0
        while left := [place for place in range(len(doc_ids)) if place not in settled]:
            jobs = partial(map, make_job, left)
            errand = await self.run_errand(doc_ids[left[0]], jobs, alone=alone)
            in_vain = 0 if errand.over.result() else in_vain + 1
            if in_vain % _UNBEGUN_TRIES == 0:
                settled |= {place: job for place, job in zip(left, errand.jobs, strict=False) if job in errand.settled}
                if errand.left or errand.overdue:
                    break
        return [settled.get(place) for place in range(len(doc_ids))]


def _untried(span: Span) -> SpanReport:
    return SpanReport(results=(), untried=tuple(span.pages))


def _errands(spans: Sequence[Span]) -> Iterator[Sequence[Span]]:
    """Yield spans that one worker may take together, in order; one that is to be tried alone goes by itself."""
    for alone, together in groupby(spans, key=lambda span: span.alone):
        if alone:
            yield from ([span] for span in together)
        else:
            yield list(together)
