"""What the ranges of a load commit to its mirror."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.server.server_error_numbers import server_error
from connector.stream.snapshot.table_state import KeyBounds
from stream_jobs.apply.modes import MODES
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.delta.log import Moment
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors, table_loading
from stream_jobs.load.range_task import RangeResult
from stream_jobs.load.table_loading import TableLoading, WantedLoad, opened_loading
from stream_jobs.load.table_loads import TableLoads
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.load_state import LoadPart, SourceMoment, TableLoad
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.mirror_table import MirrorTable
from tests.foundation.errors.texts import text_of
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from pathlib import Path

MOMENT = SourceMoment("server", "mysql", None, "binlog.000003:400")
SEQ = PackedSequence(7, 8)
PARTS = (LoadPart(high=("10",)), LoadPart(low=("10",)))
LOAD = TableLoad("a1", "reading", SEQ, MOMENT, ("id int",), PARTS)
SCHEMA = TableSchema("shop", "t", "s", SEQ, ())


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(LocalStorage(str(tmp_path)), "t", {"delta.checkpointInterval": "3"})


def loading_of(sample: Sample) -> TableLoading:
    own = MirrorTable(sample.table, Progress("s", SEQ, 1, load=LOAD))
    return TableLoading(
        WantedLoad("topic", SCHEMA, "a1", MODES["current"]), own, lambda: None, nullcontext()
    )


def commit(loading: TableLoading, sample: Sample, number: int, *, done: bool = False) -> None:
    place = loading.take_part()
    assert place is not None
    part = replace(loading.load.parts[place], last=(f"{number:02x}",), done=done)
    result = RangeResult(part, 10, (sample.write(range(number * 10, number * 10 + 10)),))
    loading.commit(place, result, lambda: MOMENT)


def test_a_long_load_writes_checkpoints(sample: Sample, tmp_path: Path) -> None:
    """Without them, each start would read all commits, and the first batch waits for them."""
    loading = loading_of(sample)
    for number in range(7):
        commit(loading, sample, number)
    log = tmp_path / "t" / "_delta_log"
    assert sorted(path.name[:20] for path in log.glob("*.checkpoint.parquet")) == [
        f"{3:020}",
        f"{6:020}",
    ]
    again = DeltaTable.open(sample.storage, "t")
    assert again is not None
    assert again.snapshot.live_rows == 70
    assert again.snapshot.checkpoint == 6


def test_the_last_range_asks_for_the_end(sample: Sample) -> None:
    loading = loading_of(sample)
    commit(loading, sample, 0, done=True)
    assert loading.load.phase == "reading"
    commit(loading, sample, 1, done=True)
    assert (loading.load.phase, loading.load.end, loading.load.rows) == ("catching up", MOMENT, 20)
    assert loading.take_part() is None


def test_files_of_a_range_are_as_old_as_its_begin(sample: Sample) -> None:
    """Other pipelines may delete them, if it was long ago."""
    loading = loading_of(sample)
    begun = Moment.here()
    places = [loading.take_part(), loading.take_part()]
    both_taken = Moment.here()
    for place in places:
        assert place is not None
        part = replace(loading.load.parts[place], done=True)
        loading.commit(place, RangeResult(part, 0, ()), lambda: MOMENT)
        assert begun.monotonic <= loading.own.began.monotonic <= both_taken.monotonic


# Without GTIDs, a position belongs to one server.
LATER = DeliveredPosition(
    "mysql", None, "binlog.000001:400", PackedSequence(9, 9), server_uuid="other"
)
READ = replace(LOAD, phase="catching up", parts=(LoadPart(done=True),), end=MOMENT)


class Loads:
    """The loads of one table, whose topic is "topic", without a server or brokers."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.storage = LocalStorage(str(folder))
        self.delivered = LATER
        self.history = [SCHEMA]
        table = SimpleNamespace(schema=SCHEMA, order_columns=[SimpleNamespace(declared="id int")])
        patch.setattr(table_loading, "SelectedTable", SimpleNamespace(describe=lambda *_: table))
        patch.setattr(table_loading, "can_be_paged", lambda _: True)
        patch.setattr(table_loading, "read_statistics", lambda *_: {})
        patch.setattr(table_loading, "key_parts", lambda *_: [KeyBounds()])
        services: Any = SimpleNamespace(
            storage=self.storage,
            base="",
            properties={},
            rewriting=nullcontext(),
            registry=SimpleNamespace(
                prefix="cdc",
                history=lambda _: [*self.history],
                newest=lambda _: self.history[-1],
            ),
            client=SimpleNamespace(
                topic_ids=lambda topics: dict.fromkeys(topics, "1f"),
                partitions=lambda topic: [(topic, 0)],
                first_offsets=lambda places: dict.fromkeys(places, 5),
            ),
        )
        self.services = services
        state = SimpleNamespace(
            is_skipped=False, is_mirror_lost=False, mode=MODES["current"], merged=None
        )
        self.state: Any = state
        states: Any = SimpleNamespace(
            open=lambda _: None, of=lambda _: self.looked(), forget=lambda _: None
        )
        copies: Any = SimpleNamespace(loads=lambda: {("shop", "t"): "a1"})
        progress: Any = SimpleNamespace(newest=lambda: self.delivered, are_several=False)
        self.loads = TableLoads(self.services, states, copies, progress, knows_source=True)

    def looked(self) -> Any:
        self.state.mirror = self.mirror
        return self.state

    @property
    def mirror(self) -> MirrorTable | None:
        return MirrorTable.open(self.storage, "shop/t", "shop.t", "")

    @property
    def progress(self) -> Progress:
        mirror = self.mirror
        assert mirror is not None
        return mirror.progress

    def create(self, load: TableLoad) -> None:
        """Make the mirror, of which 50 records were applied."""
        columns = all_columns(SCHEMA, 0, MODES["current"].columns)
        begun = Progress("s", SEQ, 1, offsets={0: 50}, load=load, topic_id="1e")
        MirrorTable.create(self.storage, "shop/t", SCHEMA, columns, begun, {}, MODES["current"])

    def open(self, server: str) -> TableLoading | None:
        """Open the load, as the thread does, with a session on `server`."""
        wanted = WantedLoad("topic", self.history[-1], "a1", MODES["current"])
        identity = SimpleNamespace(flavour="mysql", server_uuid=server)
        session: Any = SimpleNamespace(name=server, identity=identity)
        return opened_loading(
            self.services, wanted, session, self.delivered, lambda: None, SnapshotSettings(), 100
        )


@pytest.mark.parametrize("name", [name for name in MODES if name != "current"])
def test_a_mirror_with_another_mode_is_not_loaded(loads: Loads, name: str) -> None:
    wanted = WantedLoad("topic", SCHEMA, "a1", MODES[name])
    session: Any = SimpleNamespace()
    with pytest.raises(MirrorError) as caught:
        opened_loading(
            loads.services, wanted, session, loads.delivered, lambda: None, SnapshotSettings(), 100
        )
    assert caught.value.text == (
        "the first rows of shop.t are not in its topic, and the job cannot load them into a mirror "
        f'with the mode {name}; use mode = "current" for the table, or snapshot.to = "topics" in '
        "the connector"
    )


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loads:
    return Loads(tmp_path, monkeypatch)


def test_a_mirror_knows_its_topic_from_the_beginning_of_its_load(loads: Loads) -> None:
    loads.open("other")
    assert (loads.progress.offsets, loads.progress.topic_id) == ({0: 5}, "1f")


@pytest.mark.parametrize("number", [3024, 1969])
def test_a_server_that_cannot_say_where_parts_begin_is_named(
    loads: Loads, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    error = server_error("other", number, "maximum statement execution time exceeded")

    def key_parts(*_: object) -> list[KeyBounds]:
        raise error

    monkeypatch.setattr(table_loading, "key_parts", key_parts)
    with pytest.raises(MirrorError) as caught:
        loads.open("other")
    assert caught.value.text == text_of(
        load_errors.SLOW, server="other", seconds=30, table="shop.t"
    )


def test_a_load_that_is_read_begins_again_on_another_server(loads: Loads) -> None:
    """Nobody can tell when the topics have come to a position of the server before."""
    loads.create(READ)
    (topic,) = loads.loads.held()
    assert loads.loads.catching_up() == {}
    assert loads.loads.wanted()[topic].is_again
    # The session is still on the server before.
    with pytest.raises(MirrorError) as caught:
        loads.open("server")
    assert caught.value.code is load_errors.OTHER_SERVER
    loading = loads.open("other")
    assert loading is not None
    assert (loading.load.phase, loading.load.seq, loading.load.watermark.server) == (
        "reading",
        LATER.bound,
        "other",
    )
    # No record comes twice, and the topic is the same.
    assert (loads.progress.offsets, loads.progress.topic_id) == ({0: 50}, "1e")
    # The batches leave the topic alone until the thread has all rows, whatever the server is then.
    loads.delivered = LATER._replace(server_uuid="server")
    assert loads.loads.reading() == {topic}
    loading.own.commit_load((), replace(loading.own.progress, load=READ))
    loads.loads.finish(topic)
    assert loads.loads.catching_up() == {topic: READ}


@pytest.mark.parametrize(
    "delivered", [LATER._replace(server_uuid="server"), LATER._replace(server_uuid="")]
)
def test_a_load_catches_up_on_its_server(loads: Loads, delivered: DeliveredPosition) -> None:
    loads.create(READ)
    loads.delivered = delivered
    assert list(loads.loads.catching_up().values()) == [READ]
    loading = loads.open("server")
    assert loading is not None
    assert loading.load == READ


def test_a_load_of_an_earlier_version_begins_again(loads: Loads) -> None:
    """Nobody knows what the SELECTs have seen whose rows it has committed."""
    gtid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7"
    loads.delivered = LATER._replace(gtid=gtid)
    watermark = replace(MOMENT, gtid=gtid)
    known = replace(LOAD, watermark=watermark, parts=(LoadPart(last=("37",)),), rows=5)
    loads.create(known)
    loading = loads.open("other")
    assert loading is not None
    assert (loading.load.rows, loading.load.parts) == (0, (LoadPart(),))


@pytest.mark.parametrize("gtid", [None, "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7"])
def test_a_load_goes_on_if_it_knows_what_was_seen(loads: Loads, gtid: str | None) -> None:
    """Or if nothing was read; or if one server alone can tell it, which is asked at the end."""
    watermark = replace(MOMENT, server="other", gtid=gtid)
    known = replace(LOAD, watermark=watermark, seen=gtid, parts=(LoadPart(last=("37",)),), rows=5)
    loads.create(known)
    loading = loads.open("other")
    assert loading is not None
    assert loading.load == known


@pytest.mark.parametrize(
    ("current", "begins"),
    [
        ({}, False),
        ({"shop.t": "s"}, True),
        # Until rows come.
        ({"shop.t": ""}, False),
        ({"shop.t": "none"}, False),
        # A statement without a row has given it the newest one.
        ({"shop.t": "s2"}, False),
    ],
)
def test_a_table_that_has_an_older_list_again_is_loaded_with_it(
    loads: Loads, current: dict[str, str], begins: bool
) -> None:
    """The progress record says that the newest schema record is not the one of its rows."""
    loads.history.append(replace(SCHEMA, schema_id="s2", first=PackedSequence(8, 8)))
    loads.delivered = LATER._replace(column_lists=current)
    if not begins:
        with pytest.raises(MirrorError) as caught:
            loads.open("other")
        assert caught.value.code is load_errors.NO_SUCH_COLUMNS
        return
    loading = loads.open("other")
    assert loading is not None
    assert loading.wanted.schema == SCHEMA
    # Rows with the newer list come before the watermark, or after another statement.
    assert (loads.progress.schema_id, loads.progress.since) == ("s", LATER.bound)
