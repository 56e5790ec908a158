"""The pages in the order of the navigation, and the forms that change something."""

from remit.web.page_model import Action, Page
from remit.web.pages import cost_page, here_page, search_page, servers_page, why_page

PAGES = (
    Page("/here", "Here", here_page.read),
    Page("/why", "Why", why_page.read, takes_name=True),
    Page("/search", "Search", search_page.read),
    Page("/cost", "Cost", cost_page.read),
    Page("/servers", "Servers", servers_page.read),
)
ACTIONS: tuple[Action, ...] = ()
