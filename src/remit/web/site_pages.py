"""The pages in the order of the navigation, and the forms that change something."""

from remit.web.page_model import Action, Page
from remit.web.pages import here_page

PAGES = (Page("/here", "Here", here_page.read),)
ACTIONS: tuple[Action, ...] = ()
