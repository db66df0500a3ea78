"""The sentences with which the window says how something ended.

Covers runs, exports and what closing would mean. Errors carry their own sentences; what a person can read off the
header is not said again.
"""

import os

from engine import CaseInfo, Counts, ExportReport, RunState, RunSummary, TextReport, display_name
from gui.models.figures import counted
from gui.views.labels import Tone

HEAD_DIGITS = 16
"""Digits of a hash that are shown; the whole of it stands in the export."""


def case_name(info: CaseInfo) -> str:
    """Return what a case is called: the name of its file."""
    return display_name(os.fsencode(info.path.stem))


def ending(summary: RunSummary) -> tuple[str, Tone]:
    """Return how a run ended, and what kind of news it is."""
    counts = summary.counts
    if summary.error:
        return f"The run stopped: {summary.error}", Tone.BAD
    if summary.state is not RunState.FINISHED:
        return f"Stopped safely. {pending(counts)} Resume the case to go on with them.", Tone.WARN
    pages, documents = counts.pages, counts.documents
    dead = sum(counts.reasons.values())
    found = f"Finished: {counted(documents.enumerated, 'document')} with {counted(pages.enumerated, 'page')}"
    text = f"{found}, all accounted for; {counted(dead, 'dead letter')}."
    if documents.enumerated == 0:
        text = "Finished: no PDF was found in these sources."
    if summary.already_done_documents:
        text += f" {counted(summary.already_done_documents, 'document')} had been done before."
    return text, Tone.WARN if dead or not documents.enumerated else Tone.GOOD


def pending(counts: Counts) -> str:
    """Return what has no terminal record yet, as a sentence."""
    documents = counted(counts.documents.pending, "document")
    pages = counted(counts.pages.pending, "known page")
    return f"{documents} and {pages} are pending."


def exported_audit(report: ExportReport, where: str) -> tuple[str, Tone]:
    """Return what an export of the audit log wrote, and whether it verifies."""
    text = f"Exported {counted(report.records, 'record')} to {where}; "
    if report.verified.ok:
        return f"{text}verified; head of the chain {report.head[:HEAD_DIGITS]}", Tone.GOOD
    problem = report.verified.problems[0] if report.verified.problems else "no reason was given."
    return f"{text}the verification FAILED: {problem}", Tone.BAD


def exported_text(report: TextReport, where: str) -> tuple[str, Tone]:
    """Return what an export of the texts wrote."""
    pages, documents = counted(report.pages, "page"), counted(report.documents, "document")
    return f"Exported the text of {pages} from {documents} to {where}", Tone.GOOD
