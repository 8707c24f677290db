"""Completion of commands, options and their values in bash, zsh and fish.

A script in the shell runs the program again with what was typed so far. The names of its variables
stay, because scripts that were installed earlier go on to use them.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from connector.cli.start import COMPLETION, PROGRAM

_FUNCTION: Final = "_binlog_connector_completion"
_TYPED: Final = "_TYPER_COMPLETE_ARGS"
_FISH_ACTION: Final = "_TYPER_COMPLETE_FISH_ACTION"
_EXIT_FAILED: Final = 1

_BASH: Final = f"""{_FUNCTION}() {{
    local IFS=$'\\n'
    COMPREPLY=( $( env COMP_WORDS="${{COMP_WORDS[*]}}" \\
                   COMP_CWORD=$COMP_CWORD \\
                   {COMPLETION}=complete_bash $1 ) )
    return 0
}}

complete -o default -F {_FUNCTION} {PROGRAM}
"""
_ZSH: Final = f"""#compdef {PROGRAM}

{_FUNCTION}() {{
  eval $(env {_TYPED}="${{words[1,$CURRENT]}}" {COMPLETION}=complete_zsh {PROGRAM})
}}

compdef {_FUNCTION} {PROGRAM}
"""
_FISH: Final = (
    f"complete --command {PROGRAM} --no-files "
    f'--arguments "(env {COMPLETION}=complete_fish {_FISH_ACTION}=get-args '
    f'{_TYPED}=(commandline -cp) {PROGRAM})" '
    f'--condition "env {COMPLETION}=complete_fish {_FISH_ACTION}=is-args '
    f'{_TYPED}=(commandline -cp) {PROGRAM}"\n'
)
_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def complete(asked: str, completions: Callable[[list[str], str], Iterable[tuple[str, str]]]) -> int:
    """Print what a shell asks for, `complete_bash` for example; return the exit code.

    `completions` gets the words before the begun one, and that one.
    """
    kind, _, shell = asked.partition("_")
    if shell not in _SCRIPTS or kind not in ("complete", "source"):
        sys.stderr.write(f"completion is not supported: {asked}\n")
        return _EXIT_FAILED
    if kind == "source":
        sys.stdout.write(_SCRIPTS[shell])
        return 0
    found = list(completions(*(_typed_in_bash() if shell == "bash" else _typed())))
    if shell == "fish" and os.environ.get(_FISH_ACTION) == "is-args":
        # Without words of ours, fish completes names of files.
        return 0 if found else _EXIT_FAILED
    sys.stdout.write(_WRITERS[shell](found) + "\n")
    return 0


def _typed_in_bash() -> tuple[list[str], str]:
    """Return the complete words before the cursor, and the begun one."""
    words = _split(os.environ["COMP_WORDS"])
    at = int(os.environ["COMP_CWORD"])
    return words[1:at], words[at] if at < len(words) else ""


def _typed() -> tuple[list[str], str]:
    line = os.environ.get(_TYPED, "")
    words = _split(line)[1:]
    return (words[:-1], words[-1]) if words and not line.endswith(" ") else (words, "")


def _split(line: str) -> list[str]:
    """Return the words of a line, which may end inside of quotes."""
    words = shlex.shlex(line, posix=True)
    words.whitespace_split, words.commenters = True, ""
    found: list[str] = []
    try:
        found.extend(words)
    except ValueError:
        found.append(words.token)
    return found


def _for_bash(found: list[tuple[str, str]]) -> str:
    return "\n".join(word for word, _ in found)


def _for_zsh(found: list[tuple[str, str]]) -> str:
    if not found:
        return "_files"
    words = "\n".join(":".join(f'"{_escaped(part)}"' for part in each if part) for each in found)
    return f"_arguments '*: :(({words}))'"


def _for_fish(found: list[tuple[str, str]]) -> str:
    return "\n".join("\t".join(part for part in each if part) for each in found)


_WRITERS: Final[dict[str, Callable[[list[tuple[str, str]]], str]]] = {
    "bash": _for_bash,
    "zsh": _for_zsh,
    "fish": _for_fish,
}


def _escaped(text: str) -> str:
    """Return a text for a string of zsh in double quotes, inside of single quotes."""
    for character, escape in (('"', '""'), ("'", "''"), ("$", "\\$"), ("`", "\\`"), (":", "\\\\:")):
        text = text.replace(character, escape)
    return text


def show() -> int:
    """Print the script of the current shell; return the exit code."""
    shell = _current_shell()
    if shell not in _SCRIPTS:
        return _refused(shell)
    sys.stdout.write(_SCRIPTS[shell])
    return 0


def install() -> int:
    """Write the script of the current shell where it finds it; return the exit code."""
    shell, home = _current_shell(), Path.home()
    if shell == "bash":
        path = home / ".bash_completions" / f"{PROGRAM}.sh"
        _append(home / ".bashrc", f"source '{path}'")
    elif shell == "zsh":
        path = home / ".zfunc" / f"_{PROGRAM}"
        _append(home / ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit")
        _append(home / ".zshrc", "zstyle ':completion:*' menu select", unless="zstyle")
    elif shell == "fish":
        path = home / ".config" / "fish" / "completions" / f"{PROGRAM}.fish"
    else:
        return _refused(shell)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_SCRIPTS[shell], encoding="utf-8")
    sys.stdout.write(
        f"{shell} completion installed in {path}\n"
        "Completion will take effect once you restart the terminal\n"
    )
    return 0


def _append(file: Path, line: str, unless: str = "") -> None:
    """Add a line to a file of a shell, unless it is there, or something like it."""
    text = file.read_text("utf-8") if file.is_file() else ""
    if (unless or line) not in text:
        file.write_text(f"{text}\n{line}\n", encoding="utf-8")


def _refused(shell: str) -> int:
    sys.stderr.write(f"completion is not supported in this shell: {shell or 'unknown'}\n")
    return _EXIT_FAILED


def _current_shell() -> str:
    """Return the name of the shell that has started this process; else that of the user."""
    process = os.getppid()
    while process > 1:
        try:
            # The name may have spaces, and stands in parentheses.
            name, _, facts = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")
        except OSError:
            break
        name = name.partition("(")[2].removeprefix("-")
        if name in _SCRIPTS:
            return name
        process = int(facts.split()[1])
    return Path(os.environ.get("SHELL", "")).name
