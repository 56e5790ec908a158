"""The command `remit`: answers hook events directly, and loads the command line for everything else."""

import atexit
import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.decision import Context

_INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended
_ALLOCATIONS = 100_000  # between garbage collections: loading a command makes nearly as many


def main() -> None:
    """Run the command."""
    gc.set_threshold(_ALLOCATIONS)
    atexit.register(gc.freeze)  # skip the collection at exit
    if sys.argv[1:2] == ["hook"]:  # the command line takes longer to load than a hook may take
        hook(sys.argv[2:])
    _run_command_line()


def _run_command_line() -> None:
    """Load and run the command line; Ctrl-C ends it without a traceback, also while it loads or exits."""
    try:
        import signal

        from remit.cli import main as run

        try:
            run()
        finally:
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def hook(words: Sequence[str], event: bytes | None = None) -> NoReturn:
    """Answer an event of a client, from standard input unless it was read already."""
    from remit.hooks import Parts, run

    run(words, Parts(_open_registry, _refresh_copies), event)


def _open_registry() -> "Registry":
    from remit.bootstrap import open_registry  # most hooks need none

    return open_registry()


def _refresh_copies(registry: "Registry", context: "Context") -> bool:
    from remit.bootstrap import refresh_copies  # at session start alone

    return refresh_copies(registry, context)


if __name__ == "__main__":
    main()
