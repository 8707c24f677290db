"""The password of a login without TLS, encrypted with an RSA key of the server.

Few logins need it, and cryptography takes 7 MB and longer to load than the rest of a login: so this
module is imported when one does.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
"""

from itertools import cycle

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.serialization import load_pem_public_key

_SALT_BYTES = 20


def rsa_key(pem: bytes) -> RSAPublicKey | None:
    """Return the key in a PEM file; None for a key of another kind.

    Raises ValueError if it holds no public key.
    """
    try:
        key = load_pem_public_key(pem)
    except UnsupportedAlgorithm:
        return None
    return key if isinstance(key, RSAPublicKey) else None


def encrypted(password: bytes, salt: bytes, pem: bytes) -> bytes:
    """Return what a server with the key `pem` decrypts; `salt` is that of its greeting.

    Raises ValueError if `pem` holds no RSA key.
    """
    key = rsa_key(pem)
    if key is None:
        message = "a key of another kind than RSA"
        raise ValueError(message)
    # Encrypted by itself, the same password would always look the same.
    masked = bytes(
        byte ^ mask for byte, mask in zip(password + b"\0", cycle(salt[:_SALT_BYTES]), strict=False)
    )
    # The server knows no other algorithm.
    return key.encrypt(masked, OAEP(MGF1(SHA1()), SHA1(), None))  # noqa: S303
