"""Questions to begin with: what each shows, and where its answer stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext_noop as _


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question to try. ``document`` is a file name, or empty for the whole collection; ``expects`` holds words
    of the passage that answers it, in the document named, and is empty where nothing does. ``completes`` holds words of
    a passage that belongs to the answer but is hard to tell: it is found, or a person is asked about it."""

    text: str
    shows: str
    document: str = ""
    expects: dict[str, str] = field(default_factory=dict)
    completes: dict[str, str] = field(default_factory=dict)

    @property
    def is_answerable(self) -> bool:
        """Whether the demo's documents hold the answer."""
        return bool(self.expects)


_POLICY = "information-security-policy.md"
_CONTRACT = "master-services-agreement.txt"
_AMENDMENT = "amendment-no-1.md"
_REGULATION = "regulation-on-client-records.pdf"
_TELEWORK = "politica-de-teletrabajo.md"

DEMO_QUESTIONS = (
    DemoQuestion(
        "Within how many days must the Client pay an undisputed invoice?",
        shows=_(
            "An amendment replaces a clause of the contract: the text in force answers, the old one stays as context."
        ),
        expects={_CONTRACT: "within thirty (30) days", _AMENDMENT: "within forty-five (45) days"},
    ),
    DemoQuestion(
        "How long must recordings of telephone calls be kept?",
        shows=_("The same subject in a regulation and in a policy."),
        expects={_POLICY: "Recordings of telephone calls are kept for 12 months"},
        completes={_REGULATION: "Recordings of other telephone calls"},
    ),
    DemoQuestion(
        "What does Article 20 require when an automated system selects information?",
        shows=_("A reference to a numbered article, found by its heading."),
        document=_REGULATION,
        expects={_REGULATION: "what it selected, what it discarded and on what ground"},
    ),
    DemoQuestion(
        "How quickly must critical security updates be installed?",
        shows=_("An answer that stands in a row of a table."),
        document=_POLICY,
        expects={_POLICY: "48 hours"},
    ),
    DemoQuestion(
        "Which breaches are not subject to the cap on liability?",
        shows=_("A rule in one clause and its exceptions in another; what is uncertain waits for a person."),
        document=_CONTRACT,
        expects={_CONTRACT: "limited to one hundred and fifty per cent"},
        completes={_CONTRACT: "breach of clause 7 or clause 8"},
    ),
    DemoQuestion(
        "¿Cuántos días por semana se puede teletrabajar?",
        shows=_("A Spanish question on a Spanish document."),
        document=_TELEWORK,
        expects={_TELEWORK: "hasta tres días por semana"},
    ),
    DemoQuestion(
        "When are dividends paid to shareholders?",
        shows=_(
            "A not-found that is proved: no line or title holds any of the words, and nothing comes near in meaning."
        ),
        document=_POLICY,
    ),
)
