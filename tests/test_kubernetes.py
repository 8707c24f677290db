"""`configs/kubernetes/`, without a cluster: what can be said of the file itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from connector.foundation.settings.configuration import load_settings

ROOT = Path(__file__).parents[1]
OBJECTS: dict[str, dict[str, Any]] = {
    each["kind"]: each
    for each in yaml.safe_load_all((ROOT / "configs/kubernetes/pipeline.yml").read_text("utf-8"))
}
DEPLOYMENT = OBJECTS["Deployment"]["spec"]
POD = DEPLOYMENT["template"]["spec"]
(CONTAINER,) = POD["containers"]


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


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("ConfigMap", "io.k8s.api.core.v1.ConfigMap"),
        ("Deployment", "io.k8s.api.apps.v1.Deployment"),
    ],
)
def test_each_object_follows_the_schema_of_kubernetes(kind: str, name: str) -> None:
    assert problems(OBJECTS[kind], name) == []
    assert problems(OBJECTS[kind] | {"misspelled": 1}, name) != []


def test_there_is_one_pod_at_a_time_which_ends_cleanly() -> None:
    assert DEPLOYMENT["replicas"] == 1
    assert DEPLOYMENT["strategy"] == {"type": "Recreate"}
    assert POD["terminationGracePeriodSeconds"] > 30


def test_the_pod_has_the_user_of_the_image_and_no_rights() -> None:
    (uid,) = re.findall(r"--uid (\d+)", (ROOT / "Dockerfile").read_text("utf-8"))
    assert POD["securityContext"]["runAsUser"] == int(uid)
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["automountServiceAccountToken"] is False
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    mounts = {each["mountPath"]: each for each in CONTAINER["volumeMounts"]}
    assert [path for path, each in mounts.items() if not each.get("readOnly")] == ["/tmp"]


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


def test_the_probes_ask_what_the_process_answers() -> None:
    asked = {
        name: (CONTAINER[name]["httpGet"]["path"], CONTAINER[name]["httpGet"]["port"])
        for name in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert asked == {
        "startupProbe": ("/healthz", "metrics"),
        "livenessProbe": ("/healthz", "metrics"),
        "readinessProbe": ("/readyz", "metrics"),
    }
