"""The two ends of a range, as a user writes them: a position in the log, or a set of GTIDs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.binlog.framing.log_position import file_number
from connector.errors import ConfigError, DecodeError, proof
from connector.gtid.either import has_all, parse_gtid_set

if TYPE_CHECKING:
    from connector.gtid import GtidSet, MariadbGtidSet
    from connector.progress.stream_position import StreamPosition

_POSITION = re.compile(r"(?P<file>[^:]+\.\d+):(?P<position>\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class End:
    """A position, a set of transactions, or both: then the one that comes first."""

    position: tuple[int, int] | None  # number of the file, offset
    gtid_set: GtidSet | MariadbGtidSet | None = None
    text: str = ""  # as it was written; "" for the newest progress

    @classmethod
    def parse(cls, option: str, text: str, flavour: str) -> End:
        """Read FILE:POSITION or a GTID set; raises ConfigError for anything else."""
        match = _POSITION.fullmatch(text)
        if match is not None:
            return cls((file_number(match["file"]), int(match["position"])), text=text)
        try:
            return cls(None, parse_gtid_set(text, flavour), text)
        except DecodeError as error:
            raise ConfigError(proof.GTIDS, option=option, text=text, why=error) from error

    @property
    def as_start(self) -> str:
        """The `source.start` of a stream that begins here."""
        return f"gtid:{self.text}" if self.position is None else f"position:{self.text}"

    def reached(self, standing: StreamPosition) -> bool:
        """Return whether a stream has come to this end."""
        if self.position is not None and standing.file:
            number = file_number(standing.file)
            if (number, standing.position) >= self.position:
                return True
        return has_all(standing.gtid_set, self.gtid_set)
