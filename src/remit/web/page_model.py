"""What a page is: a path, a handler that reads the registry, and a template.

A handler returns an answer with two faces, of which only one is made: the JSON that the command prints, and
the values of the template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from remit.cli.options import WorkspaceOptions

if TYPE_CHECKING:
    from remit.cli.output.json_output import Shape
    from remit.configuration.config_model import ConfigurationLayer, Role
    from remit.decision.projects import Project, Workspace
    from remit.gateway.access.token_grants import Grant
    from remit.gateway.transports.status_files import StatusFiles
    from remit.install.change_journal import ChangeJournal
    from remit.memory.project_memory import Memory
    from remit.registry import Registry
    from remit.scanning.ports import Notifier
    from remit.store.postgres.team_store import SqlTeams
    from remit.store.store_facts import StoreFacts
    from remit.upstream.oauth.server_login import ServerLogin
    from remit.web.listing_cache import ListingCache


SESSION = "remit.session"  # in the scope of a request that passed
VIEW = "remit.view"
CHOICES = ("client", "agent", "mode")  # parameters that every page takes

Values = Mapping[str, object]
Item = TypeVar("Item")


class RulesText(Protocol):
    """Rules that a page edits: a file, or those of a team in the store."""

    path: str

    @property
    def text(self) -> str: ...

    def write(self, text: str) -> None: ...


class WebOpeners(NamedTuple):
    """Opens the resources of the page."""

    registry: Callable[[], Registry]
    notifier: Callable[[], Notifier]
    status_files: Callable[[], StatusFiles]
    login: Callable[[], ServerLogin]
    memory: Callable[[str], Memory]  # of a directory
    rules: Callable[[ConfigurationLayer, Workspace], RulesText]
    journal: Callable[[], ChangeJournal]
    follow_rules: Callable[[], None]  # brings the rules that Remit wrote into clients in step
    store_facts: Callable[[], StoreFacts]


class TeamSources(NamedTuple):
    """What only the pages of a gateway read."""

    teams: Callable[[], SqlTeams]  # opens them
    grants: Callable[[], Sequence[Grant]]  # of all tokens


class PageSources(NamedTuple):
    """What handlers read; only one thread uses it at a time."""

    registry: Registry
    listings: ListingCache
    status_files: StatusFiles
    login: ServerLogin
    openers: WebOpeners
    team: TeamSources | None = None  # None: `remit web`


class Viewer(NamedTuple):
    """A person who signed in at a gateway."""

    name: str  # of the principal
    role: Role  # in the project of the page
    reaches: Callable[[Project], bool] = lambda _: False  # whether it has a role in another project
    is_in_team: bool = False  # the project of the page is one of a team
    manages_team: bool = False  # administrator of every project of the team


class PageRequest(NamedTuple):
    """What a request asks for: who looks from where, and the rest of its URL or form."""

    options: WorkspaceOptions
    params: Mapping[str, str]
    name: str = ""  # the part of the path after the page's own
    viewer: Viewer | None = None  # None: the user of this machine

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
    role: Role | None = None  # that sees it on a gateway; None: only `remit web` has it
    is_of_team: bool = False  # on a gateway, only projects of teams have it
    manages_team: bool = False  # on a gateway, only administrators of the whole team see it
    counts_as_call: bool = False  # with a query, as for MCP clients


class ActionResult(NamedTuple):
    """What became of a form."""

    location: str  # the page to show next
    notice: str  # what to tell there


class Action(NamedTuple):
    """A form that changes something: it needs the code, or on a gateway a role."""

    path: str
    act: Callable[[PageSources, PageRequest], ActionResult]
    role: Role | None = None  # that may do it on a gateway
    is_of_team: bool = False  # as for pages
    manages_team: bool = False


class PageView(NamedTuple):
    """What one request can reach."""

    options: WorkspaceOptions
    pages: Sequence[Page]
    actions: Sequence[Action]
    viewer: Viewer | None = None
    root: str = ""  # before the paths of pages
    site: str = ""  # before the paths that all projects share
    is_outdated: bool = False  # the store cannot be reached, so only what is in memory can be shown


class PageSession(Protocol):
    """A browser's session, as pages use it."""

    csrf: str
    notices: list[str]  # shown on the next page

    @property
    def may_decide(self) -> bool: ...

    @property
    def needs_code(self) -> bool: ...  # for decisions

    def proves(self, given: str) -> bool: ...  # that the code was entered

    def take_notices(self) -> list[str]: ...


class Paged(NamedTuple, Generic[Item]):
    """One page of a list."""

    items: Sequence[Item]
    number: int  # from 1
    pages: int  # at least 1
    total: int  # of items on all pages
    first: int  # position of the first item, from 1

    @property
    def last(self) -> int:
        """The position of the last item."""
        return self.first + len(self.items) - 1


def paged(items: Sequence[Item], number: int, size: int) -> Paged[Item]:
    """Return a page of a list, the last one if there are fewer."""
    pages = max(1, -(-len(items) // size))
    number = min(max(number, 1), pages)
    start = (number - 1) * size
    return Paged(items[start : start + size], number, pages, len(items), start + 1)


def page_of(items: Sequence[Item], number: int, size: int, total: int) -> Paged[Item]:
    """Return a page whose items were read already."""
    return Paged(items, number, max(1, -(-total // size)), total, (number - 1) * size + 1)
