from django.apps import AppConfig


class TrailConfig(AppConfig):
    """What people read of the audit trail; the trail itself lies below the apps that write it."""

    name = "workbench.trail"
    label = "trail"
