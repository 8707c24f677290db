"""The settings of outbox tables become their form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.envelope.debezium.outbox_form import OutboxForm

if TYPE_CHECKING:
    from connector.settings.routing import OutboxSettings


def outbox_form(settings: OutboxSettings) -> OutboxForm | None:
    """Return the form of outbox tables; None if there are none."""
    if not settings.tables:
        return None
    return OutboxForm(
        tuple(settings.tables),
        settings.id,
        settings.key,
        settings.payload,
        settings.route_by,
        settings.topic_name,
        tuple(map(_header, settings.headers)),
        settings.key_format,
        settings.value_format,
        stops_at_updates=settings.on_update == "stop",
        expands_payload=settings.expand_payload,
    )


def _header(text: str) -> tuple[str, str]:
    column, _, name = text.partition(":")
    return column, name or column
