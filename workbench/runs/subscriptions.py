"""What runs offer to the apps below: the trail and the vocabulary keep what rests on a run from whom it is hidden."""

from workbench.audit.withholding import withhold
from workbench.synonyms.origins import origins_open

from .restrictions import runs_open_to
from .withholding import events_hidden

withhold(events_hidden)
origins_open(lambda user: runs_open_to(user, "proposed_from__run"))
