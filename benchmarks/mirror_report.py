"""The figures of the mirror as tables and sentences."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import as_fast, table

_NAMES = {
    "ours": "binlog-connector",
    "tuned": "recipe, settings for small merges",
    "recipe": "recipe, defaults",
}


def mirror_hot(mirror: dict[str, Any]) -> str:
    """Return the table of the hot table."""
    hot = mirror["hot"]
    head = [f"one table, {hot['records']:,} changes", "changes applied", "seconds", "changes/s"]
    head += ["binlog-connector is", "CPU µs a change", "peak RSS MB"]
    rows = [
        [
            _NAMES[name],
            f"{each['records']:,}",
            f"{each['seconds']:.1f}",
            f"{each['records_s']:,}",
            "" if name == "ours" else as_fast(each["ratio"]),
            f"{each['cpu_us']:.0f}",
            f"{each['peak_mb']:,}",
        ]
        for name, each in hot["jobs"].items()
    ]
    note = (
        f"The recipe was ended after {hot['limit_s']:.0f} s, if it took longer. It is compared "
        "with the batches of ours that have the same changes."
    )
    return f"{table(head, rows)}\n\n{note}"


def mirror_many(mirror: dict[str, Any]) -> str:
    """Return the table of many small tables."""
    many = mirror["many"]
    head = [f"{many['tables']} tables, about {many['changes']:,} changes a batch", "batches"]
    head += ["seconds a batch", "binlog-connector is", "slowest", "CPU µs a change", "peak RSS MB"]
    rows = [
        [
            _NAMES[name],
            f"{each['batches']}",
            f"{each['batch_s']:.2f}",
            "" if name == "ours" else as_fast(each["ratio"]),
            f"{each['slowest_s']:.2f}",
            f"{each['cpu_us']:,}" if "cpu_us" in each else "",
            f"{each['peak_mb']:,}",
        ]
        for name, each in many["jobs"].items()
    ]
    note = (
        "Ours: the median of its batches. The recipe: one batch, after a batch of "
        f"{many['warm_tables']} other tables. It was ended {many['limit_s']:.0f} s after its start"
        ", if it took longer; 0 batches then, and the seconds are those of its tables so far, for "
        f"all: {_merged(many)}."
    )
    return f"{table(head, rows)}\n\n{note}"


def _merged(many: dict[str, Any]) -> str:
    jobs = {_NAMES[name]: each for name, each in many["jobs"].items() if name != "ours"}
    tables = many["tables"]
    return ", ".join(
        f"{name} {each['merged_tables']} of {tables} tables" for name, each in jobs.items()
    )


def mirror_cluster(mirror: dict[str, Any]) -> str:
    """Return the table of the workers of a cluster."""
    cluster = mirror["cluster"]
    head = [f"one table, batches of {cluster['batch']:,} changes", "seconds", "of them tasks"]
    head += ["changes a second", "as fast", "CPU s of workers", "of driver", "of broker"]
    rows = [
        [
            f"{_workers(count)} of 1 core",
            f"{each['seconds']:.1f}",
            f"{each['tasks_s']:.1f}",
            f"{each['records_s']:,}",
            "" if count == "1" else as_fast(cluster["ratio"]),
            " + ".join(f"{cpu:.1f}" for cpu in each["executors_cpu_s"]),
            f"{each['driver_cpu_s']:.1f}",
            f"{each['broker_cpu_s']:.1f}",
        ]
        for count, each in cluster["workers"].items()
    ]
    note = (
        "Driver and broker share the two cores with the workers. By the CPU of the busiest worker, "
        f"two workers on machines of their own are {as_fast(cluster['ratio_of_cpu'])}."
    )
    # Kept figures may be older than these.
    if "seconds" in cluster:
        seconds = "; ".join(
            f"{_workers(count)} {', '.join(f'{each:.1f}' for each in own)}"
            for count, own in cluster["seconds"].items()
        )
        note += (
            f" On this machine, two processes that only compute do {cluster['ratio_of_cores']} "
            f"times the work of one; two workers reach "
            f"{cluster['ratio'] / cluster['ratio_of_cores']:.0%} of that. "
            f"Seconds of all runs: {seconds}."
        )
    if "beside" in cluster:
        note += (
            " Each second of CPU does less while the other core is busy: one worker beside a "
            f"process that only computes takes {sum(cluster['beside']['executors_cpu_s']):.1f} CPU "
            "s for the same work. Compared with that, two workers on machines of their own are "
            f"{as_fast(cluster['ratio_beside'])}."
        )
    return f"{table(head, rows)}\n\n{note}"


def _workers(count: str) -> str:
    return f"{count} worker{'s' if count != '1' else ''}"


def mirror_live(mirror: dict[str, Any]) -> str:
    """Return what is said of the running job."""
    live = mirror["live"]
    idle, latency = live["idle"], live["latency"]
    rows = [
        ["first row after the start of the process", f"{live['start_s']:.1f} s"],
        ["CPU until all five tables have their rows", f"{live['start_cpu_s']:.1f} s"],
        ["idle, CPU", f"{idle['cpu_percent']:.1f} % of a core"],
        ["idle, commits", f"{idle['commits']}"],
        [f"{latency['rate_per_s']} changes/s on 5 tables, p50", f"{latency['p50_s']:.2f} s"],
        ["p95", f"{latency['p95_s']:.2f} s"],
        ["p99", f"{latency['p99_s']:.2f} s"],
        ["CPU a change", f"{latency['cpu_us']:,} µs"],
        ["peak RSS", f"{live['peak_mb']:,} MB"],
    ]
    return table(["the job while it runs, local[2]", ""], rows)


def mirror_updates(mirror: dict[str, Any]) -> str:
    """Return the table of few changes of a large table."""
    own = mirror["updates"]
    rows = [
        ["a batch, median", f"{own['batch_s']:.2f} s"],
        ["the slowest but the first", f"{own['slowest_s']:.2f} s"],
        ["the first, which makes the indexes", f"{own['first_s']:.1f} s"],
        ["changed rows, bytes of their values", f"{own['changed_mb']:.1f} MB"],
        ["written into the table", f"{own['written_mb']:.1f} MB"],
        ["size of the table, before and after", _change(own, "mb", " MB")],
        ["files of the table, before and after", _change(own, "files", "")],
        ["key indexes on the local disk", f"{own['index_mb']:,.0f} MB"],
        ["CPU a change", f"{own['cpu_us']:,} µs"],
        ["peak RSS", f"{own['peak_mb']:,} MB"],
    ]
    title = f"{own['rounds']} batches of 1,000 random updates, {own['rows']:,} rows"
    return table([title, ""], rows)


def _change(figures: dict[str, Any], name: str, unit: str) -> str:
    return f"{figures[f'{name}_before']:,}{unit}, {figures[f'{name}_after']:,}{unit}"
