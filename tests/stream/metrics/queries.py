"""The queries of the dashboard and of the rules in `configs/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

CONFIGS = Path(__file__).parents[3] / "configs"
RULE_FILES = [CONFIGS / "prometheus" / name for name in ("recording.yml", "alerts.yml")]
DASHBOARD = CONFIGS / "grafana" / "dashboard.json"


def rules() -> list[dict[str, Any]]:
    """Return the recording and alert rules."""
    texts = [yaml.safe_load(file.read_text("utf-8")) for file in RULE_FILES]
    return [rule for text in texts for group in text["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """Return the panels of the dashboard that have queries."""
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def panel_queries(pipeline: str) -> dict[str, str]:
    """Return the queries of the dashboard for a pattern of pipelines, by panel and legend."""
    return {
        f"{panel['title']}: {target['legendFormat']}": target["expr"].replace("$pipeline", pipeline)
        for panel in panels()
        for target in panel["targets"]
    }
