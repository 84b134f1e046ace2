"""A passkey in a real browser: added, asked for at the door, and the only thing that opens it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Visit
from tests.product import PASSWORD, RunningProduct

EMAIL = "keys@demo.example"
#: An authenticator built into the machine, whose owner has just touched it.
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def test_a_passkey_is_added_and_opens_the_door(product: RunningProduct, visit: Visit) -> None:
    made = product.manage("create_user", EMAIL, "--collection", "demo", "--role", "annotator")
    assert made.returncode == 0, made.stderr
    visitor = visit(None)
    # Keys belong to a name, never to an address in figures.
    visitor.address = product.address.replace("127.0.0.1", "localhost")
    page = visitor.page
    keys = page.context.new_cdp_session(page)
    keys.send("WebAuthn.enable")
    key = keys.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})["authenticatorId"]

    password_given(visitor.go("/accounts/login/"))
    expect(page.get_by_role("heading", name="Good day")).to_be_visible()
    visitor.go("/accounts/2fa/webauthn/add/")
    assert "/reauthenticate/" in page.url, "a new key asks who is at the browser"
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Name").fill("This laptop")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("Security key added")).to_be_visible()
    expect(page.get_by_role("heading", name="Recovery Codes")).to_be_visible()
    visitor.go("/accounts/2fa/webauthn/")
    expect(page.get_by_text("This laptop")).to_be_visible()
    (known,) = keys.send("WebAuthn.getCredentials", {"authenticatorId": key})["credentials"]
    assert known["rpId"] == "localhost"

    page.context.clear_cookies()
    password_given(visitor.go("/accounts/login/"))
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    visitor.go("/")
    assert "/accounts/" in page.url, "the password alone opens nothing"
    visitor.go("/accounts/2fa/authenticate/")
    page.get_by_role("button", name="Use a key instead").click()
    expect(page.get_by_role("heading", name="Good day")).to_be_visible()


def password_given(page: Page) -> None:
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
