"""What each page is for, in a few sentences: shown on every page by its key ``?``."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

#: Name of an address, or of its name space for those without a text of their own.
_HELP: dict[str, Promise] = {
    "home": _("Home counts what waits for you; each figure leads to its list."),
    "documents": _(
        "A collection holds documents and the people who may read them. Drop files on it; each shows its progress "
        "until it is ready or says why it failed."
    ),
    "documents:document": _(
        "The outline is on the left, the page as an image beside its text. Search finds lines in this document."
    ),
    "documents:versions": _(
        "Versions side by side. Evidence whose words did not change keeps its decision; the rest is asked again."
    ),
    "questions:ask": _(
        "Ask in your own words. Detectors propose passages, an arbiter gives each a role and a reason; you check "
        "them. Naming one document makes the search narrower and quicker."
    ),
    "questions:run": _(
        "The answer with its citations comes first, then every passage by its role: primary carries the "
        "answer, supporting explains it, tangential is near it, discarded was rejected with a reason. "
        "Approve what is right, override what is not. The machine's verdict stays on record beside yours."
    ),
    "questions:runs": _("Every question that was asked, newest first. The filters stay in the address."),
    "questions:evidence": _(
        "The lines that the verdict rests on are boxed on the page image and marked in the text beside it."
    ),
    "questions:strategies": _("What each way of deciding costs and how well it does on labelled questions."),
    "questions:compare": _("One question under several strategies, to see where they differ."),
    "question_sets": _(
        "A checklist asked of many documents. The grid shows for each document and question what was found and what "
        "still waits for a person."
    ),
    "review:queue": _(
        "Verdicts that people must decide, the most uncertain first, each with the reason why it is here. Taking one "
        "holds it for you; nobody else gets it meanwhile."
    ),
    "review:item": _(
        "Read the passage and the machine's reason, then approve, or give another role with the reason. The next "
        "card comes by itself; undo takes your last decision back for ten minutes."
    ),
    "review:bulk": _("Approve all cards that match the filter, after a preview."),
    "review:sign": _(
        "A signature binds your name, the time and its meaning to the record's hash. It needs every required card "
        "decided, and your password once more."
    ),
    "review:as-of": _("The run as it stood at another time, rebuilt from rows that are never changed."),
    "review:receipt": _("Everything a verdict was made from, and its repetition beside it."),
    "review:lines": _("Choose the first and the last line that the machine missed, and what role they have."),
    "review:notifications": _("What others did that concerns you: mentions, hand-overs, reopened runs."),
    "labeling": _(
        "Pairs of a question and a passage, judged by people. Their labels measure the machine and train the next "
        "model."
    ),
    "labeling:work": _("Give the passage its role for this question. Skip what you cannot tell; say why."),
    "labeling:agreement": _(
        "How far people agree with each other, and language models with people, with intervals."
    ),
    "models": _(
        "Each model with what it learned from and how it did. One is in use; another takes its place only when it is "
        "better on labels that neither has seen."
    ),
    "ops:trust": _(
        "How often the machine was right, what it missed, and whether people look before they agree."
    ),
    "ops:risk": _(
        "State how much may go wrong unseen. The threshold that keeps to it comes from this collection's own blind "
        "decisions."
    ),
    "ops:endpoints": _(
        "Which language models can be asked, whether they answer, and which collections ask them."
    ),
    "ops:operations": _("What waits, what failed, what models cost today, and the switch that stops them."),
    "ops:costs": _("What language models cost in a month, by collection, strategy, step and day."),
    "ops:prompts": _("Every prompt in every version, and what changed between two."),
    "audit": _(
        "Everything that people, workers and models did, newest first, in a chain of hashes. Verifying "
        "recomputes the chain; an export can be checked without the product."
    ),
    "archives": _(
        "An archive carries a whole collection to another installation: documents, settings, vocabulary, question "
        "sets and labels, without people. One that is sent is checked byte by byte, and you see what would be made "
        "before it is."
    ),
    "exports": _("Files of records, kept for a few days. Each download is on record."),
    "accounts": _("Who may do what in this collection. A person may hold several roles."),
    "vocabulary": _("Words that mean the same. An accepted variant is searched for together with its term."),
    "collection_settings": _("Thresholds and endpoints of this collection. Every change is on record."),
    "tokens": _("Tokens let scripts act in your name, as far as you allow them."),
}


def help_for(view_name: str) -> str:
    """What the page under this name of an address is for."""
    space = view_name.partition(":")[0]
    return str(_HELP.get(view_name) or _HELP.get(space) or _HELP["home"])
