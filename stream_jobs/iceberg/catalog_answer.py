"""The answer of a REST catalog: whether the request is done, and what the catalog says of it."""

from http import HTTPStatus
from typing import Any, Final, NamedTuple

import orjson

# Of a text for people.
_SAID_MAX: Final = 300
# Of the text of an answer: what refuses a signature may be no JSON.
_TEXT_MAX: Final = 4096
# The kind of exception in the document with which AWS Glue answers a request that it does not know,
# as if it were done. https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html
_NO_OPERATION: Final = "#UnknownOperationException"
_LINE: Final = "\n"


class Answer(NamedTuple):
    """An answer."""

    status: int
    document: Any  # None if it is no JSON
    text: str  # its beginning, as it came

    @classmethod
    def of(cls, status: int, content: bytes) -> "Answer":
        """Return the answer with this status of HTTP and this content."""
        document = _parsed(content)
        if _is_no_operation(document):
            status = HTTPStatus.NOT_IMPLEMENTED
        return cls(status, document, content[:_TEXT_MAX].decode("utf-8", "replace"))

    @property
    def is_done(self) -> bool:
        """Whether the catalog has done what it was asked for."""
        return self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def said(self) -> str:
        """The words of the catalog, and its kind of error."""
        facts = self.document if isinstance(self.document, dict) else {}
        error = facts.get("error")
        message: Any = facts.get("message") or facts.get("Message")
        kind: Any = str(facts.get("__type", self.status)).rpartition("#")[2]
        if isinstance(error, dict):
            message, kind = error.get("message", ""), error.get("type", self.status)
        elif isinstance(error, str):
            message, kind = facts.get("error_description", ""), error
        elif message is None:
            return f"HTTP {self.status}"
        # After its first line, AWS repeats the headers of a request whose signature is wrong.
        return f"{str(message).partition(_LINE)[0]} ({kind})"[:_SAID_MAX]


def _parsed(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def _is_no_operation(document: Any) -> bool:
    output = document.get("Output") if isinstance(document, dict) else None
    return isinstance(output, dict) and str(output.get("__type")).endswith(_NO_OPERATION)
