"""WSGI entry point."""

from __future__ import annotations

import gc
import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.dev")

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from workbench.infra.metrics.files import forget_the_dead
from workbench.infra.preload import read_pages
from workbench.infra.tracing import start_tracing
from workbench.private import close_home

close_home(settings.WORKBENCH_HOME)
start_tracing()  # before the middlewares are loaded
application = get_wsgi_application()
# This module is loaded once, before the server forks.
forget_the_dead()
read_pages()
# What is loaded here stays for ever: it is neither copied by the first collection of each process nor looked at again,
# and a page of a hundred thousand short-lived objects is not gone through every seven hundred of them.
gc.collect()
gc.freeze()
gc.set_threshold(5_000, 20, 20)
