"""Headers and content security policy: no inline script, no inline style, nothing from elsewhere."""

from __future__ import annotations

from csp.constants import NONE, SELF

from .sign_on import SIGN_ON_HOSTS

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        # A browser also holds what a form leads on to against this: the button of a provider of sign-ons.
        "form-action": [SELF, *SIGN_ON_HOSTS],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "manifest-src": [SELF],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
