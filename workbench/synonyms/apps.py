from workbench.infra import subscriptions


class SynonymsConfig(subscriptions.SubscribingConfig):
    name = "workbench.synonyms"
    label = "vocabulary"  # of the tables and migrations, from before the app was named synonyms
