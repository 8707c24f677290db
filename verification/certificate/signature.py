"""Signatures of certificates: Ed25519, with keys in files of PEM.

`openssl pkeyutl -verify -rawin` checks the same signature.

https://www.rfc-editor.org/rfc/rfc8032
"""

import base64
import binascii
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from connector.foundation.errors import ConfigError, SourceRefused
from verification.certificate import certificate_errors
from verification.certificate.document import Signature, SignedCertificate

_OTHER_KIND: Final = "it is a key of another kind"
_ALGORITHM: Final = "Ed25519"


def read_sign_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key; raises ConfigError for another file."""
    key = _read(path, "--sign-key", lambda text: load_pem_private_key(text, password=None))
    if not isinstance(key, Ed25519PrivateKey):
        raise _wrong(path, "--sign-key", _OTHER_KIND)
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    """Read a public key; raises ConfigError for another file."""
    key = _read(path, "--public-key", load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise _wrong(path, "--public-key", _OTHER_KIND)
    return key


def _read(path: Path, option: str, load: Callable[[bytes], object]) -> object:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise _wrong(path, option, error.strerror or "") from error
    except TypeError as error:
        # That is how a missing password is told.
        raise _wrong(path, option, "it is encrypted") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _wrong(path, option, "it is no such key in PEM") from error


def _wrong(path: Path, option: str, why: str) -> ConfigError:
    return ConfigError(certificate_errors.KEY_FILE, path=path, option=option, why=why)


def sign(text: bytes, key: Ed25519PrivateKey) -> Signature:
    """Return the signature of a canonical text."""
    return Signature(
        algorithm=_ALGORITHM,
        public_key=base64.b64encode(key.public_key().public_bytes_raw()).decode(),
        value=base64.b64encode(key.sign(text)).decode(),
    )


def check_signature(
    path: Path, signed: SignedCertificate, expected: Ed25519PublicKey | None
) -> str | None:
    """Return the fingerprint of the key that has signed the file at `path`; None if none has.

    Raises SourceRefused if the signature does not hold, or not by the `expected` key.
    """
    own = signed.signature
    if own is None:
        if expected is not None:
            raise SourceRefused(certificate_errors.NOT_SIGNED, path=path)
        return None
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(own.public_key, validate=True))
        key.verify(base64.b64decode(own.value, validate=True), signed.certificate.canonical)
    except (InvalidSignature, ValueError, binascii.Error) as error:
        why = "its signature does not hold"
        raise SourceRefused(certificate_errors.CHANGED, path=path, why=why) from error
    found = fingerprint(key)
    if expected is not None and expected.public_bytes_raw() != key.public_bytes_raw():
        raise SourceRefused(certificate_errors.OTHER_KEY, path=path, found=found)
    return found


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of the 32 bytes of a key, in base64."""
    sha256 = hashlib.sha256(key.public_bytes_raw()).digest()
    return f"SHA256:{base64.b64encode(sha256).decode().rstrip('=')}"
