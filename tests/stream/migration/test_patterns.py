"""Regular expressions of Debezium and their patterns match the same names, or there are none."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import product

import pytest

from connector.stream.migration.patterns import NoPattern, patterns, split_list

PARTS = ("a", "b", "ab", "shop", "t", "t1", "t12", "xt", "shopt", "orders", "a*", "t!")
NAMES = {
    1: PARTS,
    2: tuple(".".join(each) for each in product(PARTS, repeat=2)),
    3: tuple(".".join(each) for each in product(PARTS[:7], repeat=3)),
}


@pytest.mark.parametrize(
    ("expression", "parts", "found"),
    [
        ("shop", 1, ["shop"]),
        ("sho.", 1, ["sho?"]),
        ("shop.orders", 2, ["shop.orders"]),
        (r"shop\.orders", 2, ["shop.orders"]),
        (r"^shop\.orders$", 2, ["shop.orders"]),
        (r"shop\..*", 2, ["shop.*"]),
        (r"shop\..+", 2, ["shop.?*"]),
        (r"shop\..*?", 2, ["shop.*"]),
        ("shop.*", 2, ["shop*.*"]),
        (".*", 2, ["*.*"]),
        ("(.*).t", 2, ["*.*?t", "*.t"]),
        (r"(a|shop)\.t[0-9]", 2, ["a.t[0-9]", "shop.t[0-9]"]),
        (r"a\.t\d{2}|b\.t", 2, ["a.t[0-9][0-9]", "b.t"]),
        (r"(?:a|b)\.t1?", 2, ["a.t1", "a.t", "b.t1", "b.t"]),
        (r"shop\.t[^1]", 2, ["shop.t[!1]"]),
        (r"shop\.t[1!]", 2, ["shop.t[1!]"]),
        (r"shop\.t[^!1]", 2, ["shop.t[!!1]"]),
        (r"a\.a\*", 2, ["a.a[*]"]),
        (r".*\.b", 3, ["*.*.b"]),
        (r".*b", 3, ["*.*.*b"]),
        (r"a\.b\.t", 3, ["a.b.t"]),
    ],
)
def test_patterns_match_the_names_that_the_expression_matches(
    expression: str, parts: int, found: list[str]
) -> None:
    assert patterns(expression, parts) == found
    for name in NAMES[parts]:
        # The names have no dots of their own, so each part matches alone.
        matched = any(
            all(map(fnmatchcase, name.split("."), pattern.split("."))) for pattern in found
        )
        assert matched is bool(re.fullmatch(expression, name)), name


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (r"shop\.(?!tmp).*", "(?!"),
        (r"shop\.[a-z]+", "+ after anything but a dot"),
        (r"shop\.(ab)*", "* after anything but a dot"),
        (r"shop\.t.*+", "*+"),
        (r"shop\.(a|b){2}", "{2}"),
        (r"shop\.t{99}", "{99}"),
        (r"shop\.t{1,2}", "{1,2}"),
        (r"shop\.\p{L}", r"\p"),
        (r"shop\.[a-z&&[^b]]", "[a-z&&[^b]]"),
        (r"shop\.[!a]", "[!a]"),
        (r"shop\.(a", "(a"),
        (r"shop\.a)", ")"),
        (r"a\.b\.c", "it matches no name"),
        ("shop", "it matches no name"),
        (r"(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)\.t", "more than 200 patterns"),
        (r"shop\.t\d?\d?\d?\d?\d?\d?\d?\d?", "more than 200 patterns"),
    ],
)
def test_what_patterns_cannot_say_is_refused(expression: str, why: str) -> None:
    with pytest.raises(NoPattern) as caught:
        patterns(expression, 2)
    assert str(caught.value) == why


def test_a_list_is_divided_where_its_separator_is_not_escaped() -> None:
    assert split_list(r" a.b , c\,d,,e ") == ["a.b", "c,d", "e"]
    assert split_list("a.b:x,y; c.d:z", ";") == ["a.b:x,y", "c.d:z"]
