"""The Helm chart, as Helm rendered it when it was last changed (`make deploy-test` renders it again)."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
import yaml

from tests.deploy.chart import CASES, CHART, REFUSED, fingerprint, kept
from tests.workbench.stack.test_containers import SERVICES, interpolated, words
from workbench.stack import project

VALUES = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text("utf-8"))
SECRETS = {"SECRET_KEY", "DATABASE_URL", "BROKER_URL", "OPENAI_API_KEY"}

cases = pytest.mark.parametrize("case", sorted(CASES))


def resources(case: str) -> dict[tuple[str, str], Any]:
    found = filter(None, yaml.safe_load_all(kept(case)))
    return {(one["kind"], one["metadata"]["name"].removeprefix("wb-")): one for one in found}


def pods(case: str) -> dict[str, Any]:
    """The pod of each part."""
    found = {}
    for (kind, name), one in resources(case).items():
        spec = one["spec"]["jobTemplate"]["spec"] if kind == "CronJob" else one["spec"]
        if "template" in spec:
            found[name] = spec["template"]["spec"]
    return found


def merged(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {**base, **{key: merged(base.get(key), value) for key, value in over.items()}}


@cases
def test_it_was_rendered_after_it_was_last_changed(case: str) -> None:
    assert fingerprint() in kept(case).splitlines()[0], "make deploy-test, then python -m tests.deploy"


@cases
def test_the_parts_are_those_of_the_containers(case: str) -> None:
    parts = {"web", "beat", "migrate", *(name for name in SERVICES if name.startswith("worker-"))}
    assert set(pods(case)) - {"backup"} == parts
    queues = f"{project.QUESTION_QUEUES},{project.OTHER_QUEUES}".split(",")
    assert set(VALUES["workers"]) == set(queues)
    assert resources(case)["Deployment", "beat"]["spec"]["replicas"] == 1


@cases
def test_each_part_starts_what_its_container_starts(case: str) -> None:
    for name, pod in pods(case).items():
        (container,) = pod["containers"]
        if name != "backup":
            assert container["command"] == interpolated(words(name), {}), name


@cases
def test_a_pod_may_do_little(case: str) -> None:
    for name, pod in pods(case).items():
        (container,) = pod["containers"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert str(pod["securityContext"]["runAsUser"]) == SERVICES["web"]["user"].split(":")[0]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name


@cases
def test_secrets_are_files_and_only_the_migration_knows_the_owner(case: str) -> None:
    for name, pod in pods(case).items():
        (container,) = pod["containers"]
        variables = {one["name"]: one["value"] for one in container["env"]}
        (secret,) = (volume["secret"] for volume in pod["volumes"] if "secret" in volume)
        mounted = {f"/run/secrets/{item['path']}" for item in secret["items"]}
        named = {value for key, value in variables.items() if key.endswith("_FILE")}
        assert named == mounted, name
        assert {key.removesuffix("_FILE") for key in variables if key.endswith("_FILE")} == SECRETS
        assert not SECRETS & set(variables)
        assert ("/run/secrets/database_owner_url" in mounted) == (name == "migrate")
        assert ("/run/secrets/database_url" in mounted) == (name != "migrate")


@cases
def test_every_setting_is_one_that_is_read(case: str) -> None:
    from tests.test_docs import settings_read

    for pod in pods(case).values():
        given = [one["name"].removesuffix("_FILE") for one in pod["containers"][0]["env"]]
        assert set(given) <= settings_read() | {"DJANGO_SETTINGS_MODULE"}
        assert len(given) == len(set(given))


def test_files_lie_in_a_volume_or_in_a_bucket() -> None:
    for case, kept_in in (("volume", "WORKBENCH_MEDIA_ROOT"), ("bucket", "S3_BUCKET")):
        for name, pod in pods(case).items():
            (container,) = pod["containers"]
            variables = {one["name"]: one["value"] for one in container["env"]}
            mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
            assert kept_in in variables
            volume = "/var/lib/workbench/files"
            assert (volume in mounts) == (case == "volume" and name != "migrate")
    assert ("PersistentVolumeClaim", "files") in resources("volume")
    assert ("PersistentVolumeClaim", "files") not in resources("bucket")


@cases
def test_what_is_mounted_is_there(case: str) -> None:
    for name, pod in pods(case).items():
        mounts = [mount["name"] for mount in pod["containers"][0]["volumeMounts"]]
        assert sorted(mounts) == sorted(volume["name"] for volume in pod["volumes"]), name


@cases
def test_services_choose_their_pods_and_probes_ask_as_the_proxy_does(case: str) -> None:
    found = resources(case)
    web = found["Deployment", "web"]["spec"]
    assert (
        found["Service", "web"]["spec"]["selector"].items() <= web["template"]["metadata"]["labels"].items()
    )
    (container,) = web["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        headers = {one["name"]: one["value"] for one in asked["httpHeaders"]}
        assert headers == {"Host": CASES[case]["host"], "X-Forwarded-Proto": "https"}
        assert asked["path"] in {"/healthz", "/readyz"}
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_a_backup_is_made_in_the_order_of_the_manual() -> None:
    script = pods("volume")["backup"]["containers"][0]["command"][-1]
    assert re.findall(r"manage\.py (\w+)", script) == ["anchor_audit", "backup", "verify_audit"]
    assert "backup" not in pods("bucket")


@cases
def test_the_schema_takes_these_values(case: str) -> None:
    jsonschema.validate(merged(VALUES, CASES[case]), SCHEMA)


@pytest.mark.parametrize(("values", "named"), REFUSED)
def test_the_schema_refuses_values_that_mean_nothing(values: dict[str, Any], named: str) -> None:
    with pytest.raises(jsonschema.ValidationError) as refused:
        jsonschema.validate(merged(VALUES, values), SCHEMA)
    assert named in f"{refused.value.message} {list(refused.value.absolute_path)}"


def test_every_value_is_described_by_the_schema() -> None:
    assert set(VALUES) == set(SCHEMA["properties"]) - {"global"}
