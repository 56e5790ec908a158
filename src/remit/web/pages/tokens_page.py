"""Tokens: who reaches this project with a gateway token, and in which role; never a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.cli.output.json_output import Shape, asked_for
from remit.text.times import moment
from remit.web.page_model import PageAnswer, PageRequest, PageSources, Values, paged

if TYPE_CHECKING:
    from remit.gateway.access.token_grants import Grant

ROWS = 100


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """List the tokens that reach this project; what else they reach is not told."""
    context = asked.options.context(sources.registry)
    project = context.workspace.project
    known = () if sources.team is None else sources.team.grants()
    grants: list[Grant] = [each for each in known if each.principal.role_in(project) is not None]

    def values() -> Values:
        return {"page": paged(grants, asked.number("page"), ROWS)}

    def shape() -> Shape:
        return {**asked_for(context), "tokens": [_shape(each) for each in grants]}

    return PageAnswer("tokens.html", shape, values)


def _shape(grant: Grant) -> Shape:
    return {
        "name": grant.name,
        "role": grant.role,
        "every_project": not grant.projects,
        "agents": [*grant.agents],
        "created_at": moment(grant.created_at),
    }
