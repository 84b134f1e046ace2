"""What the vocabulary offers to the apps below: the trail keeps proposals from whom their origin is hidden."""

from workbench.audit.withholding import withhold

from .selectors import events_hidden

withhold(events_hidden)
