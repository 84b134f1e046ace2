"""The kinds of source there are: those that ship, and those that the operator adds (SOURCE_KINDS)."""

from __future__ import annotations

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from workbench.errors import WorkbenchError
from workbench.infra.storable import storable

from .bucket import BUCKET
from .folder import FOLDER
from .mailbox import MAILBOX
from .protocol import Kind, Values

_SHIPPED = (FOLDER, BUCKET, MAILBOX)
#: Characters of one setting.
LONGEST = 500


def kinds() -> dict[str, Kind]:
    """Name to kind."""
    added = [import_string(path) for path in settings.SOURCE_KINDS]
    return {kind.name: kind for kind in (*_SHIPPED, *added)}


def kind_named(name: str) -> Kind:
    """The kind of that name. Raises :class:`WorkbenchError` where there is none."""
    kind = kinds().get(name)
    if kind is None:
        raise WorkbenchError(
            _("There is no such kind of source. Choose one of: %(names)s.") % {"names": ", ".join(kinds())},
            code="bad_kind",
        )
    return kind


def settings_checked(kind: Kind, given: Values) -> dict[str, str]:
    """The settings as they are stored. Raises :class:`WorkbenchError` for unknown, missing and refused ones."""
    known = {setting.name: setting for setting in kind.settings}
    if unknown := sorted(set(given) - set(known)):
        raise WorkbenchError(
            _("This kind of source has no setting “%(name)s”.") % {"name": unknown[0]}, code="bad_settings"
        )
    values = {
        name: storable(str(given.get(name) or setting.initial)).strip() for name, setting in known.items()
    }
    for name, value in values.items():
        if known[name].is_required and not value:
            raise WorkbenchError(_("%(name)s is missing.") % {"name": known[name].label}, code="bad_settings")
        if len(value) > LONGEST or not value.isprintable():
            raise WorkbenchError(
                _("%(name)s: at most %(n)d characters, all on one line.")
                % {"name": known[name].label, "n": LONGEST},
                code="bad_settings",
            )
    return kind.check(values)
