"""Values of configuration files as TOML."""

import json


def toml_value(value: object) -> str:
    """Return a text, number, list or table of such values in the form of TOML, on one line."""
    if isinstance(value, dict):
        members = ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {members} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    # TOML has the escapes of JSON, and wants one for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
