"""Z85: the text form of bytes in descriptors of deletion vectors.

https://rfc.zeromq.org/spec/32/
"""

from __future__ import annotations

import struct

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_WORD_MAX = 0xFFFFFFFF


def encode(content: bytes) -> str:
    """Return the text of `content`, whose length is a multiple of four."""
    digits = []
    for (word,) in struct.iter_unpack(">I", content):
        digits += [_DIGITS[word // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(digits)


def decode(text: str) -> bytes:
    """Return the bytes of `text`; raises ValueError if it is not Z85."""
    if len(text) % 5 or not _VALUES.keys() >= set(text):
        raise ValueError(text)
    content = bytearray()
    for start in range(0, len(text), 5):
        word = 0
        for digit in text[start : start + 5]:
            word = word * 85 + _VALUES[digit]
        if word > _WORD_MAX:
            raise ValueError(text)
        content += struct.pack(">I", word)
    return bytes(content)
