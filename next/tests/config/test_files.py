"""Which files count, within which bounds, and what holds while one is invalid."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.config import Layer, config_paths, data_directory, personal_path
from remit.decision import Context, RuleStrength, Verdict, Workspace, decide
from remit.files import Machine
from support import builders
from support.configuration import SECOND, Files

PUSH = "mcp__git__push"


def verdict(files: Files, name: str) -> Verdict:
    workspace = files.workspace()
    context = Context(workspace, builders.CLIENT, rules=files.now_says().rules)
    return decide(builders.tool(name), context).verdict


def test_nothing_is_needed(files: Files) -> None:
    configuration = files.now_says()
    assert configuration.problems == ()
    assert {"git-initialized", "ci-configured", "has-tests"} <= set(configuration.states)
    assert configuration.adopt is False


def test_the_nearest_file_counts_and_an_administrators_above_all(files: Files) -> None:
    files.mine('strategy = "flat"\ntoken_budget = 1\nresult_budget = 600\n')
    files.shared('token_budget = 2\n[states.y]\nfile = "root"')
    files.write(files.shop / "web/remit.toml", 'token_budget = 3\n[states.y]\nfile = "near"')
    files.managed('strategy = "search"')
    in_web = files.configurations.current(files.workspace(files.shop / "web"))
    assert (in_web.strategy, in_web.token_budget, in_web.result_budget) == ("search", 3, 600)
    assert in_web.states["y"].bases(files.workspace(files.shop / "web")) == (str(files.shop / "web"),)
    assert files.now_says().token_budget == 2


def test_personal_rules_are_outside_of_the_checkout_and_for_one_project_only(files: Files) -> None:
    path = personal_path(files.workspace(), files.machine)
    assert Path(path).parent == files.home / ".config/remit/projects"
    assert Path(path).name == f"shop-{files.workspace().project.hash[:8]}.toml"
    files.write(Path(path), '[tools."mcp__git__push"]\nai_enabled = false\n[servers.web]\ntrusted = true\n')
    blog = files.root / "blog"
    (blog / ".git").mkdir(parents=True)
    assert verdict(files, PUSH) is Verdict.HIDDEN
    assert files.problems() == []
    assert [rule.strength for rule in files.now_says().rules.tools] == [RuleStrength.MACHINE]
    assert files.configurations.current(files.workspace(blog)).rules.tools == ()


def test_a_local_file_in_a_checkout_only_narrows(files: Files) -> None:
    files.mine('[tools."mcp__git__push"]\napproval = true\n')
    files.write(
        files.shop / "remit.local.toml",
        '[tools."mcp__git__push"]\napproval = false\n[tools."mcp__git__log"]\nai_enabled = false\n',
    )
    assert verdict(files, PUSH) is Verdict.ASK
    assert verdict(files, "mcp__git__log") is Verdict.HIDDEN
    (problem,) = files.problems()
    assert "it would undo `tools.mcp__git__push.approval` in the machine file" in problem


def test_a_variable_names_another_file_of_the_user_and_one_of_the_project_counts_once(files: Files) -> None:
    mine = files.write(files.root / "mine.toml", 'block = ["Bash"]')
    files.mine('block = ["Read"]')
    shared = files.shared('block = ["Write"]')

    def blocked(path: str) -> list[str]:
        files.machine = files.machine._replace(variables={"REMIT_CONFIG": path})
        configuration = files.open().current(files.workspace())
        assert configuration.problems == ()
        return [pattern for listed in configuration.rules.lists for pattern, _ in listed.patterns]

    assert blocked(str(mine)) == ["Bash", "Write"]
    assert blocked(os.devnull) == ["Write"]
    assert blocked(str(shared)) == ["Write"]
    assert config_paths(files.workspace(), files.machine).count(str(shared)) == 1


def test_data_is_where_a_variable_or_the_platform_says() -> None:
    home = Machine("/home/ada", {})
    assert data_directory(home) == "/home/ada/.local/share/remit"
    assert data_directory(home._replace(platform="darwin")) == "/home/ada/Library/Application Support/remit"
    assert data_directory(home._replace(variables={"REMIT_HOME": "/data"})) == "/data"


@pytest.mark.parametrize("is_first", [True, False], ids=["first version", "later version"])
@pytest.mark.parametrize("mistake", ["ai_enabled = flase", "ai_enabled = 0"], ids=["not TOML", "not valid"])
def test_an_invalid_file_never_opens_anything(files: Files, mistake: str, *, is_first: bool) -> None:
    files.mine('[tools."mcp__git__log"]\nai_enabled = false')
    if not is_first:
        files.shared('block = ["mcp__git__old"]')
        assert verdict(files, "mcp__git__old") is Verdict.HIDDEN
    files.shared(
        f'block = ["Bash", "mcp__git__x"]\n[tools."{PUSH}"]\n{mistake}\n[servers.web]\nallow = ["get"]\n'
    )
    assert [verdict(files, name) for name in ("Bash", "mcp__git__x", PUSH, "mcp__web__get")] == ["ask"] * 4
    assert verdict(files, "mcp__git__log") is Verdict.HIDDEN
    assert verdict(files, "Read") is Verdict.VISIBLE
    assert verdict(files, "mcp__git__old") is (Verdict.VISIBLE if is_first else Verdict.HIDDEN)
    assert files.now_says().invalid == (str(files.shop / "remit.toml"),)
    (problem,) = files.problems()
    assert problem.startswith("remit.toml line 3 column ")
    assert problem.endswith("the tools that it names need approval")
    assert ("the last valid version stays in force" in problem) is not is_first


def test_the_readable_part_of_a_file_goes_on_after_an_unclosed_list(files: Files) -> None:
    files.shared('block = ["Bash",\n[tools.mcp__web__*]\ndanger = "low"\n[rooms.r]\ntools = ["Read"]\n')
    assert [verdict(files, name) for name in ("Bash", "mcp__web__get", "Read", "Write")] == [
        *("ask", "ask", "ask", "visible")
    ]


def test_a_file_that_is_too_large_is_readable_up_to_its_limit(files: Files) -> None:
    files.shared('block = ["Bash"]\n' + "#" * 300_000)
    assert (verdict(files, "Bash"), verdict(files, "Read")) == (Verdict.ASK, Verdict.VISIBLE)


def test_any_part_of_a_file_can_be_read(files: Files) -> None:
    text = (
        'block = ["Bash",\n  "Read"]\nmode = "plan"\n[states."a.b"]\nglob = "*.md"\nimplies = ["c"]\n'
        '[tools."mcp__git__*"]\nstates = { any = ["a.b"] }\nwhen = """state(\'a.b\') &&\n args.y > 1"""\n'
        'location = { pages = ["/a"] }\napproval = "args.z == 1"\n[servers.web]\nsandbox = { read = ["."] }\n'
    )
    for at in range(0, len(text), 7):
        for part in (text[:at], text[at:], text[:at] + text[at + 3 :]):
            files.shared(part)
            files.now += SECOND
            assert isinstance(verdict(files, "Bash"), Verdict)


def test_no_mode_and_no_trusted_rule_lifts_the_approval_that_an_invalid_file_needs(files: Files) -> None:
    files.mine('mode = "bypass"')
    files.shared(f'[tools."{PUSH}"]\nai_enabled = flase')
    assert verdict(files, PUSH) is Verdict.ASK


def test_a_reason_names_the_invalid_file(files: Files) -> None:
    files.shared(f'\n[tools."{PUSH}"]\nai_enabled = flase')
    context = Context(files.workspace(), builders.CLIENT, rules=files.now_says().rules)
    decision = decide(builders.tool(PUSH), context)
    assert decision.reason == "needs approval: `remit.toml`"
    assert decision.full_reason == "needs approval: remit.toml line 2"


def test_once_repaired_a_file_counts_again_and_once_deleted_it_does_not(files: Files) -> None:
    path = files.shared("block = [\n")
    assert files.now_says().invalid
    files.shared('block = ["Bash"]\n')
    assert (verdict(files, "Bash"), files.problems()) == (Verdict.HIDDEN, [])
    path.unlink()
    assert (verdict(files, "Bash"), files.problems()) == (Verdict.VISIBLE, [])
    files.shared("x = 3\n")
    assert verdict(files, "Bash") is Verdict.VISIBLE  # what was deleted is no version any more


def test_a_file_that_was_just_emptied_counts_as_before(files: Files) -> None:
    path = files.shared('block = ["Bash"]\n')
    files.now = int(path.stat().st_mtime * SECOND) + 100
    assert verdict(files, "Bash") is Verdict.HIDDEN
    files.shared("")
    assert verdict(files, "Bash") is Verdict.HIDDEN
    assert files.problems() == ["remit.toml : it was emptied just now; the last valid version stays in force"]
    files.now += 3 * SECOND
    assert (verdict(files, "Bash"), files.problems()) == (Verdict.VISIBLE, [])


def test_a_broken_file_has_no_findings_at_outdated_positions(files: Files) -> None:
    files.shared('[tools.x]\nstates = ["nope"]\n')
    assert files.problems() == [
        "remit.toml line 2 column 1: tools.x.states: unknown state `nope` "
        "(declare it, or use one that `remit states` lists)"
    ]
    files.shared('\n\n[tools.x]\nstates = ["nope"\n')
    (problem,) = files.problems()
    assert "not valid TOML" in problem


@pytest.mark.parametrize("header", ["tools.mcp__git__*", "servers.git-*"])
def test_a_pattern_in_a_header_is_told_to_be_quoted(files: Files, header: str) -> None:
    files.shared(f"block = []\n[{header}]\n")
    table, _, pattern = header.partition(".")
    (problem,) = files.problems()
    assert "line 2" in problem
    assert f'; quote it: `[{table}."{pattern}"]`' in problem


@pytest.mark.parametrize(
    "text",
    [
        "".join(f'[tools."t{number}"]\napproval = true\n' for number in range(1_100)),
        "".join(f"[servers.{name}]\nblock = {['t'] * 400}\n" for name in "abc"),
        "#" * 300_000,
    ],
    ids=["tables", "lists", "bytes"],
)
def test_a_projects_file_is_bounded_and_the_users_own_may_be_larger(files: Files, text: str) -> None:
    files.shared(text)
    (problem,) = files.problems()
    assert "more than 1,000 rules" in problem or "bytes; at most 262,144 are read" in problem
    (files.shop / "remit.toml").unlink()
    files.mine(text)
    assert files.problems() == []


def test_a_projects_file_is_no_link_out_of_it(files: Files) -> None:
    elsewhere = files.write(files.root / "elsewhere.toml", 'block = ["Bash"]')
    (files.shop / "remit.toml").symlink_to(elsewhere)
    assert verdict(files, "Bash") is Verdict.VISIBLE
    (problem,) = files.problems()
    assert "leads out of the project" in problem


def test_a_project_cannot_set_what_is_the_users_and_the_rest_of_its_file_counts(files: Files) -> None:
    path = files.mine('mode = "plan"')
    files.shared(
        'mode = "bypass"\nstrategy = "flat"\nadopt = true\nfilters = ["/x.py"]\nchanges = "note"\n'
        'block = ["Bash"]\n[memory]\nenabled = true\n[servers.web]\ntrusted = true\nwrap = ["sh"]\n'
        'sandbox = { read = [".", "/etc"], write = ["out"] }\n'
    )
    configuration = files.now_says()
    reasons = [problem.partition(": ")[2] for problem in files.problems()]
    assert reasons == [
        "mode: a project's file cannot set this",
        "strategy: a project's file cannot set this to `flat`",
        "adopt: a project's file cannot set this",
        "filters: a project's file cannot set this",
        "changes: a project's file cannot set this",
        "memory.enabled: a project's file cannot set this to `true`",
        "servers.web.trusted: a project's file cannot set this to `true`",
        "servers.web.wrap: a project's file cannot set this",
        "servers.web.sandbox.read: a project's sandbox can only contain its own files "
        "(use paths inside the project)",
    ]
    assert (configuration.strategy, configuration.adopt, configuration.memory) == (None, False, False)
    assert (configuration.filters, configuration.changes, configuration.invalid) == ((), "hold", ())
    assert configuration.rules.mode is not None
    assert configuration.rules.mode.origin.path == str(path)
    assert verdict(files, "Bash") is Verdict.HIDDEN
    options = configuration.options("web")
    assert (options.wrap, options.sandbox) == ((), (False, (".",), ("out",)))


def test_the_lock_is_parsed_and_an_invalid_one_is_said_to_be(files: Files) -> None:
    assert files.now_says().lock is None
    path = files.write(files.shop / "remit.lock", "version = 4\n[servers.x.git]\nentry = 'a'\n")
    lock = files.now_says().lock
    assert lock is not None
    assert (lock.root, lock.problem) == (str(files.shop), "")
    assert lock.content == {"version": 4, "servers": {"x": {"git": {"entry": "a"}}}}
    files.write(path, "version = ")
    lock = files.now_says().lock
    assert lock is not None
    assert (lock.content, lock.problem) == (None, "it is invalid")
    assert "the servers of this project are held until it is fixed" in files.problems()[0]


def test_a_layer_of_an_extension_counts_like_the_users_file(files: Files) -> None:
    texts = {"team:remit.toml": 'block = ["Bash"]'}

    def paths(_workspace: Workspace) -> list[str]:
        return ["team:remit.toml"]

    layer = Layer("team", RuleStrength.MACHINE, paths, texts.get)
    configurations = files.open(layer)
    (listed,) = configurations.current(files.workspace()).rules.lists
    assert (listed.origin.path, listed.origin.line) == ("team:remit.toml", 1)
    texts["team:remit.toml"] = "block = 3"
    assert configurations.current(files.workspace()).invalid == ("team:remit.toml",)


def test_a_process_that_finds_nothing_changed_parses_no_file(files: Files) -> None:
    files.mine('[tools."mcp__git__push"]\nstates = ["x"]\ndanger = "low"\n[states.x]\nglob = "*.md"\n')
    files.now_says()
    script = (
        "import sys, json\n"
        "from remit.config import Configurations\n"
        "from remit.files import Machine, locate\n"
        "from remit.store import open_store\n"
        "home, root, shop, database, now = sys.argv[1:]\n"
        "machine = Machine(home=home, variables={}, root=root)\n"
        "current = Configurations(open_store(database), machine, lambda: int(now)).current(locate(shop))\n"
        "print(current.rules.tools[0].pattern, [name for name in ('tomllib', 'dataclasses',\n"
        "    'remit.config.keys', 'remit.config.merge', 'remit.config.check') if name in sys.modules])\n"
    )
    words = [str(files.home), files.machine.root, str(files.shop), files.store.database.place, str(files.now)]
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "mcp__git__push []"
