"""Forgets stored responses together with the role they were given to."""

from workbench.audit.actions import Action
from workbench.audit.listeners import listen

from .answers import answers_forget

listen([Action.MEMBERSHIP_REVOKED], answers_forget)
