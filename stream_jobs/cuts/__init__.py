"""Cuts: moments of the source at which the versions of all tables of a mirror are known.

    _cdc/cuts/00000000000000000042.json    one cut, written once and never changed

A cut says: version `v` of each of its tables has every change with a `cdc.seq` below `cut.seq`, and
no other one. No source transaction lies on both sides of `cut.seq`. So all tables together are what
the source had after one of its commits.

    read_cuts(storage)                     every cut that can be read, the oldest first
    latest_cut(storage)                    the newest one, or None
    cut_at(storage, gtid=… | time=…)       the first cut that has these transactions; the last one
                                           that is not after this time
    mirror_at(path, gtid=… | time=…)       the tables of a cut (`stream_jobs.cuts.reader`)
    mirror_at(spark, path, …)              the same with Spark (`stream_jobs.cuts.spark`)

`storage` is a `stream_jobs.delta.storage.Storage`, for example `storage_of(mirror.path)`. If
pipelines share the mirror, each has cuts of its own, in the storage
`stream_jobs.pipeline_folder.pipeline_folder(mirror.path, kafka.topic_prefix).storage`; `cut.shards`
says which shards of a table they are of.
"""

from stream_jobs.cuts.cut import NO_KEY, Cut, CutShards, CutTable, cut_at, latest_cut, read_cuts

__all__ = ["NO_KEY", "Cut", "CutShards", "CutTable", "cut_at", "latest_cut", "read_cuts"]
