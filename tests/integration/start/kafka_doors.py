"""One broker with a listener for each way to be let in, or not."""

from __future__ import annotations

import datetime as dt
import ipaddress
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from local_stack import KafkaBroker
from local_stack.server import HOST, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER, PASSWORD = "alice", "right"
OTHER_NAME = "kafka.example"
_PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "TLS": "SSL",
    "OTHER_NAME": "SSL",
    "MUTUAL": "SSL",
    "LOGIN": "SASL_PLAINTEXT",
    "TLS_LOGIN": "SASL_SSL",
    "LOST": "PLAINTEXT",
    "UNNAMED": "PLAINTEXT",
}
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Doors:
    """Where each listener of a broker is, by its name in `_PROTOCOLS`."""

    broker: KafkaBroker
    ports: dict[str, int]
    authority: Path  # the certificate that signed those of TLS, OTHER_NAME, MUTUAL and TLS_LOGIN
    lost: str  # what LOST advertises: nobody listens there
    unnamed: str  # what UNNAMED advertises: its name does not resolve

    def address(self, name: str) -> str:
        """Return HOST:PORT of a listener."""
        return f"{HOST}:{self.ports[name]}"


@contextmanager
def open_doors(directory: Path) -> Iterator[Doors]:
    """Run a broker with all of them."""
    directory.mkdir(parents=True, exist_ok=True)
    ports: dict[str, int] = {}
    while len(ports) < len(_PROTOCOLS):
        port = free_port()
        if port not in ports.values():
            ports[list(_PROTOCOLS)[len(ports)]] = port
    (directory / "port").write_text(str(ports["PLAINTEXT"]))
    controller = free_port()
    (directory / "controller_port").write_text(str(controller))
    lost, unnamed = f"{HOST}:{free_port()}", "no-such-broker.invalid:9092"
    advertised = {name: f"{HOST}:{port}" for name, port in ports.items()}
    advertised |= {"LOST": lost, "UNNAMED": unnamed}
    authority = _write_certificates(directory)
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    settings = {
        "listeners": ",".join(
            [f"{name}://{HOST}:{port}" for name, port in ports.items()]
            + [f"CONTROLLER://{HOST}:{controller}"]
        ),
        "advertised.listeners": ",".join(f"{name}://{at}" for name, at in advertised.items()),
        "listener.security.protocol.map": ",".join(
            ["CONTROLLER:PLAINTEXT"] + [f"{name}:{kind}" for name, kind in _PROTOCOLS.items()]
        ),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.mutual.ssl.client.auth": "required",
    }
    for name, kind in _PROTOCOLS.items():
        of_listener = f"listener.name.{name.lower()}"
        if kind.startswith("SASL"):
            jaas = f'{login} user_{USER}="{PASSWORD}";'
            settings[f"{of_listener}.plain.sasl.jaas.config"] = jaas
        if kind.endswith("SSL"):
            keys = "other" if name == "OTHER_NAME" else "server"
            settings[f"{of_listener}.ssl.keystore.type"] = "PEM"
            settings[f"{of_listener}.ssl.keystore.location"] = str(directory / f"{keys}.pem")
            settings[f"{of_listener}.ssl.truststore.type"] = "PEM"
            settings[f"{of_listener}.ssl.truststore.location"] = str(authority)
    with KafkaBroker(directory, settings=settings) as broker:
        yield Doors(broker, ports, authority, lost, unnamed)


def _write_certificates(directory: Path) -> Path:
    """Write an authority's certificate, and keys of servers that it signed; return its path."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of a test")])
    certificate = (
        _builder(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = directory / "authority.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    names = {
        "server": x509.IPAddress(ipaddress.ip_address(HOST)),
        "other": x509.DNSName(OTHER_NAME),
    }
    for stem, alternative in names.items():
        own_key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, stem)])
        own = (
            _builder(subject, name, own_key)
            .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
            .sign(key, hashes.SHA256())
        )
        (directory / f"{stem}.pem").write_bytes(
            own_key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + own.public_bytes(serialization.Encoding.PEM)
        )
    return path


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
    )
