"""Scope by authority, in every order of arrival, and uses that are counted exactly."""

from collections.abc import Generator
from dataclasses import replace
from itertools import permutations

import pytest

from remit.decision.client_reports import CallOutcome, ReportedTool
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import ClientReading, Declaration
from remit.decision.kinds import Authority
from remit.decision.projects import LaunchFlags, View, Workspace
from remit.decision.resolve import resolve
from remit.decision.scopes import Scope
from remit.decision.tools import Definition, Tool
from remit.store.open_store import open_store
from support.builders import BLOG, CLIENT, SHOP, declared
from support.databases import run_sql

TOOL = "mcp__git__commit"
APPROVED = ClientSettings(is_headless=True)


class Book:
    """A store with a clock, and one verb for each way to learn of a tool."""

    def __init__(self, place: str) -> None:
        self.store = open_store(place)
        self.time = 0
        self.scanned: set[Workspace] = set()

    def use(
        self,
        workspace: Workspace = SHOP,
        name: str = TOOL,
        *,
        server: str | None = None,
        call_id: str | None = None,
        session_id: str | None = None,
        succeeded: bool | None = None,
        duration_ms: int | None = None,
    ) -> bool:
        reported = self._reported(workspace, name, Authority.HOOK, server=server)
        return self.store.record(reported, CallOutcome(session_id, call_id, succeeded, duration_ms))

    def report(
        self,
        workspace: Workspace = SHOP,
        name: str = TOOL,
        *,
        server: str | None = None,
        scope: Scope | None = None,
        description: str | None = None,
    ) -> None:
        reported = self._reported(workspace, name, Authority.REPORT, server=server, scope=scope)
        self.store.report(Definition(name=name, description=description), reported)

    def configure(
        self, *declarations: Declaration, workspace: Workspace = SHOP, settings: ClientSettings = APPROVED
    ) -> None:
        files = {declaration.source: "1" for declaration in declarations}
        reading = ClientReading(client=CLIENT, declarations=declarations, inputs=files)
        resolved = resolve(declarations, settings)
        self.store.scans.save(reading, resolved, View(CLIENT, workspace), self._tick())
        self.scanned.add(workspace)

    def rows(self, workspace: Workspace = SHOP, name: str = TOOL) -> list[Tool]:
        return [tool for tool in self.store.catalog(workspace, LaunchFlags()) if tool.name == name]

    def counts(self, workspace: Workspace = SHOP, name: str = TOOL) -> list[tuple[str, int]]:
        return [(tool.scope, tool.usage_count) for tool in self.rows(workspace, name)]

    def events(self) -> list[tuple[object, ...]]:
        columns = "select project_hash, session_id, call_id, succeeded, duration_ms from usage_events"
        return run_sql(self.store, f"{columns} order by id")

    def _reported(
        self,
        workspace: Workspace,
        name: str,
        authority: Authority,
        *,
        server: str | None = None,
        scope: Scope | None = None,
    ) -> ReportedTool:
        is_scanned = workspace in self.scanned
        return ReportedTool(name, CLIENT, workspace, authority, self._tick(), is_scanned, server, scope)

    def _tick(self) -> int:
        self.time += 1
        return self.time


@pytest.fixture
def book(store_place: str) -> Generator[Book]:
    made = Book(store_place)
    yield made
    made.store.close()


def test_the_first_use_counts_one(book: Book) -> None:
    book.use()
    assert book.counts() == [("project", 1)]


def test_a_tool_seen_without_a_known_server_stays_in_its_project(book: Book) -> None:
    book.use(SHOP)
    assert book.rows(BLOG) == []


def test_a_tool_of_an_unknown_plugin_stays_in_its_project(book: Book) -> None:
    book.use(SHOP, "mcp__plugin_quill_spell__check")
    assert book.counts(SHOP, "mcp__plugin_quill_spell__check") == [("plugin", 1)]
    assert book.rows(BLOG, "mcp__plugin_quill_spell__check") == []


def test_a_built_in_is_one_global_row_for_all_projects(book: Book) -> None:
    book.use(SHOP, "Read")
    book.use(BLOG, "Read")
    assert book.counts(SHOP, "Read") == book.counts(BLOG, "Read") == [("global", 1)]
    assert len(book.events()) == 2


@pytest.mark.long
@pytest.mark.parametrize("order", list(permutations(["config", "report", "hook"])))
def test_config_outranks_report_outranks_hook_in_every_order(book: Book, order: tuple[str, ...]) -> None:
    steps = {
        "config": lambda: book.configure(declared("git", Scope.LOCAL)),
        "report": lambda: book.report(scope=Scope.PROJECT, description="Commits."),
        "hook": lambda: book.use(),
    }
    for step in order:
        steps[step]()
    assert [(tool.scope, tool.usage_count, tool.description) for tool in book.rows()] == [
        ("local", 1, "Commits.")
    ]


@pytest.mark.long
@pytest.mark.parametrize("order", list(permutations(["report", "hook", "hook"])))
def test_a_report_outranks_a_hook_in_every_order(book: Book, order: tuple[str, ...]) -> None:
    for step in order:
        if step == "report":
            book.report(scope=Scope.GLOBAL)
        else:
            book.use()
    assert book.counts() == [("global", 2)]


@pytest.mark.long
@pytest.mark.parametrize("order", list(permutations(["scan shop", "scan blog", "use shop", "use blog"])))
def test_a_global_tool_used_from_two_projects_is_one_row_that_each_counts_for_itself(
    book: Book, order: tuple[str, ...]
) -> None:
    steps = {
        "scan shop": lambda: book.configure(declared("git"), workspace=SHOP),
        "scan blog": lambda: book.configure(declared("git"), workspace=BLOG),
        "use shop": lambda: book.use(SHOP),
        "use blog": lambda: book.use(BLOG),
    }
    for step in order:
        steps[step]()
    assert book.counts(SHOP) == book.counts(BLOG) == [("global", 1)]
    assert {event[0] for event in book.events()} == {SHOP.project.hash, BLOG.project.hash}


@pytest.mark.parametrize("name", ["mcp__git__payroll", "mcp__git__*"])
def test_what_a_project_saw_of_a_global_server_is_known_and_counted_there_alone(
    book: Book, name: str
) -> None:
    for workspace in (SHOP, BLOG):
        book.configure(declared("git"), workspace=workspace)
    book.use(SHOP, "mcp__git__payroll")
    book.report(SHOP, "mcp__git__salaries", description="Lists salaries.")
    assert book.counts(SHOP, name) == [("global", 1)]
    assert book.counts(BLOG, name) == ([("global", 0)] if name.endswith("*") else [])
    assert book.rows(BLOG, "mcp__git__salaries") == []
    book.report(BLOG, "mcp__git__salaries")
    assert book.counts(BLOG, "mcp__git__salaries") == [("global", 0)]


def test_a_clients_own_tool_is_known_everywhere_and_counted_where_it_was_used(book: Book) -> None:
    book.use(SHOP, "Bash")
    book.use(SHOP, "Bash")
    assert (book.counts(SHOP, "Bash"), book.counts(BLOG, "Bash")) == ([("global", 2)], [("global", 0)])


def test_a_use_in_a_project_that_was_not_scanned_stays_there_though_the_server_is_global_elsewhere(
    book: Book,
) -> None:
    book.configure(declared("git"), workspace=BLOG)
    book.use(SHOP, "mcp__git__payroll")  # the shop may have a server `git` of its own
    assert book.rows(BLOG, "mcp__git__payroll") == []
    assert book.counts(SHOP, "mcp__git__payroll") == [("project", 1)]
    book.configure(declared("git"), declared("git", Scope.PROJECT), workspace=SHOP)
    assert book.rows(BLOG, "mcp__git__payroll") == []
    assert [tool.source for tool in book.rows(SHOP, "mcp__git__payroll")] == ["/files/project"]


def test_a_scan_elsewhere_does_not_draw_a_projects_tools_to_a_global_server(book: Book) -> None:
    book.use(SHOP, "mcp__git__payroll")
    book.configure(declared("git"), workspace=BLOG)
    assert book.rows(BLOG, "mcp__git__payroll") == []


def test_a_local_servers_tools_stay_in_the_project_when_it_gives_way_to_a_global_one(book: Book) -> None:
    book.configure(declared("git", Scope.LOCAL), declared("git"), workspace=SHOP)
    book.use(SHOP, "mcp__git__payroll")
    book.configure(declared("git"), workspace=SHOP)
    book.configure(declared("git"), workspace=BLOG)
    assert book.rows(BLOG, "mcp__git__payroll") == []
    assert [(tool.scope, tool.status) for tool in book.rows(SHOP, "mcp__git__payroll")] == [
        ("local", "stale")
    ]


def test_a_tool_seen_in_one_directory_stays_out_of_its_neighbours(book: Book) -> None:
    api, web = (Workspace(f"/code/shop/{name}", "/code/shop", SHOP.project) for name in ("api", "web"))
    book.use(api)
    assert book.rows(web) == book.rows(SHOP) == []
    book.configure(declared("git", Scope.PROJECT, dir="/code/shop/web"), workspace=web)
    book.use(web)
    assert book.counts(api) == book.counts(web) == [("project", 1)]


def test_a_tool_seen_above_is_not_drawn_into_a_directory_below(book: Book) -> None:
    api = Workspace("/code/shop/api", "/code/shop", SHOP.project)
    book.use(SHOP)
    book.configure(declared("git", Scope.PROJECT, dir="/code/shop/api"), workspace=api)
    assert book.counts(SHOP) == [("project", 1)]


def test_what_a_project_says_of_a_tool_is_not_shown_in_another(book: Book) -> None:
    for workspace in (SHOP, BLOG):
        book.configure(declared("git"), workspace=workspace)
    book.report(SHOP, description="Commits to the shop's till.")
    book.use(BLOG)
    assert [tool.description for tool in book.rows(SHOP)] == ["Commits to the shop's till."]
    assert [tool.description for tool in book.rows(BLOG)] == [None]


def test_a_report_that_says_less_takes_nothing_away(book: Book) -> None:
    book.report(description="Commits.")
    book.report()
    assert [tool.description for tool in book.rows()] == ["Commits."]


def test_uses_before_and_after_a_scan_are_added_up(book: Book) -> None:
    book.configure(declared("git"))
    book.use(succeeded=False)
    book.scanned.clear()  # the files have changed meanwhile
    book.use(succeeded=False)
    assert book.counts() == [("global", 1), ("project", 1)]
    discovered = min(tool.discovered_at for tool in book.rows())
    book.configure(declared("git"))
    assert [(tool.usage_count, tool.discovered_at) for tool in book.rows()] == [(2, discovered)]
    assert run_sql(book.store, "select uses, failures from usage_totals") == [(2, 2)]


def test_a_server_is_credited_with_its_tools_uses(book: Book) -> None:
    book.configure(declared("git"))
    book.use(name="mcp__git__commit")
    book.use(name="mcp__git__push")
    assert book.counts(name="mcp__git__*") == [("global", 2)]


def test_a_reported_server_joins_the_configured_one(book: Book) -> None:
    book.report(name="mcp__git__*", description="Git.")
    book.configure(declared("git"))
    book.report(name="mcp__git__*", description="Git.")
    assert [(tool.scope, tool.description) for tool in book.rows(name="mcp__git__*")] == [("global", "Git.")]


def test_a_use_belongs_to_the_server_in_force_and_leaves_the_shadowed_ones_tools_alone(book: Book) -> None:
    book.configure(declared("git"), workspace=BLOG)
    book.use(BLOG)
    book.configure(declared("git"), declared("git", Scope.LOCAL), workspace=SHOP)
    book.use(SHOP)
    assert book.counts(SHOP) == [("local", 1)]
    assert book.counts(BLOG) == [("global", 1)]


def test_the_clients_word_for_the_server_decides_between_names_that_look_alike(book: Book) -> None:
    book.configure(declared("a.b"), declared("a_b", Scope.LOCAL))
    book.use(name="mcp__a_b__run", server="a.b")
    assert [(tool.scope, tool.server) for tool in book.rows(name="mcp__a_b__run")] == [("global", "a.b")]


def test_a_tool_of_a_server_that_only_looks_alike_is_not_drawn_to_it(book: Book) -> None:
    book.use(name="mcp__a_b__run", server="a.b")
    book.configure(declared("a_b"))
    assert book.counts(name="mcp__a_b__run") == [("project", 1)]


def test_what_was_said_of_one_server_is_not_given_to_another_that_looks_alike(book: Book) -> None:
    book.report(name="mcp__a_b__run", server="a.b", description="Of a.b.")
    book.configure(declared("a_b"))
    book.use(name="mcp__a_b__run", server="a_b")
    assert {tool.server: tool.description for tool in book.rows(name="mcp__a_b__run")} == {
        "a.b": "Of a.b.",
        "a_b": None,
    }


@pytest.mark.long
@pytest.mark.parametrize("label", ["a_b", None])
def test_a_tool_of_a_projects_pending_server_is_not_drawn_to_a_global_one_that_looks_alike(
    book: Book, label: str | None
) -> None:
    both = declared("a.b"), declared("a_b", Scope.PROJECT)
    for _ in range(2):
        book.configure(*both, settings=ClientSettings())
        book.use(name="mcp__a_b__run", server=label)
    book.configure(declared("a.b"))  # also not when the pending one is gone
    assert book.counts(BLOG, name="mcp__a_b__run") == []


def test_a_tool_seen_while_the_projects_server_waits_for_approval_is_not_given_to_the_global_one(
    book: Book,
) -> None:
    book.configure(declared("git"), declared("git", Scope.PROJECT), settings=ClientSettings())
    book.use()
    assert book.counts(BLOG) == []
    assert book.counts(SHOP) == [("project", 1)]


def test_a_tool_that_may_be_of_an_agents_own_server_is_not_given_to_the_global_one_of_its_name(
    book: Book,
) -> None:
    book.configure(declared("git"), replace(declared("git", Scope.PROJECT), agent="auditor"))
    book.use()
    assert book.counts(BLOG) == []
    assert book.counts(SHOP) == [("project", 1)]


def test_a_label_that_may_be_the_clients_own_word_is_not_given_to_a_server_of_a_longer_name(
    book: Book,
) -> None:
    book.use(name="mcp__my__server__run", server="my")
    book.configure(declared("my", Scope.PROJECT), declared("my__server"), settings=ClientSettings())
    assert book.counts(BLOG, name="mcp__my__server__run") == []


def test_what_was_seen_of_a_declared_server_is_not_counted_for_one_that_looks_alike(book: Book) -> None:
    both = declared("a.b"), declared("a_b", Scope.PROJECT)
    book.configure(*both, settings=ClientSettings())
    book.use(name="mcp__a_b__run", server="a_b")
    book.use(name="mcp__a_b__run", server="a.b")
    assert book.counts(SHOP, name="mcp__a_b__run") == [("project", 1), ("global", 1)]


def test_the_longest_known_server_name_owns_a_tool(book: Book) -> None:
    book.configure(declared("my"), declared("my__server", Scope.LOCAL))
    book.use(name="mcp__my__server__run")
    assert [tool.server for tool in book.rows(name="mcp__my__server__run")] == ["my__server"]


def test_a_narrower_report_does_not_take_a_tool_away_from_other_projects(book: Book) -> None:
    book.report(SHOP, scope=Scope.GLOBAL)
    book.use(BLOG)
    book.report(SHOP, scope=Scope.LOCAL)
    assert book.counts(BLOG) == [("global", 1)]


def test_a_report_for_the_project_is_not_drawn_into_one_of_its_directories(book: Book) -> None:
    api = Workspace("/code/shop/api", "/code/shop", SHOP.project)
    book.report(SHOP, scope=Scope.LOCAL)
    book.configure(declared("git", Scope.PROJECT, dir="/code/shop/api"), workspace=api)
    book.use(api)
    assert book.counts(SHOP) == [("local", 0)]


def test_a_second_report_of_a_call_only_fills_what_was_empty(book: Book) -> None:
    assert book.use(call_id="toolu_1", succeeded=False)
    assert not book.use(call_id="toolu_1", session_id="s1", succeeded=True, duration_ms=12)
    assert book.counts() == [("project", 1)]
    assert book.events() == [(SHOP.project.hash, "s1", "toolu_1", 0, 12)]


def test_the_same_call_id_in_another_session_or_project_is_another_call(book: Book) -> None:
    assert book.use(call_id="toolu_1", session_id="s1")
    assert book.use(call_id="toolu_1", session_id="s2")
    assert book.use(BLOG, call_id="toolu_1", session_id="s1")


def test_calls_without_an_id_are_all_counted(book: Book) -> None:
    book.use()
    book.use()
    assert book.counts() == [("project", 2)]


def test_pruning_events_keeps_totals_and_the_last_use(book: Book) -> None:
    for _ in range(3):
        book.use(succeeded=False)
    last = book.rows()[0].last_used_at
    book.store.database.run("prune_events", before=10**9)
    assert book.events() == []
    assert [(tool.usage_count, tool.last_used_at) for tool in book.rows()] == [(3, last)]


def test_a_failure_that_is_learned_later_is_counted_once(book: Book) -> None:
    book.use(call_id="toolu_1")
    book.use(call_id="toolu_1", succeeded=False)
    book.use(call_id="toolu_1", succeeded=False)
    assert run_sql(book.store, "select uses, failures from usage_totals") == [(1, 1)]


def test_a_definition_is_stored_once_by_content_whoever_uses_it(book: Book) -> None:
    book.report(SHOP, description="Commits.")
    book.report(BLOG, description="Commits.")
    assert run_sql(book.store, "select count(*) from definitions") == [(1,)]
    assert [tool.description for tool in book.rows(BLOG)] == ["Commits."]


def fail(book: Book, workspace: Workspace = SHOP, *, times: int = 3) -> None:
    for _ in range(times):
        book.use(workspace, succeeded=False)


def statuses(book: Book, workspace: Workspace = SHOP) -> list[str]:
    return [tool.status for tool in book.rows(workspace)]


def test_three_failures_demote_and_the_next_success_restores(book: Book) -> None:
    fail(book, times=2)
    assert statuses(book) == ["active"]
    fail(book, times=1)
    assert statuses(book) == ["demoted"]
    book.use(succeeded=True)
    assert statuses(book) == ["active"]


def test_only_the_last_five_calls_count(book: Book) -> None:
    fail(book, times=2)
    for _ in range(4):
        book.use(succeeded=True)
    fail(book, times=2)
    assert (statuses(book), book.rows()[0].outcomes) == (["active"], "+++--")


def test_a_call_of_unknown_outcome_counts_neither_way(book: Book) -> None:
    fail(book, times=2)
    for _ in range(9):
        book.use()
    assert statuses(book) == ["active"]
    fail(book, times=1)
    book.use()
    assert (statuses(book), book.rows()[0].outcomes) == (["demoted"], "---")


def test_an_outcome_counts_when_it_becomes_known(book: Book) -> None:
    for call in ("one", "two", "three", "four"):
        book.use(call_id=call)
    for call in ("two", "three", "four"):
        assert statuses(book) == ["active"]
        book.use(call_id=call, succeeded=False)
    assert statuses(book) == ["demoted"]
    book.use(call_id="one", succeeded=True)
    assert statuses(book) == ["active"]


def test_a_call_reported_twice_fails_once(book: Book) -> None:
    for _ in range(3):
        book.use(call_id="toolu_1", succeeded=False)
    assert book.rows()[0].outcomes == "-"


def test_pruning_neither_demotes_nor_restores(book: Book) -> None:
    fail(book)
    fail(book, BLOG, times=2)
    book.store.database.run("prune_events", before=10**9)
    assert (statuses(book), statuses(book, BLOG)) == (["demoted"], ["active"])
    fail(book, times=1)
    fail(book, BLOG, times=1)
    assert (statuses(book), statuses(book, BLOG)) == (["demoted"], ["demoted"])
    book.use(succeeded=True)
    assert (statuses(book), statuses(book, BLOG)) == (["active"], ["demoted"])


def test_failures_before_and_after_a_scan_are_failures_of_one_tool(book: Book) -> None:
    fail(book, times=2)
    book.configure(declared("git"))
    fail(book, times=1)
    assert [(tool.scope, tool.status) for tool in book.rows()] == [("global", "demoted")]


@pytest.mark.long
@pytest.mark.parametrize(("last_succeeds", "status"), [(True, "active"), (False, "demoted")])
def test_rows_that_become_one_keep_the_order_of_their_outcomes(
    book: Book, last_succeeds: bool, status: str
) -> None:
    book.configure(declared("git"))
    book.use(succeeded=not last_succeeds)
    fail(book, times=2)
    book.scanned.clear()  # the files have changed meanwhile: what comes now is kept apart until the next scan
    fail(book, times=1)
    book.use(succeeded=last_succeeds)
    book.configure(declared("git"))
    assert statuses(book) == [status]


def test_a_row_that_goes_up_in_one_that_was_used_later_puts_its_outcomes_first(book: Book) -> None:
    api = Workspace("/code/shop/api", "/code/shop", SHOP.project)
    fail(book, api)
    book.configure(declared("git"), workspace=SHOP)
    book.use(SHOP, succeeded=True)
    book.configure(declared("git"), workspace=api)
    assert [tool.outcomes for tool in book.rows(api)] == ["---+"]


def test_failures_in_one_project_demote_in_no_other(book: Book) -> None:
    for workspace in (SHOP, BLOG):
        book.configure(declared("git"), workspace=workspace)
    fail(book, SHOP)
    fail(book, BLOG, times=2)
    assert (statuses(book, SHOP), statuses(book, BLOG)) == (["demoted"], ["active"])
    assert [tool.outcomes for tool in book.rows(BLOG)] == ["--"]
    book.use(BLOG, succeeded=True)
    assert statuses(book, SHOP) == ["demoted"]


def test_a_demoted_tool_whose_server_left_is_stale_and_comes_back_demoted(book: Book) -> None:
    book.configure(declared("git"))
    fail(book)
    book.configure()
    assert statuses(book) == ["stale"]
    book.configure(declared("git"))
    assert statuses(book) == ["demoted"]
