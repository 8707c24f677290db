"""docs/coverage.md says what the files prove, no more and no less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.columns.column import ColumnType
from connector.binlog.header import EventType
from tests.golden.coverage import (
    PAGE,
    PROJECT,
    UNPROVEN_COLUMNS,
    UNPROVEN_EVENTS,
    current_evidence,
    page,
)
from tests.golden.evidence import kept_evidence, recorded_evidence
from tests.integration.life.servers import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.golden.evidence import Evidence


@pytest.fixture(scope="module")
def evidence() -> list[Evidence]:
    return current_evidence()


def test_the_page_is_what_the_files_prove(evidence: list[Evidence]) -> None:
    assert page(evidence) == PAGE.read_text(encoding="utf-8")


def test_the_page_on_installation_names_the_versions_on_which_a_pipeline_has_lived() -> None:
    page = (PROJECT / "docs" / "installation.md").read_text("utf-8")
    for product in ("MySQL", "MariaDB"):
        *others, last = dict.fromkeys(
            kind.version for kind in KINDS.values() if kind.product == product
        )
        assert f"{product} {', '.join(others)} and {last}" in page


def test_every_event_type_is_proven_or_listed_with_a_reason(evidence: list[Evidence]) -> None:
    proven = {code for e in evidence for code in e.events}
    assert set(EventType) - proven == set(UNPROVEN_EVENTS)


def test_every_column_type_is_proven_or_listed_with_a_reason(evidence: list[Evidence]) -> None:
    proven = {code for e in evidence for code in e.columns}
    assert set(ColumnType) - proven == set(UNPROVEN_COLUMNS)


def test_what_is_kept_of_the_recorded_files_is_what_they_prove(shared_binlogs: Path) -> None:
    assert kept_evidence() == recorded_evidence(shared_binlogs)
