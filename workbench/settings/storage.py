"""Where uploaded originals, exports and models lie: a folder of this machine, or a bucket that every machine reaches.

Set ``S3_BUCKET`` as soon as web and workers run on more than one machine. Nothing in a bucket has a public address:
every byte goes through a view that authorises.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from . import env

S3_BUCKET = env.text("S3_BUCKET")


def file_storage(folder: str) -> dict[str, Any]:
    """The entry of ``STORAGES`` for files: the bucket where one is set, else the folder."""
    if not S3_BUCKET:
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {
                "location": folder,
                "file_permissions_mode": 0o600,
                "directory_permissions_mode": 0o700,
            },
        }
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured(
            "S3_BUCKET needs the extra s3. Install it: pip install 'arbiter-workbench[s3]'"
        )
    return {
        "BACKEND": "workbench.infra.object_storage.ObjectStorage",
        "OPTIONS": {
            "bucket_name": S3_BUCKET,
            "location": env.text("S3_PREFIX").strip("/"),
            # Empty: Amazon's own, and the machine's role instead of a key.
            "endpoint_url": env.text("S3_ENDPOINT_URL") or None,
            "region_name": env.text("S3_REGION") or None,
            "access_key": env.text("S3_ACCESS_KEY_ID") or None,
            "secret_key": env.text("S3_SECRET_ACCESS_KEY") or None,
        },
    }
