"""The pages in the order of the navigation, and the forms that change something."""

from remit.web.page import Action, Page
from remit.web.pages import calls, doctor, memory, overview, search, tools, waiting, why

PAGES = (
    Page("/overview", "Overview", overview.read),
    Page("/here", "Tools", tools.read),
    Page("/waiting", "Waiting", waiting.read),
    Page("/calls", "Calls", calls.read),
    Page("/search", "Search", search.read),
    Page("/doctor", "Doctor", doctor.read),
    Page("/why", "", why.read, takes_name=True),
)
PAGES_WITH_MEMORY = (*PAGES[:-1], Page("/memory", "Memory", memory.read), PAGES[-1])
ACTIONS = (
    Action("/waiting/call", waiting.answer_call),
    Action("/waiting/trust", waiting.settle),
    Action("/memory/delete", memory.delete),
)
