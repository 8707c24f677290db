"""Requests to a running pipeline."""

from connector.foundation.errors.code import configuration_error, notice

TOO_LARGE = configuration_error(
    "R101",
    "the request has {size} bytes, of {limit} at most",
    "ask for fewer tables at a time",
    cause="A request names each table that is to be copied, and its size is limited.",
    example={"size": 300_000, "limit": 262_144},
)

REQUEST = notice(
    "R131",
    "{reason}",
    cause="Every account with the right to write to the topic of commands can make a request, so "
    "a request is not trusted. This one is not done, and the stream goes on.",
)
SIZE = REQUEST.because("it has {size} bytes, of {limit} at most", was="R111")
NOT_JSON = REQUEST.because("it is not JSON", was="R112")
NO_COMMAND = REQUEST.because("it is not a JSON object with a command", was="R113")
UNKNOWN_KEYS = REQUEST.because("it has unknown keys: {keys}", was="R114")
NO_TABLE = REQUEST.because("it names a table that no server can have", was="R115")
KEY_NOT_TEXT = REQUEST.because("key is not a text", was="R116")
WHERE_NOT_TEXT = REQUEST.because("where is not a text of {limit} characters at most", was="R117")
TABLES_NOT_PAIRS = REQUEST.because("tables is not a list of pairs of names", was="R118")
UNKNOWN_COMMAND = REQUEST.because("its command is not known", was="R119")
KEYS_NOT_TEXTS = REQUEST.because(
    "keys is not a list of {keys} texts at most, of {characters} characters together", was="R120"
)
KEYS_ALONE = REQUEST.because("it has keys, and not one table and a condition", was="R121")
NO_SIGNAL = REQUEST.because(
    "it is not a JSON object with a type, and an object as its data", was="R122"
)
UNKNOWN_SIGNAL = REQUEST.because("its type is none of {known}", was="R123")
SNAPSHOT_TYPE = REQUEST.because("its snapshot type is {type}, and not {known}", was="R124")
DATA_COLLECTIONS = REQUEST.because(
    "data-collections is not a list of names such as shop.orders", was="R125"
)
ADDITIONAL_CONDITIONS = REQUEST.because(
    "additional-conditions is not a list of objects with data-collection and filter", was="R126"
)
NO_MESSAGE = REQUEST.because("its message is not a text", was="R127")
SURROGATE_KEY = REQUEST.because("surrogate-key is not the name of a column", was="R129")

SET_POSITION = notice(
    "R130",
    "the position of a stream is not changed by a signal",
    "give the pipeline another name, and the position as {source.start}",
    cause="Changes would be left out or repeated, and each account that may write a signal could "
    "do that.",
)
SIGNAL_FILE = notice(
    "R128",
    "file of {signals.file} {path}: {said}",
    "let the account of the pipeline rename and remove files in that folder",
    cause="The pipeline renames the file, so that no signal is lost that is appended meanwhile. "
    "It tries again, and the stream goes on.",
    example={"path": "/var/lib/cdc/signals.txt", "said": "Permission denied"},
)
