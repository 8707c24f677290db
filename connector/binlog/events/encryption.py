"""START_ENCRYPTION_EVENT of MariaDB (10.1.7): the rest of this file is encrypted.

::

    scheme u8 = 1 │ key_version u32 │ nonce 12

Everything after it, except the sizes of events, is encrypted with a key outside the file. A
server that sends the file to a replica decrypts it, and sends this event with the flag IGNORABLE,
which it does not have in the file.

https://mariadb.com/kb/en/start_encryption_event/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.errors import DecodeError, log

if TYPE_CHECKING:
    from connector.codec.payload import PayloadReader

_SCHEME = 1
_NONCE_LENGTH = 12


@dataclass(slots=True)
class StartEncryptionEvent:
    """How the rest of the file is encrypted."""

    scheme: int  # 1: AES, the nonce and the position make the initialization vector
    key_version: int  # of the key in the server's key management plugin
    nonce: bytes

    @classmethod
    def decode(cls, body: PayloadReader) -> StartEncryptionEvent:
        """Decode 17 bytes: scheme, key version and nonce.

        Raises DecodeError for a scheme other than 1.
        """
        scheme = body.read_uint8()
        if scheme != _SCHEME:
            raise DecodeError(log.VALUE_UNKNOWN, field="encryption scheme", value=scheme)
        return cls(scheme, body.read_uint32(), body.read_bytes(_NONCE_LENGTH))

    def encode(self) -> bytes:
        """Return the 17 bytes of the body."""
        return bytes([self.scheme]) + self.key_version.to_bytes(4, "little") + self.nonce
