"""Calls an object with a command line: `python -m remit.names.call MODULE:OBJECT [WORD]...`."""

import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Call the object named by the first argument, with the other arguments as its command line."""
    target = sys.argv.pop(1)
    module, _, name = target.partition(":")
    sys.argv[0] = module.partition(".")[0]
    found: Any = getattr(import_module(module), name)
    sys.exit(found())


if __name__ == "__main__":
    main()
