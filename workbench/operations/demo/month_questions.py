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


Q = MonthQuestion

#: Of the first collection, the insurer's contracts and policies.
DEMO_MONTH = (
    Q(
        "How long may a supplier's invoice stay unpaid?",
        ("within forty-five (45) days",),
        ("within thirty (30) days",),
    ),
    Q("What interest runs on a late payment?", ("two per cent (2%) a year",)),
    Q("Who may inspect the Supplier's premises?", ("right to audit",), ("second data centre is thirty",)),
    Q("When may the Work Orders be ended after force majeure?", ("lasts more than forty-five days",)),
    Q("What reduction is given for early payment?", ("one and a half per cent",)),
    Q(
        "What availability does the Supplier promise?",
        ("99.8 per cent", "99.9 per cent"),
        ("Service Credits",),
    ),
    Q("By when must the Supplier adjust its rates?", ("not earlier than the first anniversary",)),
    Q("To whom may the Client assign the agreement?", ("successor of its insurance business",)),
    Q("How must notices be delivered?", ("delivered by hand, by registered post",)),
    Q(
        "Which text prevails if the documents conflict?",
        ("Order of precedence",),
        ("this Amendment prevails",),
    ),
    Q("Where may encrypted copies of Client Data be stored?", ("second data centre in Varnmoor",)),
    Q("Which bonus do managers receive for sales abroad?"),
)

#: Of the second collection, claims.
CLAIMS_MONTH = (
    Q(
        "Within how many days is a claim acknowledged?",
        ("acknowledges every claim within two",),
        ("acknowledgement within three",),
    ),
    Q(
        "How soon must the handler decide on a claim?",
        ("within fifteen Business Days",),
        ("A claim is complete when",),
    ),
    Q(
        "Up to what amount may a handler settle a claim alone?",
        ("up to 5,000 crowns alone",),
        ("team leader signs as well",),
    ),
    Q("When is a settled claim paid?", ("within seven Business Days",), ("interest of four per cent",)),
    Q(
        "How long are claim files kept?",
        ("ten years after the claim is closed",),
        ("Recordings of calls on a claim",),
    ),
    Q("What must a refusal of a claim contain?", ("names the clause of the policy",), ("read by a lawyer",)),
    Q(
        "Who is told when a handler suspects fraud?",
        ("informs the Special Investigations",),
        ("not told of the suspicion",),
    ),
    Q("When must a theft be reported?", ("a theft within twenty-four hours",), ("reported to the police",)),
    Q(
        "What excess does a young driver bear?",
        ("bear 900 crowns",),
    ),
    Q("For how long is a replacement car paid?", ("up to fourteen days",)),
    Q("When is a loss total?", ("the loss is total",), ("up to the value of the vehicle",)),
    Q("Is damage abroad covered?", ("ninety days of each journey",)),
    Q(
        "Within how many days is a complaint answered?",
        ("answered within thirty days",),
        ("acknowledgement within three",),
    ),
    Q(
        "How much redress may Client Relations grant alone?",
        ("up to 500 crowns",),
        ("above 5,000 crowns by the Board",),
    ),
    Q("When does an unpaid premium end the cover?", ("within thirty days of a reminder",)),
    Q("How is the premium lowered without claims?", ("lowers the premium by five per cent",)),
    Q(
        "For which claims is an expert appointed?",
        ("An expert is appointed",),
        ("Photographs of the damage",),
    ),
    Q(
        "How may either side end the policy?",
        ("end the policy in writing", "end the policy within four weeks"),
        ("policy passes to the buyer",),
    ),
    Q("Who may see a claim file?", ("Access to a claim file",)),
    Q(
        "How often does the head of Client Relations report to the Board?",
        ("reports to the Board every quarter",),
    ),
    Q("Which earthquakes does the policy cover?"),
)

#: The same rules, asked as clients ask: another office labelled these. Few words of them stand in the documents.
IN_CLIENTS_WORDS = (
    Q("My car is gone, by when do I have to tell you?", ("a theft within twenty-four hours",)),
    Q("I had a crash, how quickly must I get in touch?", ("accident within five days",)),
    Q("Do you pay if I wrecked it on a track day?", ("during a race",)),
    Q("My son borrowed the car and hit somebody, are we safe?", ("liability of every driver",)),
    Q("Somebody took my toolbox out of the van, what do I get?", ("up to 800 crowns",)),
    Q("The paint is rusting, will you fix that?", ("Wear, rust and faults",)),
    Q("I am driving through three countries this summer, am I protected?", ("ninety days of each journey",)),
    Q("Can I let my garage fix it straight away?", ("have the vehicle repaired before",)),
    Q("I am twenty-one, what do I have to put up myself?", ("bear 900 crowns",)),
    Q("Will you lend me something to drive meanwhile?", ("A replacement car is paid",)),
    Q("Fixing it is almost as dear as a new one, what happens?", ("the loss is total",)),
    Q("I never crashed, do I get something off?", ("lowers the premium by five per cent",)),
    Q("I forgot the bill, am I still protected?", ("within thirty days of a reminder",)),
    Q("I sold it last week, what about the contract?", ("policy passes to the buyer",)),
    Q("You settled my damage and I want to leave, may I?", ("within four weeks",)),
    Q(
        "I wrote to you on Monday, when do I hear something back?",
        ("acknowledges every claim within two", "acknowledgement within three"),
    ),
    Q("How soon do I know whether you take it on?", ("within fifteen Business Days",)),
    Q("Does somebody come and look at the dent?", ("Photographs of the damage replace",)),
    Q("We agreed, so when do I see my money?", ("within seven Business Days",)),
    Q("Can you send it to my wife's bank instead?", ("Another account needs",)),
    Q("You were slow with the money, is there anything extra?", ("interest of four per cent",)),
    Q(
        "You said no, what may I do now?",
        ("names the Insurance Ombudsman", "tells the client how to complain"),
    ),
    Q("Who looks at my grievance about the person I spoke to?", ("never examined by that handler",)),
    Q("I am fed up, when will I get a proper reply?", ("answered within thirty days",)),
    Q("You made a mistake, can you make up for it?", ("up to 500 crowns",)),
    Q("Somebody is cheating, what do you do on that day?", ("informs the Special Investigations",)),
    Q("Do you keep what we said on the phone?", ("Recordings of calls on a claim",)),
    Q("Who at your place can read my papers?", ("Access to a claim file",)),
    Q("It is a big sum, who has the last word?", ("Claims Committee decides",)),
    Q("I only wanted to know how far you are, is that a grievance?", ("is not a complaint",)),
)
