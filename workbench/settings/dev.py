"""The embedded stack of ``make run`` and of commands: real services, plain HTTP on loopback."""

from __future__ import annotations

from .base import *  # noqa: F403
from .base import INSTALLED_APPS, STORAGES, env

INSTALLED_APPS = [*INSTALLED_APPS, "workbench.devtools"]
ROOT_URLCONF = "workbench.devtools.urls"
#: A model server beside the product on the same machine; another network is named by the variable.
MODEL_NETWORKS = env.networks("MODEL_NETWORKS", "127.0.0.0/8,::1/128")
DEBUG = env.flag("DEBUG", default=False)
SECRET_KEY = env.required("SECRET_KEY", "`make run` and the commands generate one: use them.")
STORAGES["staticfiles"] = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
