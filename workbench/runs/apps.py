from workbench.infra import subscriptions


class RunsConfig(subscriptions.SubscribingConfig):
    name = "workbench.runs"
    label = "questions"  # of the tables and migrations, from before the app was named runs
