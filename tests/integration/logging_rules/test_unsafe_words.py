"""Functions and variables that make a statement unsafe: the servers warn of just these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pymysql
import pytest

from connector.rules.functions import SAFE_FUNCTIONS, SAFE_VARIABLES, unsafe_functions
from tests.rules.server_versions import server_version

if TYPE_CHECKING:
    from connector.foundation.server_version import ServerVersion
    from tests.binlog.source_log import SourceLog

pytestmark = pytest.mark.server

COMMON = (
    "FOUND_ROWS()",
    "GET_LOCK('a', 0)",
    "IS_FREE_LOCK('a')",
    "IS_USED_LOCK('a')",
    "LOAD_FILE('/x')",
    "RAND()",
    "RELEASE_LOCK('a')",
    "RELEASE_ALL_LOCKS()",
    "ROW_COUNT()",
    "SESSION_USER()",
    "SLEEP(0)",
    "SYSDATE()",
    "SYSTEM_USER()",
    "USER()",
    "CURRENT_USER()",
    "UUID()",
    "UUID_SHORT()",
    "VERSION()",
    "RANDOM_BYTES(4)",
    "AES_ENCRYPT('a', 'b')",
    "AES_DECRYPT('a', 'b')",
    "CONNECTION_ID()",
    "CURDATE()",
    "CURRENT_TIMESTAMP()",
    "CURTIME()",
    "DATABASE()",
    "LAST_INSERT_ID()",
    "LOCALTIME()",
    "NOW()",
    "UNIX_TIMESTAMP()",
    "UTC_DATE()",
    "UTC_TIME()",
    "UTC_TIMESTAMP()",
)
MYSQL = ("ICU_VERSION()", "ROLES_GRAPHML()", "CURRENT_ROLE()")
MARIADB = ("UUID_V4()", "UUID_V7()", "SYS_GUID()", "CURRENT_ROLE()", "ENCRYPT('a')")
VARIABLES = (*sorted(SAFE_VARIABLES), "server_id", "max_connections", "sql_mode", "hostname")
SAFE = (
    "ADDDATE('2026-01-31', 1)",
    "ADDTIME('10:00:00', '1')",
    "BENCHMARK(1, 1)",
    "BIN(5)",
    "BIN_TO_UUID(REPEAT('a', 16))",
    "CHARSET('a')",
    "COERCIBILITY('a')",
    "CONNECTION_ID()",
    "CONV('a', 16, 2)",
    "CRC32('a')",
    "EXPORT_SET(5, 'Y', 'N')",
    "EXTRACTVALUE('<a>b</a>', '/a')",
    "FIELD('a', 'a')",
    "FIND_IN_SET('a', 'a,b')",
    "FROM_DAYS(738000)",
    "INET6_ATON('::1')",
    "INET6_NTOA(INET6_ATON('::1'))",
    "INET_ATON('127.0.0.1')",
    "INET_NTOA(1)",
    "IS_IPV4('127.0.0.1')",
    "IS_IPV6('::1')",
    "IS_UUID('a')",
    "JSON_ARRAY(1)",
    "JSON_CONTAINS('[1]', '1')",
    "JSON_CONTAINS_PATH('{}', 'one', '$.a')",
    "JSON_DEPTH('[1]')",
    "JSON_INSERT('{}', '$.a', 1)",
    "JSON_LENGTH('[1]')",
    "JSON_MERGE_PATCH('{}', '{}')",
    "JSON_MERGE_PRESERVE('{}', '{}')",
    "JSON_OBJECT('a', 1)",
    "JSON_OVERLAPS('[1]', '[1]')",
    "JSON_PRETTY('[1]')",
    "JSON_QUOTE('a')",
    "JSON_REPLACE('{}', '$.a', 1)",
    "JSON_SEARCH('[\"a\"]', 'one', 'a')",
    "JSON_UNQUOTE('\"a\"')",
    "JSON_VALID('[1]')",
    "JSON_VALUE('[1]', '$[0]')",
    "LAST_INSERT_ID()",
    "MAKEDATE(2026, 31)",
    "MAKE_SET(1, 'a', 'b')",
    "MICROSECOND('10:00:00.5')",
    "MID('abc', 2)",
    "NAME_CONST('a', 1)",
    "NOW()",
    "OCT(9)",
    "OCTET_LENGTH('a')",
    "ORD('a')",
    "PERIOD_ADD(202601, 2)",
    "PERIOD_DIFF(202602, 202601)",
    "QUOTE('a')",
    "SEC_TO_TIME(5)",
    "STRCMP('a', 'b')",
    "ST_ASTEXT(ST_GEOMFROMTEXT('POINT(1 1)'))",
    "SUBDATE('2026-01-31', 1)",
    "SUBTIME('10:00:00', '1')",
    "TIMEDIFF('10:00:00', '09:00:00')",
    "TIME_FORMAT('10:00:00', '%H')",
    "TIME_TO_SEC('10:00:00')",
    "TO_SECONDS('2026-01-31')",
    "UNCOMPRESS(COMPRESS('a'))",
    "UNCOMPRESSED_LENGTH(COMPRESS('a'))",
    "UNIX_TIMESTAMP()",
    "UPDATEXML('<a/>', '/a', '<b/>')",
    "UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db')",
    "WEEKDAY('2026-01-31')",
    "YEARWEEK('2026-01-31')",
)
# ER_SP_DOES_NOT_EXIST, ER_FUNC_INEXISTENT_NAME_COLLISION
NO_FUNCTION = (1305, 1630)
STARTED = "Unsafe statement written to the binary log"


def version_of(log: SourceLog) -> ServerVersion:
    ((text,),) = log.execute("SELECT VERSION()")
    return server_version(text)


def unsafe(log: SourceLog, expression: str) -> bool:
    """Replace a row by the value of an expression; return whether the server warns."""
    # An INSERT may have RAND on MariaDB.
    log.execute(f"REPLACE INTO words VALUES (LENGTH(COALESCE({expression}, 'x')))")
    return any(str(text).startswith(STARTED) for _, _, text in log.execute("SHOW WARNINGS"))


@pytest.fixture
def words_log(source_log: SourceLog) -> SourceLog:
    source_log.execute("CREATE TABLE words (a INT)")
    source_log.execute("SET SESSION binlog_format = STATEMENT")
    return source_log


def test_the_servers_warn_of_the_unsafe_functions_alone(words_log: SourceLog) -> None:
    version = version_of(words_log)
    known = unsafe_functions(version)
    calls = COMMON + (MARIADB if version.is_mariadb else MYSQL)
    names = {call.partition("(")[0] for call in calls}
    warned = {call.partition("(")[0] for call in calls if unsafe(words_log, call)}
    assert warned == names & known


def test_the_servers_warn_of_all_variables_but_the_safe_ones(words_log: SourceLog) -> None:
    warned = {name for name in VARIABLES if unsafe(words_log, f"@@{name}")}
    assert warned == set(VARIABLES) - SAFE_VARIABLES


def is_missing(log: SourceLog, call: str) -> bool:
    """Return whether the server does not have the function."""
    try:
        log.execute(f"DO {call}")
    except pymysql.err.MySQLError as error:
        assert error.args[0] in NO_FUNCTION, (call, error)  # noqa: PT017 - each other one is raised
        return True
    return False


def test_the_servers_warn_of_no_function_that_is_known_to_be_safe(words_log: SourceLog) -> None:
    assert {
        call for call in SAFE if not is_missing(words_log, call) and unsafe(words_log, call)
    } == set()
    for statement in (
        "INSERT INTO words VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a)",
        "UPDATE words SET a = DEFAULT(a)",
        "UPDATE words SET a = (ROW (a, 1) = ROW (1, a))",
    ):
        words_log.execute(statement)
        warnings = [str(text) for _, _, text in words_log.execute("SHOW WARNINGS")]
        assert [text for text in warnings if text.startswith(STARTED)] == []


def test_each_safe_function_is_called() -> None:
    called = {name for name in SAFE_FUNCTIONS if any(f"{name}(" in call for call in SAFE)}
    assert called == SAFE_FUNCTIONS - {"VALUES", "DEFAULT", "ROW"}
