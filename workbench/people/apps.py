from workbench.infra import subscriptions


class PeopleConfig(subscriptions.SubscribingConfig):
    """What is done with accounts, and by people with their own; the accounts themselves lie below everything."""

    name = "workbench.people"
    label = "people"
