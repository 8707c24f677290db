"""`python sums.py HOST:PORT ROWS PACE`: the statements of `verify` by checksum, until SIGTERM.

They read a table of ROWS rows again and again, at the pace of the law. The server does all the
work: nobody compares the sums, so this process hardly needs a core.
"""

from __future__ import annotations

import signal
import sys
from threading import Event
from typing import Literal, cast

import numpy as np
from pydantic import SecretStr

from benchmarks.pace import DATABASE, TABLE
from benchmarks.stack import PASSWORD, USER
from connector.foundation.settings.sections import SnapshotSettings, SourceSettings, TlsSettings
from verification.checksum_rounds import ROWS_OF_A_RANGE
from verification.checksums import ServerChecksums
from verification.foreign.source_rows import SourceRows
from verification.foreign.source_server import SourceServer
from verification.key_ranges import KeyRanges
from verification.row_text import RowText


def main() -> None:
    """Sum the table until a signal says that it is enough."""
    host, _, port = sys.argv[1].rpartition(":")
    ended = Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    source = SourceSettings(
        host=host, port=int(port), user=USER, password=SecretStr(PASSWORD), server_id=5801,
        tls=TlsSettings(mode="disabled", get_server_public_key=True),
    )  # fmt: skip
    snapshot = SnapshotSettings(pace=cast("Literal['adaptive', 'full']", sys.argv[3]))
    table = TABLE.rpartition(".")[2]
    with SourceServer(source, snapshot, 5.0) as server:
        rows = SourceRows(server, (DATABASE, table))
        text = RowText.of(rows.session, rows.schema, list(rows.schema.by_name))
        key = rows.key_number
        assert text is not None
        assert key is not None
        low = np.arange(1, int(sys.argv[2]), ROWS_OF_A_RANGE[0])
        ranges = KeyRanges(low, low + ROWS_OF_A_RANGE[0] - 1)
        name = rows.selected.quoted_name
        with ServerChecksums(server.sessions.lent, server.pace, name, key, text) as sums:
            while not ended.is_set():
                for _, some in sums.begin(ranges, ROWS_OF_A_RANGE[0]):
                    if ended.is_set():
                        break
                    some.result()


if __name__ == "__main__":
    main()
