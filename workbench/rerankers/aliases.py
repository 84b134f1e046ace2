"""The names that say which model serves and which one scores beside it, and every move of them, on record."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.audit.services import audit_record

from .models import AliasMove, AliasName, GateDecision, ModelAlias, ModelVersion, MoveKind


def alias_version(name: str = AliasName.CHAMPION) -> ModelVersion | None:
    alias = ModelAlias.objects.select_related("version").filter(name=name).first()
    return alias.version if alias else None


def aliases_current() -> dict[str, ModelVersion]:
    """The versions that champion and shadow name, by alias."""
    return {alias.name: alias.version for alias in ModelAlias.objects.select_related("version")}


def champion_deploy(*, actor: User, decision: GateDecision) -> None:
    """Moves the alias to the challenger that the gate deployed; call it in the transaction of the decision."""
    if decision.outcome != "deployed":
        raise ValueError(f"decision {decision.pk} deploys nothing")
    version = decision.challenger
    ModelVersion.objects.filter(pk=version.pk, passed_at__isnull=True).update(passed_at=Now())
    alias_move(AliasName.CHAMPION, version=version, kind=MoveKind.DEPLOYED, actor=actor, decision=decision)


def champion_seed(*, actor: User, version: ModelVersion) -> bool:
    """Makes the shipped model the champion of an installation that has none; False where one serves already."""
    with transaction.atomic():
        advisory_lock(LockSpace.MODEL_ALIAS)
        if ModelAlias.objects.filter(name=AliasName.CHAMPION).exists():
            return False
        alias_move(AliasName.CHAMPION, version=version, kind=MoveKind.SEEDED, actor=actor)
    return True


def alias_move(
    alias: str,
    *,
    version: ModelVersion,
    kind: str,
    actor: User,
    decision: GateDecision | None = None,
    reason: str = "",
) -> None:
    before = alias_version(alias)
    ModelAlias.objects.update_or_create(name=alias, defaults={"version": version, "moved_at": Now()})
    move_record(
        alias, version=version, before=before, kind=kind, actor=actor, decision=decision, reason=reason
    )


def move_record(
    alias: str,
    *,
    version: ModelVersion,
    before: ModelVersion | None,
    kind: str,
    actor: User,
    decision: GateDecision | None = None,
    reason: str = "",
) -> None:
    move = AliasMove.objects.create(
        alias=alias,
        kind=kind,
        version=version,
        before=before,
        decision=decision,
        moved_by=actor,
        reason=reason,
    )
    audit_record(
        actor=actor,
        action=Action(f"model.{kind}"),
        obj=version,
        before={"version": before.name if before else None},
        after={
            "alias": str(alias),
            "version": version.name,
            "digest": version.digest,
            "decision": decision.pk if decision else None,
            "move": move.pk,
        },
        reason=reason,
    )
