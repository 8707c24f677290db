"""C350: GTIDs as text."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode

_SET = "it looks like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7"
_FORM = (
    "A GTID set of MySQL has members with commas between them; each is a server's UUID and "
    "intervals of numbers, with an optional tag before intervals."
)

NOT_MARIADB = ErrorCode(
    "C351",
    "{text!r} is not a MariaDB GTID",
    "it looks like 0-1-5",
    cause="A GTID of MariaDB is a domain, a server_id and a sequence number.",
    example={"text": "0-1"},
)
DOMAIN_TWICE = ErrorCode(
    "C352",
    "{text!r} names domain {domain} twice",
    "a position has one GTID of each domain",
    cause="A position of MariaDB is the last GTID of each domain.",
    example={"text": "0-1-5,0-2-7", "domain": 0},
)
NOT_A_UUID = ErrorCode(
    "C353",
    "cannot read GTID set member {member!r}: {text!r} is not a server UUID",
    _SET,
    cause=_FORM,
    example={"member": "3e11:1-5", "text": "3e11"},
)
NO_INTERVAL = ErrorCode(
    "C354",
    "cannot read GTID set member {member!r}: no interval follows the server UUID",
    _SET,
    cause=_FORM,
    example={"member": "3e11fa47-71ca-11e1-9e33-c80aa9429562"},
)
INTERVAL = ErrorCode(
    "C355",
    "cannot read GTID set member {member!r}: {text!r} is not an interval within 1-{last}",
    _SET,
    cause=_FORM,
    example={
        "member": "3e11fa47-71ca-11e1-9e33-c80aa9429562:5-1",
        "text": "5-1",
        "last": (1 << 63) - 2,
    },
)
NEITHER = ErrorCode(
    "C356",
    "cannot read GTID set member {member!r}: {text!r} is neither an interval nor a tag",
    _SET,
    cause=_FORM,
    example={"member": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-", "text": "1-"},
)
NO_INTERVAL_OF_TAG = ErrorCode(
    "C357",
    "cannot read GTID set member {member!r}: no interval follows the tag {tag!r}",
    _SET,
    cause=_FORM,
    example={"member": "3e11fa47-71ca-11e1-9e33-c80aa9429562:audit", "tag": "audit"},
)
