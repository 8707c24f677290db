"""The file system of a folder: a log must not be on one that other machines can mount.

There, `flock` may lock for one machine alone: that of NFS with `nolock` or `local_lock`, of SSHFS
and of 9p does. Two machines would then write one log.
"""

import os
from pathlib import Path
from typing import Final

_MOUNTS: Final = Path("/proc/self/mountinfo")
_OPEN_FILES: Final = Path("/proc/self/fdinfo")
_MOUNT_ID: Final = "mnt_id:"
_NETWORK: Final = frozenset(
    (
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "prl_fs",
        "pvfs2",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
    )
)
# Their types are fuse.NAME.
_NETWORK_IN_USER_SPACE: Final = frozenset(
    (
        "blobfuse",
        "blobfuse2",
        "ceph",
        "ceph-fuse",
        "curlftpfs",
        "gcsfuse",
        "glusterfs",
        "juicefs",
        "mount-s3",
        "mfs",
        "rclone",
        "s3fs",
        "seaweedfs",
        "smbnetfs",
        "sshfs",
        "vmhgfs-fuse",
    )
)


def network_type(folder: Path) -> str | None:
    """Return the type of the network file system that a folder is on; None for a local one.

    Without /proc, as on macOS, nobody knows, and it is None. Raises OSError for a folder that
    cannot be opened.
    """
    if not _OPEN_FILES.exists():
        return None
    descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        facts = (_OPEN_FILES / str(descriptor)).read_text()
    finally:
        os.close(descriptor)
    mount = next((each.split()[1] for each in facts.splitlines() if each.startswith(_MOUNT_ID)), "")
    kind = _type_of(_MOUNTS.read_bytes(), mount.encode())
    family, _, name = kind.partition(".")
    is_shared = name in _NETWORK_IN_USER_SPACE if family == "fuse" else kind in _NETWORK
    return kind if is_shared else None


def _type_of(mounts: bytes, mount: bytes) -> str:
    """Return the type of a mount, "" for an unknown one.

    A line is `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD …] - TYPE SOURCE OPTIONS`
    (https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html).
    """
    for line in mounts.splitlines():
        fields = line.split(b" ")
        if fields[0] == mount and b"-" in fields[6:-1]:
            return fields[fields.index(b"-", 6) + 1].decode(errors="replace")
    return ""
