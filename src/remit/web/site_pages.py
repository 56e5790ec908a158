"""The pages in the order of the navigation, and the forms that change something."""

from remit.web.page_model import Action, Page
from remit.web.pages import (
    calls_page,
    cost_page,
    here_page,
    memory_page,
    search_page,
    servers_page,
    simulate_page,
    waiting_page,
    why_page,
)

PAGES = (
    Page("/here", "Here", here_page.read),
    Page("/why", "Why", why_page.read, takes_name=True),
    Page(waiting_page.PATH, "Waiting", waiting_page.read),
    Page("/calls", "Calls", calls_page.read, downloads=("csv", "jsonl")),
    Page("/cost", "Cost", cost_page.read),
    Page("/search", "Search", search_page.read),
    Page(memory_page.PATH, "Memory", memory_page.read),
    Page("/servers", "Servers", servers_page.read),
    Page(simulate_page.PATH, "Simulate", simulate_page.read, takes_form=True),
)
ACTIONS = (
    Action("/waiting/call", waiting_page.answer_call),
    Action("/waiting/trust", waiting_page.settle),
    Action("/memory/act", memory_page.act),
    Action("/simulate/write", simulate_page.write),
    Action("/simulate/undo", simulate_page.undo),
)
