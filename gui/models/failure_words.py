"""Why a page, a document or a file has no text, in words for people: what happened, what it means, what to do next.

Covers the reasons of dead letters and of files left out. A page has one outcome in a case for ever, so that another
try means another file (a repaired or decrypted copy) or another case; the advice says which.
"""

from engine import FailureClass, Reason, SkipReason
from gui.models.words import Explanation

_COPY = "Copy it to a local folder, and add that folder to the case."
_NEW_CASE = "run the file again in a new case."

REASONS: dict[Reason, Explanation] = {
    Reason.READ_FAILED: Explanation(
        short="Could not be read",
        happened="The file could not be read, although it was tried several times.",
        meaning="The disk or the network failed, not the document.",
        advice=_COPY,
    ),
    Reason.SOURCE_UNREACHABLE: Explanation(
        short="Source out of reach",
        happened="The whole folder, such as a network drive, was out of reach.",
        meaning="The document may be fine.",
        advice=_COPY,
    ),
    Reason.WORKER_LOST: Explanation(
        short="Worker lost",
        happened="The worker process ended while it had this page, and again when it was tried once more.",
        meaning="Something outside ended it; no fault of the page was found.",
        advice=f"Make sure that nothing ends the program's processes, then {_NEW_CASE}",
    ),
    Reason.OUT_OF_MEMORY: Explanation(
        short="No memory left",
        happened="The computer had no memory left for this page, even when it was tried alone.",
        meaning="The page may be fine.",
        advice=f"Close other programs or use fewer workers, then {_NEW_CASE}",
    ),
    Reason.EMPTY_FILE: Explanation(
        short="Empty file",
        happened="The file has no bytes.",
        meaning="There is nothing to read; often a copy was interrupted.",
        advice="Ask for the file again, and add the new copy.",
    ),
    Reason.NOT_A_PDF: Explanation(
        short="Not a PDF",
        happened="The content is not a PDF, whatever the name says.",
        meaning="It was not opened.",
        advice="Open it with the program it belongs to, save it as a PDF, and add that one.",
    ),
    Reason.ENCRYPTED: Explanation(
        short="Password needed",
        happened="A password or a certificate is needed to open it.",
        meaning="None of its pages could be read.",
        advice="Save a copy without protection, and add that one.",
    ),
    Reason.CORRUPT_DOCUMENT: Explanation(
        short="Damaged document",
        happened="The document cannot be opened, or its list of pages is broken.",
        meaning="None of its pages could be read.",
        advice="Ask for the file again, or repair it with another program, and add the new copy.",
    ),
    Reason.CORRUPT_PAGE: Explanation(
        short="Damaged page",
        happened="This page is damaged.",
        meaning="Its text is missing; the document's other pages are not affected.",
        advice="Look at the page in a viewer; if it shows there, print it to a new PDF and add that one.",
    ),
    Reason.NO_TEXT: Explanation(
        short="No text found",
        happened="The page shows something, and no text could be had from it.",
        meaning="It is probably a picture, such as a scan or a drawing.",
        advice="Look at the page; if it carries words, run a scan program with recognition and add its result.",
    ),
    Reason.TIME_LIMIT: Explanation(
        short="Took too long",
        happened="It took longer than its clock allows.",
        meaning="The worker was ended, so that the run could go on.",
        advice=f"If the page is worth the time, raise the clock in the settings, then {_NEW_CASE}",
    ),
    Reason.MEMORY_LIMIT: Explanation(
        short="Needed too much memory",
        happened="It needed more memory than a worker may have.",
        meaning="The worker was kept within its limit, so that the run could go on.",
        advice=f"Raise the worker's limit in the settings, then {_NEW_CASE}",
    ),
    Reason.SIZE_LIMIT: Explanation(
        short="Too large",
        happened="Its text or the file is larger than allowed.",
        meaning="It was not stored, because a cut text would look like a whole one.",
        advice=f"Raise the limit in the settings, then {_NEW_CASE}",
    ),
    Reason.WORKER_CRASHED: Explanation(
        short="Crashed the reader",
        happened="It crashed the program that reads PDFs, twice.",
        meaning="Only this page is lost; treat the file with care.",
        advice="Print the page to a new PDF with another viewer, and add that one.",
    ),
    Reason.SOURCE_VANISHED: Explanation(
        short="File is gone",
        happened="The file was found, and was no longer there when its turn came.",
        meaning="What was not read by then is missing.",
        advice="If it was moved, add the folder where it is now.",
    ),
    Reason.SOURCE_CHANGED: Explanation(
        short="File changed",
        happened="The file changed while it was being processed.",
        meaning="Text of two versions is never mixed, so that the rest was given up.",
        advice="When it no longer changes, copy it to a local folder, and add that folder to the case.",
    ),
    Reason.SOURCE_UNREADABLE: Explanation(
        short="No permission",
        happened="The file may not be read by this user.",
        meaning="It was not opened.",
        advice="Get permission to read it, copy it to a folder of yours, and add that folder to the case.",
    ),
    Reason.OCR_UNAVAILABLE: Explanation(
        short="Recognition not installed",
        happened="The page is a picture, and text recognition is not installed.",
        meaning="Its text is missing.",
        advice=f"Install the recognition data, then {_NEW_CASE}",
    ),
    Reason.OCR_FAILED: Explanation(
        short="Recognition failed",
        happened="Text recognition did not work on this page.",
        meaning="Its text is missing.",
        advice="Look at the page; a better scan may help.",
    ),
    Reason.INTERNAL_ERROR: Explanation(
        short="Fault of the program",
        happened="Something went wrong in this program.",
        meaning="The page is recorded as missing, and the run went on.",
        advice="Please report it, with the trace id and the log.",
    ),
}

SKIPS: dict[SkipReason, Explanation] = {
    SkipReason.NOT_SELECTED: Explanation(
        short="Other kind of file",
        happened="Its name does not end in .pdf.",
        meaning="It is listed, and was not opened.",
        advice="If it is a PDF, give it that ending and add the folder again.",
    ),
    SkipReason.HIDDEN_JUNK: Explanation(
        short="System file",
        happened="It is a file that systems leave behind, such as .DS_Store, or the case file itself.",
        meaning="It is listed, and was not opened.",
        advice="There is nothing to do.",
    ),
    SkipReason.SYMBOLIC_LINK: Explanation(
        short="Link",
        happened="It is a link to another place.",
        meaning="Links are not followed: they could lead out of the folder, or round in circles.",
        advice="If what it points to belongs to the request, add that folder too.",
    ),
    SkipReason.DIRECTORY: Explanation(
        short="Folder named like a PDF",
        happened="It is a folder whose name ends in .pdf.",
        meaning="What is inside was looked through as usual.",
        advice="There is nothing to do.",
    ),
    SkipReason.FIFO: Explanation(
        short="Named pipe",
        happened="It is a named pipe, not a file.",
        meaning="Reading it could wait for ever, so that it was not opened.",
        advice="There is nothing to do.",
    ),
    SkipReason.SOCKET: Explanation(
        short="Socket",
        happened="It is a socket, not a file.",
        meaning="There is nothing in it to read.",
        advice="There is nothing to do.",
    ),
    SkipReason.DEVICE: Explanation(
        short="Device",
        happened="It is a device, not a file.",
        meaning="It was not opened.",
        advice="There is nothing to do.",
    ),
    SkipReason.UNREADABLE_DIRECTORY: Explanation(
        short="Folder without permission",
        happened="The content of this folder may not be listed by this user.",
        meaning="Documents may be inside that are not part of the case.",
        advice="Get permission to read it, and add the folder again.",
    ),
    SkipReason.VANISHED: Explanation(
        short="Gone at once",
        happened="It was gone before it could be looked at.",
        meaning="It is listed, and is not part of the case.",
        advice="If it was moved, add the folder where it is now.",
    ),
}

CLASSES: dict[FailureClass, str] = {
    FailureClass.TRANSIENT: "Circumstances",
    FailureClass.STRUCTURAL: "The file itself",
}

CLASS_SENTENCES: dict[FailureClass, str] = {
    FailureClass.TRANSIENT: "Circumstances failed; it was tried again, with growing waits, before it was given up.",
    FailureClass.STRUCTURAL: "The page or document itself fails; trying the same bytes again would fail again.",
}


def explain(reason: Reason | SkipReason) -> Explanation:
    """Return the words for why something has no text."""
    return REASONS[reason] if isinstance(reason, Reason) else SKIPS[reason]
