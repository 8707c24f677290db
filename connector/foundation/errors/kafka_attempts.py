"""K900: what the connector asked of Kafka; parts of the texts of other codes."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode


def _tried(code: str, what: str, **example: object) -> ErrorCode:
    return ErrorCode(
        code,
        what,
        end=End.LOGGED,
        cause="Other texts say with these words what was tried. The code is never shown alone.",
        example=example,
    )


CREATE_TOPICS = _tried("K901", "create topic {topics}", topics=["shop.progress"])
CREATE_TABLES = _tried("K902", "create topics of tables")
READ_TOPICS = _tried("K903", "read topic {topics}", topics=["shop.progress"])
WRITE_TOPIC = _tried("K904", "write to topic {topic}", topic="shop.erp.orders")
TAKE_OVER = _tried("K905", "take over transactional id {id}", id="binlog-connector.shop.orders")
COMMIT = _tried("K906", "commit a transaction")
ABORT = _tried("K907", "abort a transaction")
LOOK_AT_LIMITS = _tried("K908", "look at its limits")
