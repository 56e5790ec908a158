"""The command `remit`: a hook's event goes the short way, everything else to the command line."""

import atexit
import gc
import sys

_ALLOCATIONS = 100_000  # between two looks for garbage: to load a command makes nearly as many


def main() -> None:
    """Run what was asked for; a hook has milliseconds, and never loads the command line."""
    gc.set_threshold(_ALLOCATIONS)
    atexit.register(gc.freeze)  # what is left at the end goes with the process: nobody need look for it
    if sys.argv[1:] == ["hook"]:
        from remit.hooks.hook_command import main as run
    else:
        from remit.cli.app import main as run
    run()


if __name__ == "__main__":
    main()
