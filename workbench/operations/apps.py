from workbench.infra import subscriptions

from . import checks  # noqa: F401  (the checks register themselves)


class OperationsConfig(subscriptions.SubscribingConfig):
    name = "workbench.operations"
    label = "ops"  # of checks and addresses, from before the app was named operations
