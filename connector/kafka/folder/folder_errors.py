"""The folder of a log: why it cannot be used, and damage."""

from errno import EROFS
from pathlib import Path

from connector.foundation.errors import code
from connector.foundation.errors.kinds import SinkRefused

NO_LOCKS = code.ErrorCode(
    "K601",
    "the log in {folder} cannot be used: its file system has no locks: {why}",
    "move the folder to a local disk, and name it in {kafka.bootstrap_servers}",
    cause="Only one process may write the log. It takes a lock with `flock`, which some network "
    "file systems refuse.",
    example={"folder": "/var/lib/cdc/log", "why": "No locks available"},
)
DAMAGED = code.ErrorCode(
    "K602",
    "the log is damaged: {file} at byte {position}: {what}",
    "restore the folder from a backup, or remove it, and let the connector copy the tables again",
    cause="Bytes that were on the disk have changed. This is not the effect of a power failure, "
    "whose traces at the end of the log are removed without an error. The disk is faulty, or "
    "another program has written to the file or removed it.",
    example={
        "file": "/var/lib/cdc/log/00000000000000000007.log",
        "position": 4096,
        "what": "a frame has a wrong checksum",
    },
)
UNUSABLE = code.ErrorCode(
    "K603",
    "the log in {folder} cannot be opened, or written: {why}",
    "let the user of this process read and write the folder, and keep room on its disk",
    end=code.End.PASSING,
    cause="The operating system refuses to open or to write files of the folder.",
    example={"folder": "/var/lib/cdc/log", "why": "Permission denied"},
)
NEWER = code.ErrorCode(
    "K604",
    "the log was written by a newer version: it has {what} {number}",
    "upgrade this program, too, and start it again",
    cause="Each program that uses a folder may serve its log to the others, so all of them need a "
    "version that reads what any of them writes. The log is left as it is.",
    example={"what": "a frame of kind", "number": 12},
)
NETWORK = code.ErrorCode(
    "K605",
    "the log in {folder} cannot be used: it is on a network file system ({kind})",
    "move the folder to a local disk, and name it in {kafka.bootstrap_servers}",
    cause="Other machines can mount such a file system, and its locks may keep out only processes "
    "of one machine. Two machines would then write one log.",
    example={"folder": "/mnt/share/log", "kind": "nfs4"},
)
READ_ONLY = code.ErrorCode(
    "K606",
    "the log in {folder} cannot be written: its file system is read-only",
    "repair the disk, or mount it for writing; then start this program again: it goes on where it "
    "stopped",
    cause="The kernel makes a file system read-only after an error of its disk, or somebody has "
    "mounted it so. It does not become writable again while programs wait for it. Nothing is lost "
    "while the source keeps its binary log.",
    example={"folder": "/var/lib/cdc/log"},
)

# Nobody gets a connection to such a log before somebody has fixed something.
FINAL = NO_LOCKS, DAMAGED, NEWER, NETWORK, READ_ONLY


class FolderUnusable(SinkRefused):
    """The operating system refuses to open or to write the folder of a log."""

    def __init__(self, folder: Path, error: BaseException) -> None:
        """Name the folder, and take the reason from the error of the operating system."""
        if isinstance(error, OSError) and error.errno == EROFS:
            super().__init__(READ_ONLY, folder=folder)
            return
        why = getattr(error, "strerror", None) or str(error)
        super().__init__(UNUSABLE, folder=folder, why=why)


class LogDamaged(SinkRefused):
    """Bytes of the log that had been on the disk are different or missing."""

    def __init__(self, file: Path, position: int, what: str) -> None:
        """Name a file, a position in it in bytes, and what is wrong there."""
        super().__init__(DAMAGED, file=file, position=position, what=what)


class LogNewer(SinkRefused):
    """The log has something that only a newer version reads."""

    def __init__(self, what: str, number: int) -> None:
        """Name what that is, and its number."""
        super().__init__(NEWER, what=what, number=number)
