"""A server that does not start says why, and what to do."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from local_stack import KafkaBroker, MysqlServer, stack_errors
from local_stack.cache import Cache
from local_stack.installation import missing_libraries
from local_stack.stack_errors import LocalStackError


@pytest.mark.server
def test_a_setting_that_the_server_does_not_know_shows_the_end_of_its_log(tmp_path: Path) -> None:
    server = MysqlServer(tmp_path, settings={"no_such_setting": "1"})
    with pytest.raises(LocalStackError) as caught:
        server.start()
    text = caught.value.text
    assert text.startswith(
        f"MySQL 8.0 ended while starting; read the end of {tmp_path}/server.log:\n"
    )
    assert "unknown variable 'no_such_setting=1'" in text


@pytest.mark.kafka
def test_a_broker_setting_of_no_meaning_shows_the_end_of_its_log(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, settings={"num.io.threads": "none"})
    with pytest.raises(LocalStackError) as caught:
        broker.start()
    text = caught.value.text
    assert text.startswith(
        f"Kafka 4.3.1 ended while starting; read the end of {tmp_path}/server.log:\n"
    )
    assert "Invalid value none for configuration num.io.threads" in text


@pytest.mark.kafka
def test_a_template_that_kafka_cannot_format_is_no_template(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho no room; exit 1\n")
    java.chmod(0o755)
    cache = Cache(tmp_path / "cache")
    cache.directory.mkdir()
    (cache.directory / "files").symlink_to(Cache.of_environment().directory / "files")
    broker = KafkaBroker(tmp_path, java=java, cache=cache)
    with pytest.raises(LocalStackError) as caught:
        broker.start()
    assert caught.value.code is stack_errors.NO_FORMAT
    data = f"{cache.directory}/templates/kafka-4.3.1.part/data"
    assert caught.value.text == (
        f"Kafka 4.3.1 cannot format {data}; read the end of {tmp_path}/server.log:\nno room"
    )
    assert not (cache.directory / "templates" / "kafka-4.3.1").exists()


@pytest.mark.server
def test_a_port_that_was_taken_meanwhile_is_named(tmp_path: Path) -> None:
    server = MysqlServer(tmp_path)
    port = server.start().port
    server.stop()
    with socket.create_server(("127.0.0.1", port)), pytest.raises(LocalStackError) as caught:
        server.start()
    assert caught.value.text == (
        f"MySQL 8.0: port {port} was taken by another process; "
        f"end that one, or delete {tmp_path}/port for another port"
    )


@pytest.mark.server
def test_a_program_that_is_another_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalStackError) as caught:
        MysqlServer(tmp_path, executable=Path("/bin/true")).start()
    assert caught.value.code is stack_errors.NO_VERSION
    assert caught.value.text == (
        "/bin/true does not tell its version, it says ''; give the path of mysqld"
    )


@pytest.mark.server
def test_a_data_directory_that_cannot_be_made_shows_the_end_of_the_log(
    mysql_server: MysqlServer, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with pytest.raises(LocalStackError) as caught:
        mysql_server._installation.run(["--initialize-insecure", "--datadir=/proc/x"], log)
    assert caught.value.code is stack_errors.NO_DATA
    assert caught.value.text.startswith(
        f"{mysql_server._installation.command[-1]} cannot make a data directory; read the end of "
        f"{log}:\n"
    )


@pytest.mark.server
def test_a_server_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_stack.server.START_SECONDS", 0.0)
    server = MysqlServer(tmp_path)
    with pytest.raises(LocalStackError) as caught:
        server.start()
    assert caught.value.code is stack_errors.NO_ANSWER
    port = caught.value.message.facts["port"]
    assert caught.value.text.startswith(
        f"MySQL 8.0 did not answer on port {port} within 0 seconds; read the end of "
        f"{tmp_path}/server.log:\n"
    )
    assert not server.directory.joinpath("port").exists()


@pytest.mark.server
def test_ports_that_are_taken_just_before_the_server_has_them_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("local_stack.server.free_port", lambda: port)
        with pytest.raises(LocalStackError) as caught:
            MysqlServer(tmp_path).start()
    assert caught.value.text == (
        "MySQL 8.0: other processes took 3 free ports before the server could; start it again"
    )


@pytest.mark.server
def test_libraries_that_the_machine_lacks_are_on_the_server_s_path(
    mysql_server: MysqlServer,
) -> None:
    installation = mysql_server._installation
    assert missing_libraries(Path(installation.command[0]), installation.library_path) == set()
