"""An extractor whose pages have a lot of text, and that can do something to the program in the middle of its work."""

from collections.abc import Callable

from engine.models.document import Failure, PageResult, Span
from engine.models.outcome import Method, Outcome, Reason
from tests.support.scripted_extractor import ScriptedExtractor, dead_page


class WordyExtractor(ScriptedExtractor):
    """Gives every page some kilobytes of its own words; some pages are blank and some are dead letters.

    Args:
        after: Pages after which `act` is called; 0 for never.
        act: Ends the program or its run.
    """

    def __init__(self, after: int = 0, act: Callable[[], object] = lambda: None) -> None:
        self._left = after
        self.act = act
        super().__init__(page=self._words)

    def _words(self, span: Span, page: int) -> PageResult | Failure | None:
        self._left -= 1
        if self._left == 0:
            self.act()
        if page % 11 == 7:
            return dead_page(page, Reason.NO_TEXT)
        beginning = f"page {page} of {span.document.sha256}: "
        text = "" if page % 9 == 5 else beginning + " ".join(f"word {number} " for number in range(40 + page * 9))
        return PageResult(
            page=page,
            outcome=Outcome.EXTRACTED,
            method=Method.TEXT if text else Method.BLANK,
            text=text,
        )
