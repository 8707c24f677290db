"""A certificate that signs itself, for a server whose clients do not ask who it is.

Without one, MariaDB 11.4 and newer make a key of RSA at each start, which takes longer than all the
rest of the start.

https://mariadb.com/docs/server/security/securing-mariadb/encryption/data-in-transit-encryption/zero-configuration-ssl
"""

from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

# The names that MySQL gives them in its data directory.
CERTIFICATE: Final = "server-cert.pem"
KEY: Final = "server-key.pem"
# It lies in the cache for as long as the cache does. As literals, they do not depend on a clock.
_FROM: Final = datetime(2020, 1, 1)  # noqa: DTZ001 - the library takes it as UTC
_UNTIL: Final = datetime(2120, 1, 1)  # noqa: DTZ001


def write_certificate(folder: Path, name: str) -> None:
    """Write a new key and a certificate of it for `name` into `folder`, both as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .sign(key, SHA256())
    )
    (folder / CERTIFICATE).write_bytes(certificate.public_bytes(Encoding.PEM))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    (folder / KEY).touch(mode=0o600)
    (folder / KEY).write_bytes(pem)
