"""The events of recorded files, as the tests of the decoder have them."""

from tests.binlog.conftest import decode_file, recorded

__all__ = ["decode_file", "recorded"]
