"""Words of MySQL's SQL, each with its place in the text."""

from collections.abc import Sequence
from typing import ClassVar, Final

from sqlglot.dialects.mysql import MySQL
from sqlglot.tokenizer_core import Token, TokenType

from connector.foundation.errors import ConfigError
from connector.rules import rules_errors


class Dialect(MySQL):
    """MySQL whose tokens are all words: by default, some statements are one token each."""

    class Tokenizer(MySQL.Tokenizer):
        """It leaves no statement as a string."""

        COMMANDS: ClassVar = set()


_QUOTED: Final = frozenset({TokenType.STRING, TokenType.IDENTIFIER})


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text. Raises ConfigError for one that has none."""
    try:
        return Dialect().tokenize(text)
    except Exception as error:
        raise ConfigError(rules_errors.NOT_UNDERSTOOD) from error


def word(tokens: Sequence[Token], index: int) -> str:
    """Return a token in capitals; "" for a quoted one, and after the end."""
    if not 0 <= index < len(tokens) or tokens[index].token_type in _QUOTED:
        return ""
    return tokens[index].text.upper()


def words(tokens: Sequence[Token], count: int, start: int = 0) -> tuple[str, ...]:
    """Return so many tokens as `word` does."""
    return tuple(word(tokens, index) for index in range(start, start + count))


def text_of(text: str, tokens: Sequence[Token]) -> str:
    """Return the part of the text from the first to the last token."""
    return text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def split(tokens: Sequence[Token], at: TokenType) -> list[list[Token]]:
    """Return the parts between tokens of that type outside of parentheses, without empty ones."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if token.token_type is at and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]
