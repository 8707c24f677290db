"""The block of the mirror in a document is replaced, and the rest is left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.mirror_documents import (
    BEGIN,
    END,
    block_of,
    has_summary,
    mirror_summary,
    mirror_text,
    put_block,
)

if TYPE_CHECKING:
    from pathlib import Path

MIRROR: dict[str, Any] = {
    "at": "2026-01-02T03:04:05+00:00",
    "cpu": "a CPU",
    "cores": 2,
    "memory_gib": 24,
    "kernel": "6.1",
    "python": "CPython 3.11",
    "compiled": True,
    "cluster": {
        "records": 2_000_000,
        "batch": 250_000,
        "ratio": 1.74,
        "tasks_ratio": 1.9,
        "ratio_of_cpu": 1.88,
        "ratio_of_cores": 1.93,
        "workers": {
            "1": {
                "seconds": 20.0,
                "records_s": 100_000,
                "tasks_s": 18.0,
                "executors_cpu_s": [17.0],
                "driver_cpu_s": 1.5,
                "broker_cpu_s": 2.5,
            },
            "2": {
                "seconds": 11.5,
                "records_s": 174_000,
                "tasks_s": 9.5,
                "executors_cpu_s": [8.5, 8.75],
                "driver_cpu_s": 1.5,
                "broker_cpu_s": 2.5,
            },
        },
    },
}


def document(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "document.md"
    path.write_text(text)
    return path


def test_a_document_gets_its_first_block_behind_a_line(tmp_path: Path) -> None:
    path = document(tmp_path, "before\nmark\nafter\n")

    put_block(path, f"{BEGIN}\n\nnew\n\n{END}", "mark")

    assert path.read_text() == f"before\nmark\n\n{BEGIN}\n\nnew\n\n{END}\nafter\n"


def test_a_block_is_replaced_where_it_is(tmp_path: Path) -> None:
    path = document(tmp_path, f"before\n{BEGIN}old{END}\nafter\nmark\n")

    put_block(path, f"{BEGIN}new{END}", "mark")

    assert path.read_text() == f"before\n{BEGIN}new{END}\nafter\nmark\n"


def test_a_document_without_marks_gets_the_block_at_its_end(tmp_path: Path) -> None:
    path = document(tmp_path, "text\n")

    put_block(path, f"{BEGIN}new{END}", "mark")

    assert path.read_text() == f"text\n\n{BEGIN}new{END}\n"


def test_the_parts_that_were_measured_are_told_and_those_that_failed_are_named() -> None:
    failed = MIRROR | {"failed": {"many": "RunFailed: too slow"}}
    lines = mirror_text(failed, None).splitlines()

    assert "Not measured, because the run failed: many." in lines
    assert "| mirror, 2 workers of a cluster to 1 | ≥ 1.7 x | 1.74 x | yes |" in lines
    assert (
        "| 2 workers of 1 core | 11.5 | 9.5 | 174,000 | 1.7 x as fast | 8.5 + 8.8 | 1.5 | 2.5 |"
        in lines
    )
    assert not [line for line in lines if "recipe, defaults" in line]


def test_parts_that_were_not_measured_here_stay(tmp_path: Path) -> None:
    live, many = (
        f"<!-- the mirror, {part} -->\n\nof {part}\n\n<!-- end of {part} -->"
        for part in ("live", "many")
    )
    old = "<!-- the mirror, cluster -->\n\nold\n\n<!-- end of cluster -->"
    path = document(tmp_path, f"before\n{BEGIN}\n\n{many}\n\n{live}\n\n{old}\n\n{END}\nafter\n")

    put_block(path, mirror_text(MIRROR, block_of(path)), "")

    text = path.read_text()
    assert f"{many}\n\n{live}\n\n<!-- the mirror, cluster -->\n\n2026-01-02, a CPU, 2 cores" in text
    assert old not in text
    assert mirror_text(MIRROR, block_of(path)) == block_of(path)
    failed = mirror_text(MIRROR | {"failed": {"many": "RunFailed: too slow"}}, block_of(path))
    assert live in failed
    assert many not in failed


def test_a_part_says_where_it_was_measured_itself() -> None:
    cluster = MIRROR["cluster"] | {"at": "2026-02-03T00:00:00+00:00", "cpu": "another CPU"}
    text = mirror_text(MIRROR | {"cluster": cluster}, None)
    assert "2026-02-03, another CPU, 2 cores, 24 GiB" in text
    assert "2026-01-02" not in text


def test_a_worker_beside_a_busy_process_is_told() -> None:
    more = {"seconds": {"1": [20.0], "2": [11.5]}, "ratio_beside": 2.06}
    more["beside"] = {"executors_cpu_s": [20.5]}
    text = mirror_text(MIRROR | {"cluster": MIRROR["cluster"] | more}, None)
    assert (
        "one worker beside a process that only computes takes 20.5 CPU s for the same work. "
        "Compared with that, two workers on machines of their own are 2.1 x as fast." in text
    )


def test_the_page_keeps_its_table_if_parts_of_it_were_not_measured_here() -> None:
    assert not has_summary(MIRROR)
    assert not has_summary(MIRROR | {"failed": {"hot": "RunFailed"}})
    assert has_summary(MIRROR | {"failed": dict.fromkeys(("hot", "many", "live"), "RunFailed")})


def test_the_page_has_no_table_of_parts_that_failed() -> None:
    assert mirror_summary(MIRROR) == f"{BEGIN}\n\n{END}"
