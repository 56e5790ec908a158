"""The command `remit`: handles hook events directly, and everything else in the command line."""

import atexit
import gc
import sys

_ALLOCATIONS = 100_000  # between garbage collections: loading a command makes nearly as many


def main() -> None:
    """Run the command; a hook has only milliseconds, so it never loads the command line."""
    gc.set_threshold(_ALLOCATIONS)
    atexit.register(gc.freeze)  # skip the collection at exit
    if sys.argv[1:] == ["hook"]:
        from remit.hooks.hook_command import main as run
    else:
        from remit.cli.app import main as run
    run()


if __name__ == "__main__":
    main()
