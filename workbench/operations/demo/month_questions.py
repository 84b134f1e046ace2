"""What the people of the demo ask in the month that it tells, and words of the passages that answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MonthQuestion:
    """A question of the month. A passage that holds one of ``primary`` answers it; one of ``supporting`` belongs to
    it. Where there are none, nothing answers."""

    text: str
    primary: tuple[str, ...] = ()
    supporting: tuple[str, ...] = ()

    def truth(self, passage: str) -> str:
        """The role that a careful reader gives a passage."""
        words = " ".join(passage.split())
        if any(sign in words for sign in self.primary):
            return "primary"
        return "supporting" if any(sign in words for sign in self.supporting) else "discarded"


_ = MonthQuestion

#: Of the first collection, the insurer's contracts and policies.
DEMO_MONTH = (
    _(
        "How long may a supplier's invoice stay unpaid?",
        ("within forty-five (45) days",),
        ("within thirty (30) days",),
    ),
    _("What interest runs on a late payment?", ("two per cent (2%) a year",)),
    _("Who may inspect the Supplier's premises?", ("right to audit",), ("second data centre is thirty",)),
    _("When may the Work Orders be ended after force majeure?", ("lasts more than forty-five days",)),
    _("What reduction is given for early payment?", ("one and a half per cent",)),
    _(
        "What availability does the Supplier promise?",
        ("99.8 per cent", "99.9 per cent"),
        ("Service Credits",),
    ),
    _("By when must the Supplier adjust its rates?", ("not earlier than the first anniversary",)),
    _("To whom may the Client assign the agreement?", ("successor of its insurance business",)),
    _("How must notices be delivered?", ("delivered by hand, by registered post",)),
    _(
        "Which text prevails if the documents conflict?",
        ("Order of precedence",),
        ("this Amendment prevails",),
    ),
    _("Where may encrypted copies of Client Data be stored?", ("second data centre in Varnmoor",)),
    _("Which bonus do managers receive for sales abroad?"),
)

#: Of the second collection, claims.
CLAIMS_MONTH = (
    _(
        "Within how many days is a claim acknowledged?",
        ("acknowledges every claim within two",),
        ("acknowledgement within three",),
    ),
    _(
        "How soon must the handler decide on a claim?",
        ("within fifteen Business Days",),
        ("A claim is complete when",),
    ),
    _(
        "Up to what amount may a handler settle a claim alone?",
        ("up to 5,000 crowns alone",),
        ("team leader signs as well",),
    ),
    _("When is a settled claim paid?", ("within seven Business Days",), ("interest of four per cent",)),
    _(
        "How long are claim files kept?",
        ("ten years after the claim is closed",),
        ("Recordings of calls on a claim",),
    ),
    _("What must a refusal of a claim contain?", ("names the clause of the policy",), ("read by a lawyer",)),
    _(
        "Who is told when a handler suspects fraud?",
        ("informs the Special Investigations",),
        ("not told of the suspicion",),
    ),
    _("When must a theft be reported?", ("a theft within twenty-four hours",), ("reported to the police",)),
    _(
        "What excess does a young driver bear?",
        ("bear 900 crowns",),
    ),
    _("For how long is a replacement car paid?", ("up to fourteen days",)),
    _("When is a loss total?", ("the loss is total",), ("up to the value of the vehicle",)),
    _("Is damage abroad covered?", ("ninety days of each journey",)),
    _(
        "Within how many days is a complaint answered?",
        ("answered within thirty days",),
        ("acknowledgement within three",),
    ),
    _(
        "How much redress may Client Relations grant alone?",
        ("up to 500 crowns",),
        ("above 5,000 crowns by the Board",),
    ),
    _("When does an unpaid premium end the cover?", ("within thirty days of a reminder",)),
    _("How is the premium lowered without claims?", ("lowers the premium by five per cent",)),
    _(
        "For which claims is an expert appointed?",
        ("An expert is appointed",),
        ("Photographs of the damage",),
    ),
    _(
        "How may either side end the policy?",
        ("end the policy in writing", "end the policy within four weeks"),
        ("policy passes to the buyer",),
    ),
    _("Who may see a claim file?", ("Access to a claim file",)),
    _(
        "How often does the head of Client Relations report to the Board?",
        ("reports to the Board every quarter",),
    ),
    _("Which earthquakes does the policy cover?"),
)
