"""What a page is: a path, a handler that reads the registry, and a template.

A handler returns an answer with two faces, of which only one is made: the JSON that the command prints, and
the values of the template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from remit.cli.options import WorkspaceOptions

if TYPE_CHECKING:
    from remit.cli.json_output import Shape
    from remit.configuration.config_model import ConfigurationLayer
    from remit.configuration.editable_file import EditableFile
    from remit.decision.projects import Workspace
    from remit.gateway.transports.status_files import StatusFiles
    from remit.install.change_journal import ChangeJournal
    from remit.memory.project_memory import Memory
    from remit.registry import Registry
    from remit.scanning.ports import Notifier
    from remit.store.store_facts import StoreFacts
    from remit.upstream.oauth.server_login import ServerLogin
    from remit.web.listing_cache import ListingCache

CHOICES = ("client", "agent", "mode")  # parameters that every page takes

Values = Mapping[str, object]


class WebOpeners(NamedTuple):
    """Opens the resources of the page."""

    registry: Callable[[], Registry]
    notifier: Callable[[], Notifier]
    status_files: Callable[[], StatusFiles]
    login: Callable[[], ServerLogin]
    memory: Callable[[str], Memory]  # of a directory
    rules: Callable[[ConfigurationLayer, Workspace], EditableFile]
    journal: Callable[[], ChangeJournal]
    follow_rules: Callable[[], None]  # brings the rules that Remit wrote into clients in step
    store_facts: Callable[[], StoreFacts]


class PageSources(NamedTuple):
    """What handlers read; only one thread uses it at a time."""

    registry: Registry
    listings: ListingCache
    status_files: StatusFiles
    login: ServerLogin
    openers: WebOpeners


class PageRequest(NamedTuple):
    """What a request asks for: who looks from where, and the rest of its URL or form."""

    options: WorkspaceOptions
    params: Mapping[str, str]
    name: str = ""  # the part of the path after the page's own

    @property
    def kept(self) -> dict[str, str]:
        """The parameters that links to other pages keep."""
        return {name: self.params[name] for name in CHOICES if self.params.get(name)}

    def number(self, name: str, default: int = 1) -> int:
        """Return a parameter as a positive number."""
        given = self.params.get(name, "")
        return max(int(given), 1) if given.isascii() and given.isdecimal() and len(given) < 10 else default


class Download(NamedTuple):
    """A file that a page offers."""

    name: str
    media_type: str
    text: str


class PageAnswer(NamedTuple):
    """The answer of a handler."""

    template: str
    shape: Callable[[], Shape]
    values: Callable[[], Values]
    fragment: str | None = None  # the template that a part of the page is replaced with
    status: int = 200  # of the JSON: a page that explains what went wrong is a page
    downloads: Mapping[str, Callable[[], Download]] = {}  # by the end of the path


class Page(NamedTuple):
    """A page, as the navigation shows it."""

    path: str
    title: str
    read: Callable[[PageSources, PageRequest], PageAnswer]
    takes_name: bool = False  # `/why/NAME`
    is_listed: bool = True  # in the navigation
    downloads: tuple[str, ...] = ()  # the ends of the paths of its files
    takes_form: bool = False  # it also answers a form that changes nothing


class ActionResult(NamedTuple):
    """What became of a form."""

    location: str  # the page to show next
    notice: str  # what to tell there


class Action(NamedTuple):
    """A form that changes something: it needs the code."""

    path: str
    act: Callable[[PageSources, PageRequest], ActionResult]
