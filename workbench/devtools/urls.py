"""The addresses of the product, and beside them what developers look at."""

from __future__ import annotations

from django.urls import path

from workbench.urls import handler400, handler403, handler404, handler500
from workbench.urls import urlpatterns as product

from . import views

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [*product, path("styleguide/", views.styleguide, name="styleguide")]
