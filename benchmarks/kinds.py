"""The short names under which all decoders count changes."""

KINDS = {"insert": "ins", "update": "upd", "delete": "del", "c": "ins", "u": "upd", "d": "del"}
