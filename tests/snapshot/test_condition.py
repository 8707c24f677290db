"""A condition of a user chooses rows, and does nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from connector.errors import ConfigError, conditions
from connector.snapshot.condition import CHARACTERS_MAX, DEPTH_MAX, Condition
from connector.snapshot.condition_sql import FUNCTIONS
from tests.errors.texts import text_of

COLUMNS = ("id", "date", "Name", "and", "v", "été", "a`b")


def printed(where: str) -> str:
    return Condition.parse(where).sql("shop", "orders", COLUMNS)


def refusal(where: str) -> str:
    with pytest.raises(ConfigError) as raised:
        printed(where)
    return raised.value.text


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


COMMENT = "holds a comment"
TWO_WAYS = "can be read in two ways: put parentheses around its parts"
NOT_ONE = "is not one expression: look at its operators and parentheses"
OTHER = "holds something else than comparisons of columns and constants"


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (
            "1=0) UNION ALL SELECT 777, (SELECT v FROM erp.notfollowed) -- ",
            "closes a parenthesis that is not open",
        ),
        ("1=1) FOR UPDATE -- ", "closes a parenthesis that is not open"),
        ("id IN (SELECT 1)", NOT_ONE),
        ("(SELECT 1)", NOT_ONE),
        ("EXISTS (SELECT 1)", "calls EXISTS, which is none of the functions that it may"),
        ("SLEEP(5)", "calls SLEEP, which is none of the functions that it may"),
        ("id = Get_Lock('a', 9)", "calls Get_Lock, which is none of the functions that it may"),
        ("LOAD_FILE('/etc/passwd')", "calls LOAD_FILE, which is none of the functions that it may"),
        ("v = `sleep`(5)", "calls `sleep`, which is none of the functions that it may"),
        ("sys.lower(v)", OTHER),
        ("shop.orders.lower(v)", OTHER),
        ("v = USER()", "calls USER, which is none of the functions that it may"),
        ("v > NOW()", "calls NOW, which is none of the functions that it may"),
        ("v = CURRENT_USER", "names a column that shop.orders does not have, CURRENT_USER"),
        ("v = (VALUES(id))", "calls VALUES, which is none of the functions that it may"),
        ("COUNT(*) > 1", "calls COUNT, which is none of the functions that it may"),
        ("LOWER(*)", OTHER),
        ("LOWER()", OTHER),
        ("LOWER(v) OVER ()", "calls OVER, which is none of the functions that it may"),
        ("LOWER(DISTINCT v)", NOT_ONE),
        ("CASE WHEN v THEN 1 END", NOT_ONE),
        ("CAST(v AS CHAR)", "calls CAST, which is none of the functions that it may"),
        ("v = 1 -- and more", COMMENT),
        ("v = 1 # and more", COMMENT),
        ("v /* */ = 1", COMMENT),
        ("/**/ v = 1", COMMENT),
        ("v = 1 /**/", COMMENT),
        ("v /*!50000 OR 1=1 */ = 1", COMMENT),
        ("v /*M!100100 OR 1=1 */ = 1", COMMENT),
        ("v /*+ MAX_EXECUTION_TIME(1) */ = 1", COMMENT),
        ("v = @x", "holds @"),
        ("v = @@version", "holds @@"),
        ("v := 1", "holds :="),
        ("v = ?", "holds ?"),
        ("v = :x", "holds :"),
        ("v = 1; DROP TABLE orders", "holds ;"),
        ("{fn NOW()}", "holds {"),
        ("v->'$.a' = 1", "holds ->"),
        ("v || 'x'", "holds ||"),
        ("!v", "holds !"),
        ("~v", "holds ~"),
        ("v << 2", OTHER),
        ("v = 1 INTO OUTFILE '/tmp/x'", NOT_ONE),
        ("v = 1 LIMIT 1", NOT_ONE),
        ("v = 1 ORDER BY v", "holds ORDER BY"),
        ("v = 1 LOCK IN SHARE MODE", NOT_ONE),
        ("v = 1 PROCEDURE ANALYSE()", "calls ANALYSE, which is none of the functions that it may"),
        ("v REGEXP 'x'", NOT_ONE),
        ("v COLLATE utf8mb4_bin = 'x'", NOT_ONE),
        ("BINARY v = 1", NOT_ONE),
        ("MATCH (v) AGAINST ('x')", "calls MATCH, which is none of the functions that it may"),
        ("INTERVAL 1 DAY + date", NOT_ONE),
        ("v = 1 AS x", NOT_ONE),
        ("v x", NOT_ONE),
        ("v = 1, 2", NOT_ONE),
        ("(v, id) = (1, 2)", OTHER),
        ("v IN ()", OTHER),
        ("*", OTHER),
        ("orders.*", "holds * where a column should be"),
        ("v = 'a' 'b'", OTHER),
        ("_utf8mb4'x' = v", NOT_ONE),
        ("N'x' = v", "holds N'x'"),
        ("v = b'1'", "holds b'1'"),
        ("v = X'abc'", OTHER),
        ("v = 0xab", "holds 0xab: write X'…'"),
        ("v = 1_000", "holds 1_000"),
        ("v == 1", "holds =="),
        ("v IS UNKNOWN", "compares by IS with something else than NULL, TRUE and FALSE"),
        ("v LIKE 'x' ESCAPE 'xy'", "has an ESCAPE that is not one plain character after LIKE"),
        ("v = '\\'", "holds a backslash: write X'5C' instead"),
        ("v = '\x00'", "holds a control character"),
        ("v =\N{NO-BREAK SPACE}1", "holds a control character"),
        ("v = '\ud800'", "holds a control character"),
        ("v = 'x", "cannot be read: look at its quotes"),
        ("v = `x", "cannot be read: look at its quotes"),
        ("v = (1", NOT_ONE),
        ("", "is empty"),
        ("  ", "is empty"),
        ("absent = 1", "names a column that shop.orders does not have, absent"),
        ("other.v = 1", "names another table than shop.orders"),
        ("erp.orders.v = 1", "names another table than shop.orders"),
        ("a.b.c.d = 1", OTHER),
        ("v | 1 = 1 | 2 & 3 between 1 and 2 between 3 and 4", TWO_WAYS),
        ("v IS NOT TRUE <=> NULL", TWO_WAYS),
        ("v = 1 IS TRUE", TWO_WAYS),
        ("5 + NOT v", TWO_WAYS),
    ],
)
def test_what_is_no_condition_is_refused(where: str, why: str) -> None:
    assert refusal(where) == f"the condition {why}; docs/snapshot.md says what one may hold"


@pytest.mark.parametrize(
    "where",
    [
        "(" * 2000,
        "(" * (DEPTH_MAX + 1) + "v" + ")" * (DEPTH_MAX + 1),
        "NOT " * 1000 + "v",
        "- " * 2000 + "v",
        "LOWER(" * 500 + "v" + ")" * 500,
        "(NOT (- (" * 5 + "v" + ")))" * 5,
    ],
)
def test_depth_is_bounded(where: str) -> None:
    why = f"is nested more than {DEPTH_MAX} deep"
    assert refusal(where) == f"the condition {why}; docs/snapshot.md says what one may hold"


@pytest.mark.parametrize(
    "piece", ["CASE ", "v BETWEEN ", "v IN ", "v LIKE ", "v IS NOT ", "v.", "1.", "SELECT "]
)
def test_what_repeats_is_refused_in_words(piece: str) -> None:
    assert refusal(piece * (4000 // len(piece))).startswith("the condition ")


def test_length_is_bounded() -> None:
    assert refusal("v" * 5000) == text_of(conditions.LENGTH, length=5000, limit=CHARACTERS_MAX)


def test_a_long_condition_is_no_deep_one() -> None:
    ids = ", ".join(str(number) for number in range(800))
    assert printed(f"id IN ({ids})") == f"(`id` IN ({ids}))"
    assert printed(" OR ".join(["v = 1"] * 400)).count("OR") == 399
    assert printed("(" * DEPTH_MAX + "v" + ")" * DEPTH_MAX) == "`v`"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_each_function_is_printed_as_it_is(name: str) -> None:
    assert printed(f"{name.lower()}(v, 1, 'x')") == f"{name}(`v`, 1, 'x')"


def test_the_page_names_each_function() -> None:
    page = Path(__file__).parents[2] / "docs" / "snapshot.md"
    (line,) = [line for line in page.read_text().splitlines() if line.startswith("| functions")]
    assert set(line.split("|")[2].split()) == FUNCTIONS
