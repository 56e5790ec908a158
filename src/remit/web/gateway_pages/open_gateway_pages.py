"""Puts the pages of a gateway together: one registry, which follows the store, and the rules of teams."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from typing import TYPE_CHECKING

import anyio

from remit.bootstrap import find_store, now, open_team_admin, open_teams
from remit.configuration.checks.team_policy import policy_problems
from remit.configuration.file_paths import SHARED
from remit.decision.projects import TEAM
from remit.errors import PolicyError, StoreRightsError, TeamError
from remit.gateway.change_tracker import ChangeSignal
from remit.gateway.registry_worker import RegistryWorker
from remit.web.browser_sessions import BrowserSessions
from remit.web.gateway_pages.gateway_pages import GatewayPages
from remit.web.gateway_pages.page_sessions import PageSessions
from remit.web.listing_cache import ListingCache
from remit.web.live_feed import PAUSE_SECONDS, EventStreams
from remit.web.page_model import PageSources, TeamSources, WebOpeners
from remit.web.site_pages import ACTIONS, GATEWAY_PAGES, PAGES
from remit.web.web_app import WebSite
from remit.web.web_command import web_openers

if TYPE_CHECKING:
    from remit.configuration.config_model import ConfigurationLayer
    from remit.decision.projects import Workspace
    from remit.gateway.transports.page_mount import PageHost
    from remit.store.postgres.team_store import SqlTeamAdmin, SqlTeams, StoredTeam


def open_gateway_pages(host: PageHost) -> AbstractAsyncContextManager[GatewayPages]:
    """Serve the pages of a gateway, with what bootstrap opens."""
    return serve_gateway_pages(host, web_openers(), _open_teams, open_team_admin, now)


@asynccontextmanager
async def serve_gateway_pages(
    host: PageHost,
    openers: WebOpeners,
    teams: Callable[[], SqlTeams],
    team_admin: Callable[[], SqlTeamAdmin],
    clock: Callable[[], int],
) -> AsyncGenerator[GatewayPages]:
    """Serve the pages of a gateway until the block ends.

    Raises:
        StoreError: the store cannot be used.
    """

    def rules(layer: ConfigurationLayer, workspace: Workspace) -> TeamRules:  # noqa: ARG001 - no other
        return TeamRules(teams, team_admin, workspace)

    openers = openers._replace(rules=rules)
    with openers.registry() as registry:
        sources = PageSources(
            registry,
            ListingCache(registry, most=64),
            openers.status_files(),
            openers.login(),
            openers,
            TeamSources(teams, host.grants),
        )
        streams, signal = EventStreams(), ChangeSignal()
        registry.catalog.follow(signal.from_threads())
        sessions = BrowserSessions(code=None, clock=time.monotonic)
        site = WebSite(
            RegistryWorker(sources),
            streams,
            sessions,
            _tell,
            (*PAGES, *GATEWAY_PAGES),
            ACTIONS,
            is_shared=True,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_announce, streams, signal)
            yield GatewayPages(host, site, PageSessions(host.seal, clock, host.is_store_reachable))
            tasks.cancel_scope.cancel()


async def _announce(streams: EventStreams, signal: ChangeSignal) -> None:
    """Tell open pages about changes in the store, which any gateway may have made."""
    while True:
        await signal.wait()
        streams.announce()
        await anyio.sleep(PAUSE_SECONDS)


def _tell(words: str) -> None:
    """Say nothing: a gateway has no terminal that shows codes."""


def _open_teams() -> SqlTeams:
    return open_teams(find_store().place)


class TeamRules:
    """The rules of the team of a project, as last read."""

    def __init__(
        self,
        open_teams: Callable[[], SqlTeams],
        open_admin: Callable[[], SqlTeamAdmin],
        workspace: Workspace,
    ) -> None:
        self._open_admin = open_admin
        self._workspace = workspace
        with closing(open_teams()) as teams:
            team = self._find(teams)
            self.path = f"{team.owner.path}/{SHARED}"
            self._found = teams.stored_policy(team)

    @property
    def text(self) -> str:
        """The rules, as TOML; empty: none."""
        return self._found

    def write(self, text: str) -> None:
        """Replace the rules; an empty text removes them.

        Raises:
            PolicyError: the text has mistakes, someone else changed the rules meanwhile, or this gateway may
                not change them.
            StoreError: the store cannot be used.
        """
        problems = policy_problems(self.path, text)
        if problems:
            raise PolicyError(problems[0].reason, hint="correct the draft first")
        try:
            opened = self._open_admin()
        except StoreRightsError as error:
            name = self.path.removeprefix(TEAM).partition("/")[0]
            raise PolicyError(
                "gateways of this store cannot change the rules of teams",
                hint=f"an administrator can, with `remit team policy set {name} FILE`",
            ) from error
        with closing(opened) as teams:
            team = self._find(teams)
            if teams.stored_policy(team) != self._found:
                raise PolicyError(f"`{self.path}` was changed meanwhile", hint="start a new draft")
            teams.set_policy(text if text.strip() else "", team)

    def _find(self, teams: SqlTeams) -> StoredTeam:
        found = next((each for each in teams.all() if each.owner == self._workspace.team), None)
        if found is None:
            raise TeamError("this project belongs to no team")
        return found
