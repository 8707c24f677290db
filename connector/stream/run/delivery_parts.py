"""What a delivery stream is made of: where its records go, and who else gets its changes.

The compiled `DeliveryStream` takes these objects apart once, when it is made.
"""

from dataclasses import dataclass, field
from typing import Final

from connector.foundation.record_batch import BatchingTarget
from connector.stream.changes.cascades import Cascades
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.receiver import StreamListener
from connector.stream.changes.signal_table import SignalTable
from connector.stream.envelope.metadata_topics import TransactionRecords
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.quarantine.guard import Guard

# What to do after an ALTER TABLE that is not proven to keep the rows; "fence" is the third choice.
COPY_REWRITTEN: Final = "copy"
STOP_REWRITTEN: Final = "stop"


@dataclass(frozen=True, slots=True)
class RecordOutput:
    """Where the records of a stream go."""

    encoder: RecordEncoder  # writes to `transactions` if there are any, else to `target`
    target: BatchingTarget
    # Get the transaction of the next records.
    transactions: TransactionRecords | None = None


@dataclass(frozen=True, slots=True)
class DeliveryOptions:
    """How to read the log of a server, after what earlier runs have read."""

    lower_case_names: bool = False  # as in `TransactionAssembler`
    online: OnlineSchemaChanges = field(default_factory=OnlineSchemaChanges)  # the same
    # Ids of transactions whose rows are left out.
    rolled_back: frozenset[str] = frozenset()
    # What to do if the log does not hold the rows after ALTER TABLE; a fence needs a guard.
    on_rewrite: str = COPY_REWRITTEN


@dataclass(frozen=True, slots=True)
class ChangeHandlers:
    """Who gets changes beside the encoder."""

    # Gets changes that cannot be published; without one they are an error.
    guard: Guard | None = None
    # Gets what becomes no record.
    listener: StreamListener = field(default_factory=StreamListener)
    # Gets the changes of tables that foreign keys refer to; without it, what they cascade stays
    # unknown.
    cascades: Cascades | None = None
    # Gets all rows.
    signals: SignalTable | None = None
