"""A condition of a user chooses rows, and does nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot.expressions import Anonymous, Literal

from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from connector.stream.source import CONDITION_CHARACTERS_MAX, CONDITION_DEPTH_MAX, table_errors
from connector.stream.source.condition_parser import Condition
from connector.stream.source.condition_printer import FUNCTIONS, LEVELS_MAX, ConditionPrinter
from tests.foundation.errors.texts import text_of

COLUMNS = ("id", "date", "Name", "and", "v", "été", "a`b")


def printed(where: str) -> str:
    return Condition.parse(where).sql("shop", "orders", COLUMNS)


def refusal(where: str) -> str:
    with pytest.raises(ConfigError) as raised:
        printed(where)
    return raised.value.text


def test_a_condition_does_not_read_a_hidden_column() -> None:
    with pytest.raises(ConfigError) as raised:
        Condition.parse("id = 1 OR ssn LIKE '9%'").sql("shop", "orders", COLUMNS, ["SSN"])
    assert raised.value.text == text_of(
        table_errors.HIDDEN_COLUMN, table="shop.orders", column="ssn"
    )


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("id < 5", "(`id` < 5)"),
        ("ID<5", "(`id` < 5)"),
        ("id = 5--3", "(`id` = (5 - (- 3)))"),
        ("id - 1 - 2 = 3", "((`id` - 1 - 2) = 3)"),
        ("id + 2 * 3 ^ 4 = 1", "((`id` + (2 * (3 ^ 4))) = 1)"),
        ("v & 4 = 4", "((`v` & 4) = 4)"),
        ("id mod 2 = 1 && id div 2 != 3", "(((`id` % 2) = 1) AND ((`id` DIV 2) <> 3))"),
        (
            "date >= '2026-01-01' or v is null and not id in (1, 2)",
            "((`date` >= '2026-01-01') OR ((`v` IS NULL) AND (NOT (`id` IN (1, 2)))))",
        ),
        ("v = 1 or v = 2 or v = 3", "((`v` = 1) OR (`v` = 2) OR (`v` = 3))"),
        ("v between 1 and 2 and id > 0", "((`v` BETWEEN 1 AND 2) AND (`id` > 0))"),
        ("name not like '5|%%' escape '|'", "(`Name` NOT LIKE '5|%%' ESCAPE '|')"),
        ("id xor v and id or v", "((`id` XOR (`v` AND `id`)) OR `v`)"),
        ("(v is not true) <=> null", "((NOT (`v` IS TRUE)) <=> NULL)"),
        ("`and` = 1 xor `a``b` = 2", "((`and` = 1) XOR (`a``b` = 2))"),
        ("orders.id = 1 and shop.orders.id = 2", "((`id` = 1) AND (`id` = 2))"),
        ("lower (Name) = 'x'", "(LOWER(`Name`) = 'x')"),
        ("été = 'é'", "(`été` = _utf8mb4 X'c3a9')"),
        ("name = 'it''s'", "(`Name` = _utf8mb4 X'69742773')"),
        ('name = "it\'s"', "(`Name` = _utf8mb4 X'69742773')"),
        ("v = x'5C' or v = X'5c'", "((`v` = X'5C') OR (`v` = X'5c'))"),
        ("v", "`v`"),
        ("true", "TRUE"),
    ],
)
def test_a_condition_is_printed_anew(where: str, expected: str) -> None:
    assert printed(where) == expected


COMMENT = Message(table_errors.COMMENT, {})
TWO_WAYS = Message(table_errors.TWO_WAYS, {})
NOT_ONE = Message(table_errors.NOT_ONE, {})
OTHER = Message(table_errors.OTHER, {})


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (
            "1=0) UNION ALL SELECT 777, (SELECT v FROM erp.notfollowed) -- ",
            Message(table_errors.CLOSES, {}),
        ),
        ("1=1) FOR UPDATE -- ", Message(table_errors.CLOSES, {})),
        ("id IN (SELECT 1)", NOT_ONE),
        ("(SELECT 1)", NOT_ONE),
        ("EXISTS (SELECT 1)", Message(table_errors.FUNCTION, {"word": "EXISTS"})),
        ("SLEEP(5)", Message(table_errors.FUNCTION, {"word": "SLEEP"})),
        ("id = Get_Lock('a', 9)", Message(table_errors.FUNCTION, {"word": "Get_Lock"})),
        ("LOAD_FILE('/etc/passwd')", Message(table_errors.FUNCTION, {"word": "LOAD_FILE"})),
        ("v = `sleep`(5)", Message(table_errors.FUNCTION, {"word": "`sleep`"})),
        ("sys.lower(v)", OTHER),
        ("shop.orders.lower(v)", OTHER),
        ("v = USER()", Message(table_errors.FUNCTION, {"word": "USER"})),
        ("v > NOW()", Message(table_errors.FUNCTION, {"word": "NOW"})),
        (
            "v = CURRENT_USER",
            Message(
                table_errors.CONDITION_NO_COLUMN, {"table": "shop.orders", "column": "CURRENT_USER"}
            ),
        ),
        ("v = (VALUES(id))", Message(table_errors.FUNCTION, {"word": "VALUES"})),
        ("COUNT(*) > 1", Message(table_errors.FUNCTION, {"word": "COUNT"})),
        ("LOWER(*)", OTHER),
        ("LOWER()", OTHER),
        ("LOWER(v) OVER ()", Message(table_errors.FUNCTION, {"word": "OVER"})),
        ("LOWER(DISTINCT v)", NOT_ONE),
        ("CASE WHEN v THEN 1 END", NOT_ONE),
        ("CAST(v AS CHAR)", Message(table_errors.FUNCTION, {"word": "CAST"})),
        ("v = 1 -- and more", COMMENT),
        ("v = 1 # and more", COMMENT),
        ("v /* */ = 1", COMMENT),
        ("/**/ v = 1", COMMENT),
        ("v = 1 /**/", COMMENT),
        ("v /*!50000 OR 1=1 */ = 1", COMMENT),
        ("v /*M!100100 OR 1=1 */ = 1", COMMENT),
        ("v /*+ MAX_EXECUTION_TIME(1) */ = 1", COMMENT),
        ("v = @x", Message(table_errors.WORD, {"word": "@"})),
        ("v = @@version", Message(table_errors.WORD, {"word": "@@"})),
        ("v := 1", Message(table_errors.WORD, {"word": ":="})),
        ("v = ?", Message(table_errors.WORD, {"word": "?"})),
        ("v = :x", Message(table_errors.WORD, {"word": ":"})),
        ("v = 1; DROP TABLE orders", Message(table_errors.WORD, {"word": ";"})),
        ("{fn NOW()}", Message(table_errors.WORD, {"word": "{"})),
        ("v->'$.a' = 1", Message(table_errors.WORD, {"word": "->"})),
        ("v || 'x'", Message(table_errors.WORD, {"word": "||"})),
        ("!v", Message(table_errors.WORD, {"word": "!"})),
        ("~v", Message(table_errors.WORD, {"word": "~"})),
        ("v << 2", OTHER),
        ("v = 1 INTO OUTFILE '/tmp/x'", NOT_ONE),
        ("v = 1 LIMIT 1", NOT_ONE),
        ("v = 1 ORDER BY v", Message(table_errors.WORD, {"word": "ORDER BY"})),
        ("v = 1 LOCK IN SHARE MODE", NOT_ONE),
        ("v = 1 PROCEDURE ANALYSE()", Message(table_errors.FUNCTION, {"word": "ANALYSE"})),
        ("v REGEXP 'x'", NOT_ONE),
        ("v COLLATE utf8mb4_bin = 'x'", NOT_ONE),
        ("BINARY v = 1", NOT_ONE),
        ("MATCH (v) AGAINST ('x')", Message(table_errors.FUNCTION, {"word": "MATCH"})),
        ("INTERVAL 1 DAY + date", NOT_ONE),
        ("v = 1 AS x", NOT_ONE),
        ("v x", NOT_ONE),
        ("v = 1, 2", NOT_ONE),
        ("(v, id) = (1, 2)", OTHER),
        ("v IN ()", OTHER),
        ("*", OTHER),
        ("orders.*", Message(table_errors.STAR, {})),
        ("v = 'a' 'b'", OTHER),
        ("_utf8mb4'x' = v", NOT_ONE),
        ("N'x' = v", Message(table_errors.WORD, {"word": "N'x'"})),
        ("v = b'1'", Message(table_errors.WORD, {"word": "b'1'"})),
        ("v = X'abc'", OTHER),
        ("v = 0xab", Message(table_errors.HEXADECIMAL, {"word": "0xab"})),
        ("v = 1_000", Message(table_errors.WORD, {"word": "1_000"})),
        ("v == 1", Message(table_errors.WORD, {"word": "=="})),
        ("v IS UNKNOWN", Message(table_errors.IS_OTHER, {})),
        ("v LIKE 'x' ESCAPE 'xy'", Message(table_errors.ESCAPE, {})),
        ("v = '\\'", Message(table_errors.BACKSLASH, {})),
        ("v = '\x00'", Message(table_errors.CONTROL, {})),
        ("v =\N{NO-BREAK SPACE}1", Message(table_errors.CONTROL, {})),
        ("v = '\ud800'", Message(table_errors.CONTROL, {})),
        ("v = 'x", Message(table_errors.QUOTES, {})),
        ("v = `x", Message(table_errors.QUOTES, {})),
        ("v = (1", NOT_ONE),
        ("", Message(table_errors.EMPTY, {})),
        ("  ", Message(table_errors.EMPTY, {})),
        (
            "absent = 1",
            Message(table_errors.CONDITION_NO_COLUMN, {"table": "shop.orders", "column": "absent"}),
        ),
        ("other.v = 1", Message(table_errors.OTHER_TABLE, {"table": "shop.orders"})),
        ("erp.orders.v = 1", Message(table_errors.OTHER_TABLE, {"table": "shop.orders"})),
        ("a.b.c.d = 1", OTHER),
        ("v | 1 = 1 | 2 & 3 between 1 and 2 between 3 and 4", TWO_WAYS),
        ("v IS NOT TRUE <=> NULL", TWO_WAYS),
        ("v = 1 IS TRUE", TWO_WAYS),
        ("5 + NOT v", TWO_WAYS),
    ],
)
def test_what_is_no_condition_is_refused(where: str, why: Message) -> None:
    assert refusal(where) == why.text


@pytest.mark.parametrize(
    "where",
    [
        "(" * 2000,
        "(" * (CONDITION_DEPTH_MAX + 1) + "v" + ")" * (CONDITION_DEPTH_MAX + 1),
        "NOT " * 1000 + "v",
        "- " * 2000 + "v",
        "LOWER(" * 500 + "v" + ")" * 500,
        "(NOT (- (" * 5 + "v" + ")))" * 5,
    ],
)
def test_depth_is_bounded(where: str) -> None:
    assert refusal(where) == text_of(table_errors.DEPTH, limit=CONDITION_DEPTH_MAX)


def test_a_chain_of_predicates_is_bounded() -> None:
    where = "v" + " IS NULL" * (LEVELS_MAX + 1)
    assert refusal(where) == text_of(table_errors.DEPTH, limit=LEVELS_MAX)


@pytest.mark.parametrize(
    "piece", ["CASE ", "v BETWEEN ", "v IN ", "v LIKE ", "v IS NOT ", "v.", "1.", "SELECT "]
)
def test_what_repeats_is_refused_in_words(piece: str) -> None:
    assert refusal(piece * (4000 // len(piece))).startswith("the condition ")


def test_length_is_bounded() -> None:
    assert refusal("v" * 5000) == text_of(
        table_errors.LENGTH, length=5000, limit=CONDITION_CHARACTERS_MAX
    )


def test_a_long_condition_is_no_deep_one() -> None:
    ids = ", ".join(str(number) for number in range(800))
    assert printed(f"id IN ({ids})") == f"(`id` IN ({ids}))"
    assert printed(" OR ".join(["v = 1"] * 400)).count("OR") == 399
    assert printed("(" * CONDITION_DEPTH_MAX + "v" + ")" * CONDITION_DEPTH_MAX) == "`v`"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_each_function_is_printed_as_it_is(name: str) -> None:
    assert printed(f"{name.lower()}(v, 1, 'x')") == f"{name}(`v`, 1, 'x')"


def test_the_page_names_each_function() -> None:
    page = Path(__file__).parents[3] / "docs" / "snapshot.md"
    (line,) = [line for line in page.read_text().splitlines() if line.startswith("| functions")]
    assert set(line.split("|")[2].split()) == FUNCTIONS


def test_a_function_that_the_parser_made_up_is_not_printed() -> None:
    with pytest.raises(ConfigError) as raised:
        ConditionPrinter(None).whole(Anonymous(this="SLEEP", expressions=[Literal.number(1)]))
    assert raised.value.text == text_of(table_errors.UNKNOWN_FUNCTION)
    assert raised.value.text == (
        "the condition calls a function that it may not; docs/snapshot.md says what one may hold"
    )
