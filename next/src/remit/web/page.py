"""What a page is: a path, a function that reads, and templates; and what changes something."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from remit.cli import Here, Line

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.responses import Response
    from starlette.types import Scope

    from remit.web.listing import Source

CHOICES = ("client", "agent", "mode")  # parameters that every page takes

Values = Mapping[str, object]
Item = TypeVar("Item")


@dataclass(slots=True, kw_only=True)
class Session:
    """One browser: where it looks, and whether it may decide."""

    here: Here
    may_decide: bool
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    notices: list[str] = field(default_factory=list[str])  # shown on the next page

    def take_notices(self) -> list[str]:
        """Return the notices, and forget them."""
        taken, self.notices = self.notices, []
        return taken


class Guard(Protocol):
    """Lets requests pass, each with the session of its browser."""

    def check(self, scope: "Scope", headers: "Headers") -> "Session | Response":
        """Return the session of a request, or the answer that refuses it."""
        ...

    def sign_out(self, session: Session) -> None:
        """End a session."""
        ...


class Request(NamedTuple):
    """What a browser asks for."""

    here: Here
    params: Mapping[str, str] = {}
    name: str = ""  # what follows the path of the page

    @property
    def kept(self) -> dict[str, str]:
        """The parameters that links to other pages keep."""
        return {name: self.params[name] for name in CHOICES if self.params.get(name)}

    def number(self, name: str) -> int:
        """Return a parameter as a number; 0 if it is none."""
        given = self.params.get(name, "")
        return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0


class Answer(NamedTuple):
    """What a page shows, in two forms of which one is made."""

    template: str
    shape: Callable[[], Mapping[str, Any]]  # the JSON of the command
    values: Callable[[], Values]
    part: str | None = None  # the block of the template that is replaced in the page
    status: int = 200  # of the JSON


class Page(NamedTuple):
    """A page; one without a title is not in the navigation."""

    path: str
    title: str
    read: "Callable[[Source, Request], Answer]"
    takes_name: bool = False


class Done(NamedTuple):
    """What became of a form: the page to show next, and what it says."""

    location: str
    notice: str


class Action(NamedTuple):
    """A form that changes something."""

    path: str
    act: "Callable[[Source, Request], Done]"


def plain(line: Line) -> str:
    """Return a line of a command without its styles."""
    return line if isinstance(line, str) else "".join(text for text, _ in line)


class Paged(NamedTuple, Generic[Item]):
    """One page of a list; numbers and positions count from 1."""

    items: Sequence[Item]
    number: int
    pages: int
    total: int
    first: int

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
