"""Calls an object of a module with a command line: `python -m remit.names.call MODULE:OBJECT [WORD]...`."""

import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Call the object that the first word names, with the other words as the command line."""
    target = sys.argv.pop(1)
    module, _, name = target.partition(":")
    sys.argv[0] = module.partition(".")[0]
    found: Any = getattr(import_module(module), name)
    sys.exit(found())


if __name__ == "__main__":
    main()
