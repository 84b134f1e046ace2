from workbench.infra import subscriptions


class ReviewConfig(subscriptions.SubscribingConfig):
    name = "workbench.review"
    label = "review"
