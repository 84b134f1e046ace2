from workbench.infra import subscriptions

from . import checks  # noqa: F401  (the checks register themselves)


class OpsConfig(subscriptions.SubscribingConfig):
    name = "workbench.ops"
    label = "ops"
