"""The pages in the order of the navigation, the forms that change something, and who may use which."""

from remit.configuration.config_model import Role
from remit.web.page_model import Action, Page, Viewer
from remit.web.pages import (
    calls_page,
    cost_page,
    here_page,
    memory_page,
    search_page,
    servers_page,
    simulate_page,
    team_page,
    tokens_page,
    waiting_page,
    why_page,
)

PAGES = (
    Page("/here", "Here", here_page.read, role=Role.READER),
    Page("/why", "Why", why_page.read, takes_name=True, role=Role.READER),
    Page(waiting_page.PATH, "Waiting", waiting_page.read, role=Role.APPROVER),
    Page("/calls", "Calls", calls_page.read, downloads=("csv", "jsonl"), role=Role.USER),
    Page("/cost", "Cost", cost_page.read),
    Page("/search", "Search", search_page.read, role=Role.READER, counts_as_call=True),
    Page(memory_page.PATH, "Memory", memory_page.read),
    Page("/servers", "Servers", servers_page.read),
    Page(
        simulate_page.PATH,
        "Simulate",
        simulate_page.read,
        takes_form=True,
        role=Role.ADMIN,
        is_of_team=True,
        manages_team=True,
    ),
)
ACTIONS = (
    Action("/waiting/call", waiting_page.answer_call, role=Role.APPROVER),
    Action("/waiting/trust", waiting_page.settle),
    Action("/memory/act", memory_page.act),
    Action("/simulate/write", simulate_page.write, role=Role.ADMIN, is_of_team=True, manages_team=True),
    Action("/simulate/undo", simulate_page.undo),
)
GATEWAY_PAGES = (  # `remit web` has no people
    Page("/team", "Team", team_page.read, role=Role.ADMIN, is_of_team=True),
    Page("/tokens", "Tokens", tokens_page.read, role=Role.ADMIN),
)


def pages_for(viewer: Viewer) -> tuple[Page, ...]:
    """List the pages that a person sees on a gateway."""
    return tuple(each for each in (*PAGES, *GATEWAY_PAGES) if _may(viewer, each))


def actions_for(viewer: Viewer) -> tuple[Action, ...]:
    """List the forms that a person may send on a gateway."""
    return tuple(each for each in ACTIONS if _may(viewer, each))


def _may(viewer: Viewer, what: Page | Action) -> bool:
    """Decide what a role may see and do; nothing else does."""
    if what.role is None or not viewer.role.includes(what.role):
        return False
    if what.is_of_team and not viewer.is_in_team:
        return False
    return viewer.manages_team or not what.manages_team
