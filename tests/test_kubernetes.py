"""`configs/kubernetes/` and `configs/helm/`, without a cluster: what can be said of the files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from connector.foundation.settings.configuration import load_settings
from stream_jobs.settings import load_settings as load_mirror_settings
from tests import helm_chart

ROOT = Path(__file__).parents[1]


def objects_of(file: str) -> dict[str, dict[str, Any]]:
    """Return the objects of a manifest, by kind."""
    text = (ROOT / "configs/kubernetes" / file).read_text("utf-8")
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


OBJECTS = objects_of("pipeline.yml")
MIRROR = objects_of("mirror.yml")
DEPLOYMENT = OBJECTS["Deployment"]["spec"]
POD = DEPLOYMENT["template"]["spec"]
(CONTAINER,) = POD["containers"]
MIRROR_POD = MIRROR["Deployment"]["spec"]["template"]["spec"]
(MIRROR_CONTAINER,) = MIRROR_POD["containers"]


def schema_of(kind: str) -> dict[str, Any]:
    """Return the schema of Kubernetes, which also refuses keys that it does not have."""
    text = (ROOT / "tests/data/kubernetes/kubernetes.json").read_text("utf-8")
    parts: dict[str, dict[str, Any]] = json.loads(text)["$defs"]
    for part in parts.values():
        if "properties" in part:
            part["additionalProperties"] = False
    return {"$defs": parts, "$ref": f"#/$defs/{kind}"}


def problems(of: dict[str, Any], kind: str) -> list[str]:
    found = Draft202012Validator(schema_of(kind)).iter_errors(of)
    return [f"{problem.json_path}: {problem.message}" for problem in found]


SCHEMAS = {
    "ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "Deployment": "io.k8s.api.apps.v1.Deployment",
}


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("objects", [OBJECTS, MIRROR], ids=["pipeline", "mirror"])
def test_each_object_follows_the_schema_of_kubernetes(
    kind: str, objects: dict[str, dict[str, Any]]
) -> None:
    assert problems(objects[kind], SCHEMAS[kind]) == []
    assert problems(objects[kind] | {"misspelled": 1}, SCHEMAS[kind]) != []


def test_what_the_chart_makes_follows_the_schema_of_kubernetes() -> None:
    # Run `python -m tests.helm_chart` after a change of the chart or of these manifests.
    assert helm_chart.digest() == helm_chart.DIGEST.read_text("utf-8").strip()
    objects = list(yaml.safe_load_all(helm_chart.RENDERED.read_text("utf-8")))
    assert {each["metadata"]["name"] for each in objects} == {
        "binlog-connector-shop", "binlog-connector-mirror-shop", "binlog-connector-mirror-many",
    }  # fmt: skip
    for each in objects:
        assert problems(each, SCHEMAS[each["kind"]]) == []


@pytest.mark.parametrize("objects", [OBJECTS, MIRROR], ids=["pipeline", "mirror"])
def test_there_is_one_pod_at_a_time_which_ends_cleanly(objects: dict[str, dict[str, Any]]) -> None:
    deployment = objects["Deployment"]["spec"]
    assert deployment["replicas"] == 1
    assert deployment["strategy"] == {"type": "Recreate"}
    assert deployment["template"]["spec"]["terminationGracePeriodSeconds"] > 30


@pytest.mark.parametrize(
    ("pod", "container", "written"),
    [
        (POD, CONTAINER, {"/tmp"}),
        (MIRROR_POD, MIRROR_CONTAINER, {"/tmp", "/var/lib/binlog-connector"}),
    ],
    ids=["pipeline", "mirror"],
)
def test_the_pod_has_the_user_of_the_image_and_no_rights(
    pod: dict[str, Any], container: dict[str, Any], written: set[str]
) -> None:
    (uid,) = re.findall(r"--uid (\d+)", (ROOT / "Dockerfile").read_text("utf-8"))
    assert pod["securityContext"]["runAsUser"] == int(uid)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    assert {path for path, each in mounts.items() if not each.get("readOnly")} == written


def test_the_configuration_of_the_mirror_loads(tmp_path: Path) -> None:
    ((name, text),) = MIRROR["ConfigMap"]["data"].items()
    config = tmp_path / name
    config.write_text(text)
    settings = load_mirror_settings(config)
    assert MIRROR_CONTAINER["args"] == ["run", "/etc/binlog-connector"]
    assert "/etc/binlog-connector" in [
        each["mountPath"] for each in MIRROR_CONTAINER["volumeMounts"]
    ]
    (port,) = MIRROR_CONTAINER["ports"]
    assert settings.metrics.listen == f"0.0.0.0:{port['containerPort']}"


def test_the_configuration_loads_and_the_pod_has_what_it_names(tmp_path: Path) -> None:
    (name,) = OBJECTS["ConfigMap"]["data"]
    config = tmp_path / name
    config.write_text(OBJECTS["ConfigMap"]["data"][name])
    settings = load_settings(config)
    assert CONTAINER["args"] == ["run", f"/etc/binlog-connector/{name}"]
    mounts = [each["mountPath"] for each in CONTAINER["volumeMounts"]]
    assert str(settings.source.password_file.parent) in mounts  # type: ignore[union-attr]
    assert "/etc/binlog-connector" in mounts
    (port,) = CONTAINER["ports"]
    assert settings.metrics.listen == f"0.0.0.0:{port['containerPort']}"
    assert DEPLOYMENT["template"]["metadata"]["annotations"]["prometheus.io/port"] == "9400"


@pytest.mark.parametrize("container", [CONTAINER, MIRROR_CONTAINER], ids=["pipeline", "mirror"])
def test_the_probes_ask_what_the_process_answers(container: dict[str, Any]) -> None:
    asked = {
        name: (container[name]["httpGet"]["path"], container[name]["httpGet"]["port"])
        for name in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert asked == {
        "startupProbe": ("/healthz", "metrics"),
        "livenessProbe": ("/healthz", "metrics"),
        "readinessProbe": ("/readyz", "metrics"),
    }
