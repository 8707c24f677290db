"""K400: the schema registry."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_URL = "http://registry:8081"

AWAY = ErrorCode(
    "K401",
    "schema registry {urls}: no answer: {why}",
    "check {registry.urls}, and that the registry is up",
    end=End.RETRIED,
    cause=(
        "A schema that records need is not registered yet, and no registry answered. Known schemas "
        "need no registry."
    ),
    example={"urls": [_URL], "why": "Connection refused"},
)
FAILED = ErrorCode(
    "K402",
    "schema registry {url}: {why}",
    "look at the log of the registry",
    end=End.RETRIED,
    cause="The registry answered that it cannot do this now.",
    example={"url": _URL, "why": "Error in the backend data store (50001)"},
)
LOGIN = ErrorCode(
    "K403",
    "schema registry {url}: refuses the login: {why}",
    "check {registry.username}, {registry.password_file} and the rights of this user",
    cause="The registry answered with 401 or 403.",
    example={"url": _URL, "why": "HTTP 401 Unauthorized"},
)
NO_REGISTRY = ErrorCode(
    "K404",
    "{url} is not a schema registry: {why}",
    "name the URL below which the registry has /subjects, such as http://registry:8081 or "
    "http://apicurio:8080/apis/ccompat/v7",
    cause="The answer is not one of a registry with the interface of Confluent's.",
    example={"url": _URL, "why": "HTTP 404 Not Found"},
)
