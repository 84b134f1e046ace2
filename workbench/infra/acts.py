"""How a page does an act: here a service's refusal becomes a message, or an error of a form."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest

from workbench.errors import WorkbenchError


@contextmanager
def told(request: HttpRequest, done: str = "") -> Iterator[None]:
    """Does the act in its block, and says that it is done, or why not. What follows the block comes either way."""
    try:
        yield
    except WorkbenchError as error:
        messages.error(request, error.message)
    else:
        if done:
            messages.success(request, done)


@contextmanager
def refused_in(form: BaseForm, field: str | None = None) -> Iterator[None]:
    """Does the act in its block. A refusal is an error of the form, and what follows the block shows the form again."""
    try:
        yield
    except WorkbenchError as error:
        form.add_error(field, error.message)
