"""Documents of two collections to search in."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document
from workbench.documents.models import Document

CONTRACT = {
    "1 Parties": ["Acme sells to Bolt.", "The contract number is AC-2031."],
    "2 Payment": [
        "Invoices are paid by bank transfer.",
        "Payment is due within thirty days of receipt.",
        "Late payment bears interest.",
    ],
}
SPANISH = {"1 Pagos": ["Las facturas se pagan en treinta días.", "La retención de datos dura diez años."]}
SECRET = {"1 Payment": ["Payment to the whistleblower is secret."]}


@pytest.fixture
def papers(cast: Cast, here: None) -> dict[str, Document]:
    """A policy, a contract and a Spanish one in alpha; one document in beta."""

    def made(name: str, text: dict[str, list[str]] | None = None, **facts: object) -> Document:
        home = cast.beta if name == "secret.txt" else cast.alpha
        more = {} if text is None else {"text": text}
        document = make_document(collection=home, owner=cast.admin, name=name, **more)
        Document.objects.filter(pk=document.pk).update(title=name.removesuffix(".txt").title(), **facts)
        document.refresh_from_db()
        return document

    return {
        "policy": made("policy.txt", document_type="policy", effective_date=dt.date(2020, 1, 1)),
        "contract": made(
            "contract.txt",
            CONTRACT,
            document_type="Contract",
            effective_date=dt.date(2024, 5, 1),
            tags=["cloud", "2024"],
        ),
        "spanish": made("pagos.txt", SPANISH, language="es"),
        "secret": made("secret.txt", SECRET),
    }
