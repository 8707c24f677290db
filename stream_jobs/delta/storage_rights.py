"""What an account must be allowed in a bucket or container, and errors that say what it lacks."""

import uuid
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, delta_errors

Action = Literal["read", "write", "list", "delete"]


class Access(NamedTuple):
    """How accounts of a kind of storage get their rights."""

    rights: dict[Action, str]
    variables: str  # of the environment, with the credentials


AMAZON: Final = Access(
    {
        "read": "s3:GetObject",
        "write": "s3:PutObject",
        "list": "s3:ListBucket of the bucket",
        "delete": "s3:DeleteObject",
    },
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE,",
)
_ROLE: Final = "the role Storage Blob Data Contributor, or a signature with"
AZURE: Final = Access(
    {
        "read": f"{_ROLE} r",
        "write": f"{_ROLE} c and w",
        "list": f"{_ROLE} l",
        "delete": f"{_ROLE} d",
    },
    "AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_KEY, or "
    "AZURE_CLIENT_ID with AZURE_TENANT_ID and AZURE_CLIENT_SECRET",
)
GOOGLE: Final = Access(
    {
        "read": "storage.objects.get",
        "write": "storage.objects.create and storage.objects.delete",
        "list": "storage.objects.list",
        "delete": "storage.objects.delete",
    },
    "GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT",
)


def try_rights(storage: Storage, bucket: str) -> None:
    """Do once all that a mirror does.

    Raises MirrorError for what this process may not do, and if a conditional put overwrites.
    """
    path = f"_binlog-connector-{uuid.uuid4().hex}"
    storage.put_if_absent(path, b"1")
    try:
        overwritten = storage.put_if_absent(path, b"2")
        storage.write(path, b"3")
        storage.read(path)
        next(storage.list("_cdc"), None)
    except MirrorError:
        with suppress(MirrorError):
            storage.delete(path)
        raise
    storage.delete(path)
    if overwritten:
        raise MirrorError(delta_errors.OVERWRITES, bucket=bucket)


def no_right(access: Access, path: str, action: Action, said: str) -> MirrorError:
    """Return the error that an account may not do something with `path`, as the storage `said`."""
    right = access.rights[action]
    return MirrorError(delta_errors.NO_RIGHT, path=path, action=action, right=right, said=said)


def no_login(access: Access, path: str, said: str) -> MirrorError:
    """Return the error that the storage does not know who asks for `path`."""
    facts = {"path": path, "said": said, "variables": access.variables}
    return MirrorError(delta_errors.NO_LOGIN, **facts)
