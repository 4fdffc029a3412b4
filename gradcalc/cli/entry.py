"""Where the process begins: until all is loaded, Ctrl-C ends it as it ends any program."""

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Loads the command line, and runs it."""
    heard = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # as it is behind a script's &
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of a half-loaded module
    from gradcalc.cli.main import main as run

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()
