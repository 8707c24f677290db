"""`verify --certificate` and `verify --check`: makes a certificate, and computes one again."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from connector.cli.configuration import loaded
from connector.cli.exit_codes import say
from connector.cli.log_input import password_of
from connector.cli.verify_foreign import compared, say_results
from connector.cli.verify_mirror import paced, shown
from connector.foundation.errors import DefiniteError
from connector.foundation.errors.message import visible
from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.replication.server.addresses import source_settings
from verification.certificate import certificate_errors, document
from verification.certificate.check import CheckedTable, check_source, check_tables, moment_of
from verification.certificate.foreign_run import ForeignCertification
from verification.certificate.run import Certification, CertifiedResult, certify, report_of
from verification.certificate.signature import check_signature, read_public_key, read_sign_key, sign
from verification.foreign.foreign_report import foreign_report
from verification.foreign.source_server import SourceServer
from verification.report import EXIT_EQUAL, EXIT_NOT_COMPARED, exit_code
from verification.run_progress import RunProgress

_NONE: Final = "not written, because no table is certified"


def make_certificate(arguments: Namespace) -> int:
    """Certify tables, write the file, and return the exit code of what is found.

    Raises DefiniteError if no table can be certified, and the errors of `loaded`, `certify`,
    `read_sign_key` and `write_certificate`.
    """
    # Before an hour is spent.
    key = None if arguments.sign_key is None else read_sign_key(arguments.sign_key)
    run = RunProgress()
    with shown(run):
        found = certify(
            paced(loaded(arguments.config), arguments.pace),
            arguments.mirror,
            arguments.tables,
            arguments.patience,
            arguments.rows_per_second or 0,
            run,
        )
    path: Path = arguments.certificate
    code = exit_code({result.verdict for result in found.results})
    _write(path, found.certificate, key)
    if arguments.json:
        written = None if found.certificate is None else str(path)
        _print({"certificate": written, "tables": report_of(found.results)})
    else:
        for line in _certified_lines(found.results):
            say(visible(line))
        say(visible(f"{path}: {_summary(found)}"))
    # What differs, or could not be compared now, is a result.
    if found.certificate is None and code in {EXIT_EQUAL, EXIT_NOT_COMPARED}:
        raise DefiniteError(certificate_errors.NOTHING, path=path)
    return code


def make_foreign_certificate(arguments: Namespace) -> int:
    """Certify tables that other programs have made, and write the file; return the exit code.

    Raises DefiniteError if no table can be certified, ConfigError for wrong arguments, the errors
    of connecting, and those of `read_sign_key` and `write_certificate`.
    """
    key = None if arguments.sign_key is None else read_sign_key(arguments.sign_key)
    path: Path = arguments.certificate
    source, choices, limits = compared(arguments)
    run = ForeignCertification(source, limits)
    progress = RunProgress()
    with shown(progress):
        results = run.results(choices, progress)
    certificate = run.certificate()
    _write(path, certificate, key)
    if arguments.json:
        written = None if certificate is None else str(path)
        report = foreign_report(results, with_values=not arguments.no_values)
        tables = [own | run.to_json(own["table"], own["target"]) for own in report["tables"]]
        _print({"certificate": written, **report, "tables": tables})
    else:
        for result in results:
            outcome = run.outcome(result.name, result.target)
            result.notes.append(_proof_line(outcome))
            # What was asked for is missing.
            result.is_notable = isinstance(outcome, str)
        say_results(results, arguments)
        count = f"{run.count} of {len(results)} tables are certified"
        say(visible(f"{path}: {_NONE if certificate is None else count}"))
    code = exit_code({result.verdict for result in results})
    # What differs, or could not be compared now, is a result.
    if certificate is None and code == EXIT_EQUAL:
        raise DefiniteError(certificate_errors.NOTHING, path=path)
    return code


def _proof_line(outcome: document.Moment | str) -> str:
    if isinstance(outcome, str):
        return f"  not certified: {outcome}"
    changed = "" if outcome.committed_at is None else f", changed last at {outcome.committed_at}"
    return f"  certified at {outcome.gtid_set or outcome.position}{changed}"


def _write(
    path: Path,
    certificate: document.AnyCertificate | None,
    key: Ed25519PrivateKey | None,
) -> None:
    """Write and sign a certificate, if there is one."""
    if certificate is None:
        return
    text = certificate.canonical
    signature = None if key is None else sign(text, key)
    document.write_certificate(
        path,
        document.SignedCertificate(
            certificate=certificate, sha256=document.digest(text), signature=signature
        ),
    )


def _certified_lines(results: Sequence[CertifiedResult]) -> Iterable[str]:
    for result in results:
        if result.error is not None:
            yield f"{result.name}: not certified: {result.error!s}"
        elif result.different:
            count = f"{len(result.different)} of {result.ranges} ranges of keys"
            yield f"{result.name}: different: {count}"
            yield from (f"  {_range(*bounds)}" for bounds in result.different)
        else:
            yield f"{result.name}: certified: {result.rows} rows in {result.ranges} ranges"


def _summary(found: Certification) -> str:
    if found.certificate is None:
        return _NONE
    source = found.certificate.source
    tables = f"{len(found.certificate.tables)} of {len(found.results)} tables"
    return f"{tables} are certified at {source.gtid_set or source.position}"


def _range(low: str | None, high: str | None) -> str:
    if low is None and high is None:
        return "all keys"
    if low is None:
        return f"keys up to {high}"
    return f"keys from {low}" if high is None else f"keys from {low} to {high}"


def check_certificate(arguments: Namespace) -> int:
    """Compute a certificate again, print what differs, and return the exit code of it.

    Raises the errors of `read_certificate`, `check_signature` and `check_source`, and ConfigError
    for wrong arguments.
    """
    path: Path = arguments.check
    public = None if arguments.public_key is None else read_public_key(arguments.public_key)
    signed = document.read_certificate(path)
    signer = check_signature(path, signed, public)
    own = signed.certificate
    progress = RunProgress()
    with shown(progress):
        if arguments.config is None:
            results = list(check_tables(own, progress))
        else:
            source, snapshot = _source(arguments)
            limits = arguments.patience, arguments.rows_per_second or 0
            with SourceServer(source, snapshot, *limits) as server:
                results = list(check_source(own, server, progress))
    if arguments.json:
        report = {"certificate": str(path), "signed_by": signer, "gtid_set": _only_gtid_set(own)}
        _print({**report, "tables": [result.to_json() for result in results]})
    else:
        for line in _checked_lines(results):
            say(visible(line))
        where = _where(own)
        by = "it is not signed" if signer is None else f"signed by {signer}"
        say(visible(f"{path}: of {own.made_at}, at {where}; {by}"))
    return exit_code({result.verdict for result in results})


def _only_gtid_set(certificate: document.AnyCertificate) -> str | None:
    """Return the GTID set at which all tables are equal; None if each has its own."""
    if isinstance(certificate, document.Certificate):
        return certificate.source.gtid_set
    sets = {moment_of(certificate, own).gtid_set for own in certificate.tables}
    return sets.pop() if len(sets) == 1 else None


def _where(certificate: document.AnyCertificate) -> str:
    """Return the moment of all tables, or how many moments there are."""
    if isinstance(certificate, document.Certificate):
        return certificate.source.gtid_set or certificate.source.position
    every = (moment_of(certificate, own) for own in certificate.tables)
    moments = {moment.gtid_set or moment.position for moment in every}
    return moments.pop() if len(moments) == 1 else f"{len(moments)} moments"


def _source(arguments: Namespace) -> tuple[SourceSettings, SnapshotSettings]:
    """Return the source, and how it is read."""
    text: str = arguments.config
    if "://" in text:
        source = source_settings(text, password=password_of(text, arguments.password_env))
        return source, SnapshotSettings(pace=arguments.pace or "adaptive")
    settings = paced(loaded(Path(text)), arguments.pace)
    return settings.source, settings.snapshot


def _checked_lines(results: Iterable[CheckedTable]) -> Iterable[str]:
    for result in results:
        if result.error is not None:
            yield f"{result.title}: not finished: {result.error!s}"
            continue
        if not result.different:
            yield f"{result.title}: equal: {result.rows} rows in {result.ranges} ranges"
            continue
        count = f"{len(result.different)} of {result.ranges} ranges of keys differ"
        since = ", perhaps by transactions since the certificate" if result.is_later else ""
        yield f"{result.title}: {result.verdict}: {count}{since}"
        for certified, rows, _ in result.different:
            where = _range(certified.low, certified.high)
            yield f"  {where}: {rows} rows, and {certified.rows} in the certificate"


def _print(report: dict[str, Any]) -> None:
    json.dump(report, sys.stdout, indent=2)
    sys.stdout.write("\n")
