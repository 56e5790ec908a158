from remit.clients.claude.installed_hooks import HOOKS
from remit.hooks.event_dispatch import HANDLERS


def test_every_event_that_is_installed_has_a_handler_and_no_other_has() -> None:
    assert sorted(HOOKS) == sorted(HANDLERS)
