"""The blocks of `verify` in BENCHMARKS.md, docs/performance.md and README.md, between two marks."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.home import REPOSITORY
from benchmarks.markdown import as_fast, table, where
from benchmarks.targets import verify_targets

BEGIN: Final = '<!-- verify: written by make bench ARGS="verify" -->'
END: Final = "<!-- end of verify -->"
README: Final = REPOSITORY / "README.md"
# The line of the README that its block follows.
AFTER: Final = "verify my.toml --mirror stream_job.toml   # every row, every column\n```"

_INTRODUCTION = (
    "A pipeline copies two tables of twelve columns, and goes on: `orders`, whose rows are summed, "
    "and `measures` with a fifth of its rows, which has DOUBLE values and is compared row by row. "
    "All programs share the machine with the source, and run one after the other. Then the mirror "
    "of `orders` is damaged in each way, under 500 changes a second: the command finds each "
    "difference and no other one, repairs them, and finds nothing. Under changes, it leaves "
    "most of the source to them: `snapshot.pace` says how much it takes. By default, it begins "
    "with one read at a time, and adds the second in the first ten seconds. Without a pipeline, "
    "it compares two copies of `orders` as other programs write them: what a recipe makes of "
    "Debezium's records, with decimals and bytes in base64 and times as numbers and texts, and "
    "Parquet files with a type for each value.\n\n"
    "The rates of our comparisons are those of the table, without the start of the command; all "
    "other rates are of the whole process. GB/h are of the source's own format, in which a row "
    "of `orders` has {bytes_a_row:.0f} bytes. Bytes of the source are all that it has sent, also "
    "to the connector. data-diff and reladiff do not read Delta tables: they compare nine columns "
    "with a copy on the same server. pt-table-checksum sums one side alone: a replica sums the "
    "other. The plain comparison reads nine columns of at most 500,000 rows into dictionaries of "
    "Python. Spark reads nine columns by JDBC, on two cores."
)
_STEPS: Final = {
    "sums": "equal, by checksum",
    "sums_full": 'the same, `snapshot.pace = "full"`',
    "row_by_row": "equal, row by row",
    "certificate": "`--certificate`",
    "check": "`--check`, from the mirror",
    "foreign_debezium": "`--table`, Debezium's forms in Delta",
    "foreign_typed": "`--table`, a folder of Parquet files",
    "damaged": "{injected} differences, under changes",
    "repaired": "the same, found and repaired",
    "under_load": "equal, under changes",
    "data_diff": "data-diff, with a copy",
    "reladiff": "reladiff, with a copy",
    "table_checksum": "pt-table-checksum, one side",
    "except": "Spark's `exceptAll`, both directions",
    "plain": "all rows compared in Python",
}
_RIVALS: Final = ("data_diff", "reladiff", "table_checksum", "except", "plain")
_SECONDS_OF_AN_HOUR: Final = 3600
_GIGA: Final = 1e9


def verify_text(verify: dict[str, Any]) -> str:
    """Return all tables of `verify`, with marks."""
    measured = f"{where(verify)}; {verify['rows']:,} rows of `orders`."
    rows = [
        [
            name.format(**verify),
            f"{found['rows']:,}",
            f"{found['rows_per_s']:,}",
            f"{_gigabytes_an_hour(verify, found):,.0f}",
            f"{found['cpu_s']:.1f}",
            f"{found['source_cpu_s']:.1f}",
            f"{found['source_mb']:,.1f}",
            f"{found['peak_mb']:,.0f}",
        ]
        for key, name in _STEPS.items()
        if (found := verify.get(key)) is not None
    ]
    head = ["", "rows", "rows/s", "GB/h", "CPU s", "CPU s of the source", "MB of the source"]
    bounds = [each.row() for each in verify_targets(verify)]
    parts = [BEGIN, "## verify", _INTRODUCTION.format(**verify), measured]
    parts += [table(["", "wanted", "measured", "met"], bounds)]
    parts += [table([*head, "peak MB"], rows), END]
    return "\n\n".join(parts)


def _gigabytes_an_hour(verify: dict[str, Any], found: dict[str, Any]) -> float:
    per_second = float(found["rows_per_s"]) * float(verify["bytes_a_row"])
    return per_second * _SECONDS_OF_AN_HOUR / _GIGA


def verify_summary(verify: dict[str, Any]) -> str:
    """Return what a newcomer wants to know of `verify`, with marks."""
    best = float(verify["sums"]["rows_per_s"])
    rows = [
        ["**binlog-connector**, by checksum", f"{best:,.0f}", _sent(verify["sums"]), ""],
        [
            "**binlog-connector**, row by row",
            f"{verify['row_by_row']['rows_per_s']:,}",
            _sent(verify["row_by_row"]),
            "",
        ],
    ]
    rows += [
        [_STEPS[key], f"{found['rows_per_s']:,}", _sent(found), as_fast(best / found["rows_per_s"])]
        for key in _RIVALS
        if (found := verify.get(key)) is not None
    ]
    head = ["", "rows/s", "MB of the source for a million rows", "binlog-connector is"]
    title = f"**Is the copy equal?** A table of {verify['rows']:,} rows, beside its source."
    return "\n\n".join([BEGIN, title, table(head, rows), END])


def _sent(found: dict[str, Any]) -> str:
    return f"{float(found['source_mb']) * 1e6 / float(found['rows']):,.1f}"


def verify_line(verify: dict[str, Any]) -> str:
    """Return the sentence of the README, with marks."""
    sums, rows = verify["sums"], verify["row_by_row"]
    line = (
        f"On two cores beside the source, `verify` compares {round(sums['rows_per_s'], -3):,} rows "
        f"a second by checksum ({_gigabytes_an_hour(verify, sums):,.0f} GB an hour), and "
        f"{round(rows['rows_per_s'], -3):,} row by row ([measured](BENCHMARKS.md#verify))."
    )
    return f"{BEGIN}\n\n{line}\n\n{END}"
