"""The champion serves runs, the model in shadow scores them, and labels of an import are matched with candidates."""

from workbench.labeling.matching import matchers_register
from workbench.runs.events import verdicts_written
from workbench.runs.reranking import reranker_register

from .champion import champion_services, champion_state
from .shadow import shadow_on_commit
from .unmatched import match_by_worker, match_here

reranker_register(state=champion_state, services=champion_services)
matchers_register(here=match_here, by_worker=match_by_worker)
verdicts_written.subscribe(lambda event: shadow_on_commit(run=event.run))
