"""What is in `docker-compose.yml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import yaml

ROOT = Path(__file__).parents[1]


CONFIGS = ROOT / "configs" / "docker"


def read_compose() -> dict[str, Any]:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml.safe_load(text))


COMPOSE = read_compose()


SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
