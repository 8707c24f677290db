"""The profile in the files of ~/.aws, which boto3 knows; it takes long to import.

https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
"""

from datetime import timedelta
from typing import Final

import boto3
from botocore.exceptions import BotoCoreError
from obstore.auth.boto3 import Boto3CredentialProvider

# boto3 renews what ends in the next ten minutes.
_TOKEN_TTL: Final = timedelta(minutes=5)


def provider_and_endpoint() -> tuple[Boto3CredentialProvider | None, str | None]:
    """Return who gives the credentials of the profile, and its endpoint; None for what it lacks.

    Raises ValueError if the files are wrong.
    """
    try:
        session = boto3.Session()
        if session.get_credentials() is None:
            return None, None
        endpoint = session._session.get_scoped_config().get("endpoint_url")  # noqa: SLF001
        return Boto3CredentialProvider(session, ttl=_TOKEN_TTL), endpoint
    except BotoCoreError as error:
        raise ValueError(str(error)) from error
