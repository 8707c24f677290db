"""The signals of the suite are those of a program that somebody starts in a terminal.

A shell that runs a script lets what it starts in the background ignore Ctrl-C, and so do CI
systems; what ignores or blocks a signal lets all of its children do so. The tests send signals to
the programs that they start.
"""

from __future__ import annotations

import signal

# What tests send, and what a parent must not ignore: else nobody learns how a child has ended.
SENT = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGALRM,
    signal.SIGCHLD,
)


def reset() -> None:
    """Take no signal of these as ignored or blocked, whatever started this process."""
    for number in SENT:
        if signal.getsignal(number) is signal.SIG_IGN:
            is_ctrl_c = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_ctrl_c else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SENT)
