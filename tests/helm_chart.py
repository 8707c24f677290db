"""What helm makes of `configs/helm/`: `python -m tests.helm_chart [HELM]`, HELM being the program.

It lints the chart, compares what it makes with the manifests of `configs/kubernetes/`, tries values
that are wrong, and writes what `test_kubernetes.py` checks where there is no helm. One way to have
it: `go install helm.sh/helm/v3/cmd/helm@v3.20.2`.
"""

from __future__ import annotations

import copy
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
CHART = ROOT / "configs/helm"
MANIFESTS = ROOT / "configs/kubernetes"
RENDERED = ROOT / "tests/data/kubernetes/chart.yml"
DIGEST = ROOT / "tests/data/kubernetes/chart.sha256"
# A helm that was not made by its makers knows an old Kubernetes.
_CLUSTER = ("--kube-version", "1.33.0")
# What the chart adds to the manifests.
_DIGEST_ANNOTATION = "binlog-connector/configuration"


def digest() -> str:
    """Return the SHA-256 of all files of the chart and of the manifests."""
    whole = hashlib.sha256()
    for file in sorted([*CHART.rglob("*"), *MANIFESTS.rglob("*")]):
        if file.is_file():
            whole.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.hexdigest()


def manifests() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the objects of the manifests, by kind and name."""
    return _by_name("\n---\n".join(file.read_text("utf-8") for file in MANIFESTS.glob("*.yml")))


def values() -> dict[str, Any]:
    """Return values that ask for the objects of the manifests, and for a job with two mirrors."""
    objects = manifests()
    of = {name: each["data"] for (kind, name), each in objects.items() if kind == "ConfigMap"}
    stream = of["binlog-connector-shop"]["connector.toml"]
    mirror = of["binlog-connector-mirror-shop"]["shop.toml"]
    crm = mirror.replace("shop", "crm").replace('"cdc"', '"crm"')
    return {
        "pipelines": {"shop": {"configuration": stream, "secret": "binlog-connector-shop"}},
        "mirrors": {
            "shop": {
                "configurations": {"shop": mirror},
                "environment": "binlog-connector-mirror-shop",
            },
            "many": {
                "configurations": {"shop": mirror.replace("9401", "9402"), "crm": crm},
                "secret": "kafka-login",
                "claim": "lake",
            },
        },
        "image": {"pullSecrets": ["registry"]},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "cdc", "operator": "Exists"}],
        "podAnnotations": {"team": "data"},
    }


def main(helm: str) -> None:
    """Check everything with the program `helm`, then write the files."""
    run(helm, "lint", "--strict", str(CHART))
    text = rendered(helm, values())
    made = _by_name(text)
    for name, expected in manifests().items():
        found = _without_additions(made[name])
        assert found == expected, f"{name}:\n{yaml.safe_dump(found)}"
    assert rendered(helm, {}).strip() == ""
    wrong: dict[str, dict[str, Any]] = {
        'metrics.listen = "0.0.0.0:9400"': {"pipelines": {"shop": {"configuration": "name = 1"}}},
        'metrics.listen = "0.0.0.0:9401"': {
            "mirrors": {"a": {"configurations": {"b": "name = 1"}}}
        },
        "invalid propertyName 'Shop'": {"pipelines": {"Shop": {"configuration": "x"}}},
        "configuration": {"pipelines": {"shop": {}}},
        "misspelled": {"misspelled": {}},
    }
    for words, each in wrong.items():
        done = _template(helm, each)
        assert done.returncode != 0, (words, done.stdout)
        assert words.casefold() in done.stderr.casefold(), done.stderr
    RENDERED.write_text(text, "utf-8")
    DIGEST.write_text(f"{digest()}\n", "utf-8")
    print(f"{len(made)} objects, as the manifests have them; wrote {RENDERED.relative_to(ROOT)}")


def rendered(helm: str, of: dict[str, Any]) -> str:
    """Return what the chart makes of values."""
    done = _template(helm, of)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _template(helm: str, of: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        yaml.safe_dump(of, file)
        file.flush()
        command = (helm, "template", "release", str(CHART), "--values", file.name, *_CLUSTER)
        return subprocess.run(command, capture_output=True, text=True, check=False)


def _by_name(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    objects = [each for each in yaml.safe_load_all(text) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def _without_additions(made: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the chart without what `values` and the chart add to the manifests."""
    made = copy.deepcopy(made)
    if made["kind"] == "Deployment":
        template = made["spec"]["template"]
        for name in (_DIGEST_ANNOTATION, "team"):
            del template["metadata"]["annotations"][name]
        pod = template["spec"]
        for key in ("imagePullSecrets", "nodeSelector", "tolerations"):
            del pod[key]
        for container in pod["containers"]:
            del container["imagePullPolicy"]
    return made


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["helm"])
