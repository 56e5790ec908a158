"""The command `remit`: a hook's event goes the short way, everything else to the command line."""

import sys


def main() -> None:
    """Run what was asked for; a hook has milliseconds, and never loads the command line."""
    if sys.argv[1:] == ["hook"]:
        from remit.apps.hooks.main import main as run
    else:
        from remit.apps.cli.main import main as run
    run()
