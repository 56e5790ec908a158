"""What a gateway on HTTP says when it starts."""

from remit.decision.projects import Project, identify
from remit.gateway.transports.http_server import describe_teams

URL = "http://127.0.0.1:8787/p/"


def test_the_projects_of_teams_are_named_with_their_urls_and_directories_are_not() -> None:
    known = [identify("/srv/shop"), Project("team:payments/web", "b"), Project("team:payments/api", "a")]
    assert [*describe_teams(known, URL)] == [
        f"serving team:payments/api on {URL}api/mcp",
        f"serving team:payments/web on {URL}web/mcp",
    ]


def test_of_many_projects_of_teams_the_first_ten_are_named() -> None:
    known = [Project(f"team:payments/{number:02}", "a") for number in range(13)]
    lines = [*describe_teams(known, URL)]
    assert len(lines) == 11
    assert lines[-1] == "serving 3 more projects of teams: see `remit team list`"
