"""The command `remit`."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.decision import Context


def main() -> None:
    """Run the command."""
    if sys.argv[1:2] == ["hook"]:  # the command line takes longer to load than a hook may take
        hook(sys.argv[2:])
    from remit.cli import main as run

    run()


def hook(words: Sequence[str], event: bytes | None = None) -> NoReturn:
    """Answer an event of a client, from standard input unless it was read already."""
    from remit.hooks.main import Parts, run  # past the interface, which is for longer processes

    run(words, Parts(_open_registry, _refresh_copies), event)


def _open_registry() -> "Registry":
    from remit.bootstrap import open_registry  # most hooks need none

    return open_registry()


def _refresh_copies(registry: "Registry", context: "Context") -> bool:
    del registry, context
    return False


if __name__ == "__main__":
    main()
