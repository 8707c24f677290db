"""C110: the configuration: passwords and tokens."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_CONFIGURATION = End.CONFIGURATION

PASSWORD_FILE = ErrorCode(
    "C111",
    "{key} {path}: {said}",
    "name a file that this user may read",
    end=_CONFIGURATION,
    cause="The password is read from a file, which does not exist or is not readable.",
    example={
        "key": "source.password_file",
        "path": "/run/secrets/mysql",
        "said": "No such file or directory",
    },
)
READABLE_BY_ALL = ErrorCode(
    "C112",
    "{path}: every user of this machine may read {keys} there",
    "chmod o-r {path}",
    end=End.LOGGED,
    cause="The file holds a password, and its mode lets every user of the machine read it.",
    example={"path": "connector.toml", "keys": ["source.password"]},
)
PASSWORD_COMMAND = ErrorCode(
    "C113",
    "{key}: {program}: {said}",
    "name a program that this user may start, with its path; there is no shell",
    end=_CONFIGURATION,
    cause="The password is written by a program, which does not exist or cannot be started.",
    example={
        "key": "source.password_command",
        "program": "aws",
        "said": "No such file or directory",
    },
)
PASSWORD_COMMAND_FAILED = ErrorCode(
    "C114",
    "{key}: {program} ended with exit code {exit_code}",
    "call it as this user, with this environment: what it says is not shown here, because it may "
    "be the password",
    end=End.RETRIED,
    cause="The program that writes the password ended with an error.",
    example={"key": "source.password_command", "program": "aws", "exit_code": 255},
)
PASSWORD_COMMAND_SLOW = ErrorCode(
    "C115",
    "{key}: {program} has not ended within {seconds} s",
    "call it as this user, with this environment; what it starts must end, too, or must not keep "
    "its output open",
    end=End.RETRIED,
    cause="The program that writes the password takes too long, and was killed.",
    example={"key": "source.password_command", "program": "aws", "seconds": 10.0},
)
PASSWORD_COMMAND_EMPTY = ErrorCode(
    "C116",
    "{key}: {program} has written no password",
    "let it write the password to its standard output, as UTF-8",
    end=End.RETRIED,
    cause="The program ended without an error, but its output is empty or not text.",
    example={"key": "source.password_command", "program": "aws"},
)
TWO_PASSWORDS = ErrorCode(
    "C140",
    "give one of password, password_file and password_command",
    end=_CONFIGURATION,
    cause="It would not be clear which of the passwords is meant.",
)
TWO_SASL_PASSWORDS = ErrorCode(
    "C141",
    "give one of sasl_password, sasl_password_file and sasl_password_command",
    end=_CONFIGURATION,
    cause="It would not be clear which of the passwords is meant.",
)
LOGIN = ErrorCode(
    "C142",
    "security_protocol {protocol} takes sasl_mechanism, sasl_username, and one of "
    "sasl_password, sasl_password_file and sasl_password_command",
    end=_CONFIGURATION,
    cause="A login at Kafka needs all of these settings.",
    example={"protocol": "SASL_SSL"},
)
TWO_TOKENS = ErrorCode(
    "C185",
    "give one of token and token_file",
    end=_CONFIGURATION,
    cause="It would not be clear which of the tokens is meant.",
)
SHORT_TOKEN = ErrorCode(
    "C186",
    "{key}: the token has {found} characters, and needs {least} or more",
    "take a random one, such as what `openssl rand -hex 16` prints",
    end=_CONFIGURATION,
    cause="Everybody who has the token may change things, so it must be too long to be guessed.",
    example={"key": "metrics.token", "found": 6, "least": 16},
)
TWO_REGISTRY_PASSWORDS = ErrorCode(
    "C189",
    "registry.password and registry.password_file are both given",
    "keep one of the two",
    end=_CONFIGURATION,
    cause="Only one password is used.",
    example={},
)
