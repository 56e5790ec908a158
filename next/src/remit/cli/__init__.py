"""The command line."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.cli.app import main

__all__ = ["main"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from remit.cli import app

    return getattr(app, name)
