"""Statements about which `rules` cannot say how they are logged."""

from connector.foundation.errors.code import configuration_error

NOT_UNDERSTOOD = configuration_error(
    "C701",
    "the statement is not understood, so it is not known how it is logged",
    "give one INSERT, REPLACE, UPDATE, DELETE, LOAD DATA, CALL, SELECT, SET, CREATE TABLE and the "
    "like, or a statement of a transaction, in a simpler form",
    cause="The command says only what it knows for certain. The parser does not know each form "
    "of SQL.",
)
TARGET_UNCERTAIN = configuration_error(
    "C702",
    "it is not certain which table the statement changes",
    "write the table before each column in SET, and after DELETE",
    cause="In a statement with several tables, only the server knows to which table a column "
    "without a name before it belongs.",
)
NO_TABLE = configuration_error(
    "C703",
    "{server}: there is no table {table} that the account may read",
    "correct the name, or GRANT SELECT on the table",
    cause="How a statement is logged depends on the engines, keys and triggers of its tables.",
)
ENGINE_UNKNOWN = configuration_error(
    "C704",
    "{table} has the engine {engine}, and it is not known what that can log",
    "try it: set binlog_format for a session, and read the log with `binlog-connector dump`",
    cause="The command knows the engines of MySQL and MariaDB, and few others.",
    example={"engine": "SPIDER"},
)
PROGRAM_NOT_UNDERSTOOD = configuration_error(
    "C705",
    "{program}, which the statement invokes, is not understood",
    "look at each statement in its body: an unsafe one makes the whole statement unsafe",
    cause="What a program or a view does decides, too. It may make statements from strings, or set "
    "how its session logs, or the parser does not know its SQL, or the account may not read it.",
    example={"program": "trigger shop.count_orders"},
)
NO_FUNCTION = configuration_error(
    "C706",
    "{server}: {function} is no stored function, and no built-in function that is known",
    "correct the name, or write the database before it; if it is a UDF, the statement is unsafe",
    cause="A function that is not known may return another value on a replica.",
    example={"function": "PRICE"},
)
NO_PROCEDURE = configuration_error(
    "C707",
    "{server}: there is no procedure {procedure} that the account may see",
    "correct the name, or GRANT EXECUTE and SHOW_ROUTINE, or SELECT on mysql.proc",
    cause="A CALL leaves in the log what the statements of its procedure leave.",
    example={"procedure": "shop.settle"},
)
ARGUMENTS = configuration_error(
    "C708",
    "the number of the parameters of procedure {procedure} is {expected}",
    "give so many arguments",
    cause="A server refuses a CALL with another number of arguments.",
    example={"procedure": "shop.settle", "expected": 2},
)
VIEW_NOT_CHANGED = configuration_error(
    "C709",
    "it is not certain what the statement changes below the view {view}",
    "give the columns, all of them from tables and not computed; or change the tables themselves",
    cause="A server refuses some changes through a view: those of a view that groups or computes "
    "its rows, and INSERT without columns and DELETE through a view that joins tables. The account "
    "may lack SHOW VIEW. An INSERT into a table with an unsafe DEFAULT must name the table itself.",
    example={"view": "shop.open_orders"},
)
