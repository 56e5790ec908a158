"""The page: what commands answer, in a browser on this machine."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.web.app import create_app
    from remit.web.guard import confined
    from remit.web.listing import Source
    from remit.web.live import LiveFeed, Worker
    from remit.web.page import Action, Answer, Done, Guard, Page, Request, Session

_MODULES = {
    "app": "create_app",
    "guard": "confined",
    "listing": "Source",
    "live": "LiveFeed Worker",
    "page": "Action Answer Done Guard Page Request Session",
}
_HOMES = {name: f"remit.web.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.web` has no attribute `{name}`")
