"""What a document says of itself in its opening."""

from __future__ import annotations

import time

import pytest

from arbitration.documents import Line
from arbitration.particulars import Particular, particulars_of


def lines(*texts: str) -> list[Line]:
    return [
        Line(page_num=1, line_num=number, text=text, character_count=len(text))
        for number, text in enumerate(texts, start=1)
    ]


def read(*texts: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in particulars_of(lines(*texts)):
        found.setdefault(one.name, []).append(one.value)
    return found


def test_type_parties_and_date_of_an_english_contract_with_their_lines() -> None:
    found = particulars_of(
        lines(
            "MASTER SERVICES AGREEMENT",
            "This Agreement is made as of 1 March 2026 between Acme Corp., a Delaware corporation",
            "(“Client”), and Beta Holdings LLC, a Texas company (“Supplier”). The Supplier and Client agree.",
        )
    )
    assert found == (
        Particular("document_type", "contract", 1, 1),
        Particular("effective_date", "2026-03-01", 1, 2),
        Particular("party", "Acme Corp.", 1, 2),
        Particular("party", "Beta Holdings LLC", 1, 3),
    )


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            ["AMENDMENT NO. 2 TO THE LICENSE AGREEMENT", "Client: Acme Inc.", "Licensor: Gamma S.L."],
            {"document_type": ["amendment"], "party": ["Acme Inc", "Gamma S.L"]},
        ),
        (
            ["CONTRATO DE SERVICIOS", "Con fecha 3 de mayo de 2025, entre Alfa S.A. y Beta S.L., acuerdan:"],
            {
                "document_type": ["contract"],
                "effective_date": ["2025-05-03"],
                "party": ["Alfa S.A.", "Beta S.L."],
            },
        ),
        (["Access records policy", "It applies to all systems."], {"document_type": ["policy"]}),
        (["Minutes", "The difference between cost and price was 5."], {}),
        ([], {}),
    ],
)
def test_what_is_read_and_what_is_not(texts: list[str], expected: dict[str, list[str]]) -> None:
    assert read(*texts) == expected


def test_hidden_lines_and_furniture_say_nothing() -> None:
    shown, hidden = lines("Policy", "Client: Nobody Ltd")
    assert [one.name for one in particulars_of([shown, hidden.model_copy(update={"is_hidden": True})])] == [
        "document_type"
    ]


@pytest.mark.parametrize("text", ["between A " + "A and " * 20_000, "A" * 200_000, "( ; and " * 30_000])
def test_a_hostile_opening_costs_no_time(text: str) -> None:
    started = time.process_time()
    particulars_of(lines(*[text] * 60))
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("opening", "parties"),
    [
        (
            ("This Agreement is made by and among the following parties: (a) Ada Lovelace, Inc. (“Ada”), and",
             "(b) the Babbage Company, of London."),
            ["Ada Lovelace, Inc.", "Babbage Company"],
        ),
        (("BETWEEN:", "GLEN GOLD LTD., a company incorporated here", "AND:", "NORTH COPPER CORPORATION, a company"),
         ["GLEN GOLD LTD.", "NORTH COPPER CORPORATION"]),
        (("This agreement between Acme GmbH Hauptstrasse 1 Ulm and Beta  Health Ltd. having its seat in Cork"),
         ["Acme GmbH", "Beta Health Ltd."]),
        (("by and between Commercial Inquiries LLC, located in Cohoes, and ____________ (“Recipient”)",),
         ["Commercial Inquiries LLC"]),
        (("BY AND BETWEEN", "TABLE OF CONTENTS", "1. Definitions 4", "2. Sale and Purchase 6"), []),
    ],
)  # fmt: skip
def test_parties_stand_in_lists_before_addresses_and_in_forms(
    opening: tuple[str, ...] | str, parties: list[str]
) -> None:
    texts = (opening,) if isinstance(opening, str) else opening
    assert read("SERVICES AGREEMENT", *texts).get("party", []) == parties
