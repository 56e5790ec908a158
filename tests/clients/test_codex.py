from pathlib import Path

import pytest

from remit.clients.codex import CLIENT
from remit.clients.parsing.client_reader import read_client
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import ClientReading, Resolved
from remit.decision.declared_launch import Launch, references
from remit.decision.kinds import ConfigStatus
from remit.decision.projects import View
from remit.decision.resolve import resolve
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from remit.upstream.launch.variable_expansion import expand
from support.sandbox import Sandbox


def read(sandbox: Sandbox, directory: Path, platform: str = "linux") -> ClientReading:
    machine = Machine(str(sandbox.home), sandbox.variables, platform, root=str(sandbox.root / "machine"))
    return read_client(CLIENT, View(CLIENT.name, locate(str(directory))), machine, now_ns=0)


def outcome(reading: ClientReading) -> dict[str, str]:
    """What became of each server, with the scope and the command that count."""
    resolved = resolve(reading.declarations, ClientSettings(reading.rules, behavior=reading.behavior))
    return {
        key(item): item.config_status.value
        for item in resolved
        if item.shadowed_by is None or item.config_status is ConfigStatus.PENDING
    }


def key(item: Resolved) -> str:
    launch = item.declaration.launch
    command = "" if launch is None else " ".join((launch.command or launch.url, *launch.args))
    return f"{item.declaration.scope} {item.declaration.server or item.declaration.name} {command}".strip()


def server(name: str, command: str, more: str = "") -> str:
    return f'[mcp_servers.{name}]\ncommand = "{command}"\n{more}\n'


def trust(directory: Path, level: str = "trusted") -> str:
    return f'[projects."{directory}"]\ntrust_level = "{level}"\n'


def repository(sandbox: Sandbox, name: str = "shop") -> Path:
    path = sandbox.project(name)
    sandbox.write(path / ".git/HEAD", "ref: refs/heads/main\n")
    return path


def test_a_project_file_is_laid_over_the_users_key_by_key(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    user = server("git", "git-user", 'args = ["--all"]\nenv = { A = "1" }')
    sandbox.write(sandbox.home / ".codex/config.toml", user + trust(shop))
    sandbox.write(shop / ".codex/config.toml", '[mcp_servers.git]\nargs = ["--here"]\nenv = { B = "2" }\n')
    reading = read(sandbox, shop)
    assert outcome(reading) == {"project git git-user --here": "enabled"}
    [winner] = [item for item in reading.declarations if item.scope == "project"]
    assert winner.launch is not None
    assert winner.launch.env == {"A": "1", "B": "2"}


def test_without_trust_a_projects_server_waits_and_shadows_nothing(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(sandbox.home / ".codex/config.toml", server("git", "git-user"))
    sandbox.write(shop / ".codex/config.toml", server("git", "git-here"))
    assert outcome(read(sandbox, shop)) == {
        "global git git-user": "enabled",
        "project git git-here": "pending",
    }


def test_trust_is_asked_for_the_directory_then_its_root_and_another_answer_is_none(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    api = shop / "api"
    sandbox.write(shop / ".codex/config.toml", server("git", "outer"))
    sandbox.write(api / ".codex/config.toml", server("wiki", "inner"))
    user = sandbox.home / ".codex/config.toml"
    sandbox.write(user, trust(shop))
    assert outcome(read(sandbox, api)) == {"project git outer": "enabled", "project wiki inner": "enabled"}
    sandbox.write(user, trust(shop) + trust(api, "untrusted"))
    assert outcome(read(sandbox, api)) == {"project git outer": "enabled", "project wiki inner": "pending"}
    sandbox.write(user, trust(sandbox.root))
    assert outcome(read(sandbox, api)) == {"project git outer": "pending", "project wiki inner": "pending"}


def test_without_a_marker_only_the_launch_directory_has_a_project_file(sandbox: Sandbox) -> None:
    notes = sandbox.project("notes", git=False)
    sandbox.write(sandbox.home / ".codex/config.toml", trust(notes) + trust(notes / "deep"))
    sandbox.write(notes / ".codex/config.toml", server("git", "outer"))
    sandbox.write(notes / "deep/.codex/config.toml", server("wiki", "inner"))
    assert outcome(read(sandbox, notes / "deep")) == {"project wiki inner": "enabled"}


def test_the_users_settings_can_name_other_markers(sandbox: Sandbox) -> None:
    notes = sandbox.project("notes", git=False)
    sandbox.write(notes / "ROOT", "")
    sandbox.write(notes / ".codex/config.toml", server("git", "outer"))
    (notes / "deep").mkdir()
    sandbox.write(sandbox.home / ".codex/config.toml", 'project_root_markers = ["ROOT"]\n' + trust(notes))
    assert outcome(read(sandbox, notes / "deep")) == {"project git outer": "enabled"}
    sandbox.write(sandbox.home / ".codex/config.toml", "project_root_markers = 1\n" + trust(notes))
    assert outcome(read(sandbox, notes / "deep")) == {}


def test_the_users_own_folder_is_no_project_file_of_the_home(sandbox: Sandbox) -> None:
    sandbox.write(sandbox.home / ".codex/config.toml", server("git", "x") + trust(sandbox.home))
    assert outcome(read(sandbox, sandbox.home)) == {"global git x": "enabled"}


def test_codex_home_moves_the_users_file_and_may_be_relative(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(sandbox.home / ".codex/config.toml", server("git", "usual"))
    sandbox.write(shop / "own/config.toml", server("git", "moved"))
    sandbox.variables["CODEX_HOME"] = "own"
    assert outcome(read(sandbox, shop)) == {"global git moved": "enabled"}


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "machine/etc/codex"),
        ("darwin", "machine/etc/codex"),
        ("win32", "machineC:\\ProgramData/OpenAI/Codex"),
    ],
)
def test_the_machines_file_is_the_weakest_and_the_managed_one_the_strongest(
    sandbox: Sandbox, platform: str, folder: str
) -> None:
    shop = repository(sandbox)
    sandbox.write(sandbox.root / folder / "config.toml", server("git", "machine") + server("wiki", "machine"))
    sandbox.write(sandbox.home / ".codex/config.toml", server("git", "user") + trust(shop))
    sandbox.write(shop / ".codex/config.toml", server("tides", "project"))
    sandbox.write(sandbox.root / folder / "managed_config.toml", '[mcp_servers.tides]\nargs = ["--safe"]\n')
    assert outcome(read(sandbox, shop, platform)) == {
        "global git user": "enabled",
        "global wiki machine": "enabled",
        "project tides project --safe": "enabled",
    }


def test_an_administrators_list_denies_what_it_does_not_name_with_the_same_command(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    user = server("git", "good") + server("wiki", "bad") + server("tides", "x")
    sandbox.write(sandbox.home / ".codex/config.toml", user)
    sandbox.write(shop / ".codex/config.toml", server("git", "not trusted") + server("new", "not trusted"))
    allowed = '[mcp_servers.git.identity]\ncommand = "good"\n[mcp_servers.wiki.identity]\ncommand = "good"\n'
    sandbox.write(sandbox.root / "machine/etc/codex/requirements.toml", allowed)
    assert outcome(read(sandbox, shop)) == {
        "global git good": "enabled",
        "project git not trusted": "pending",
        "project new not trusted": "denied",
        "global wiki bad": "denied",
        "global tides x": "denied",
    }


def test_an_administrators_list_knows_urls_and_a_file_without_one_denies_nothing(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(sandbox.home / ".codex/config.toml", '[mcp_servers.git]\nurl = "https://mcp.test/"\n')
    requirements = sandbox.root / "machine/etc/codex/requirements.toml"
    sandbox.write(requirements, '[mcp_servers.git.identity]\nurl = "https://other.test/"\n')
    assert outcome(read(sandbox, shop)) == {"global git https://mcp.test/": "denied"}
    sandbox.write(requirements, '[mcp_servers.git.identity]\nurl = "https://mcp.test/"\n')
    assert outcome(read(sandbox, shop)) == {"global git https://mcp.test/": "enabled"}
    sandbox.write(requirements, 'allowed_approval_policies = ["never"]\n')
    assert outcome(read(sandbox, shop)) == {"global git https://mcp.test/": "enabled"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("args = []", "neither `command` nor `url` is given, here or in a file that this one overrides"),
        ('command = "x"\nurl = "y"', "`url` cannot be combined with `command`"),
        ('url = "x"\nargs = ["y"]', "`args` cannot be combined with `url`"),
        ('url = "x"\nbearer_token = "hush"', "`bearer_token` is not supported; use `bearer_token_env_var`"),
        ('command = "x"\nenabled = "no"', "enabled: expected true or false, found text"),
        ('command = "x"\nenv = { A = 1 }', "env, item 1: expected text, found a number"),
    ],
)
def test_a_bad_entry_is_named_and_the_others_are_declared(sandbox: Sandbox, entry: str, reason: str) -> None:
    shop = repository(sandbox)
    sandbox.write(sandbox.home / ".codex/config.toml", server("good", "x") + f"[mcp_servers.bad]\n{entry}\n")
    reading = read(sandbox, shop)
    assert outcome(reading) == {"global good x": "enabled"}
    assert [(item.place, item.reason) for item in reading.problems] == [("mcp_servers.bad", reason)]


def test_a_mistake_counts_only_in_the_merged_entry_of_files_that_count(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(sandbox.home / ".codex/config.toml", "[mcp_servers.git]\nenabled = false\n" + trust(shop))
    sandbox.write(shop / ".codex/config.toml", server("git", "here"))
    assert outcome(read(sandbox, shop)) == {"project git here": "disabled"}
    assert read(sandbox, shop).problems == []
    blog = repository(sandbox, "blog")
    sandbox.write(blog / ".codex/config.toml", "[mcp_servers.wiki]\nenabled = false\n")
    assert [item.place for item in read(sandbox, blog).problems] == ["mcp_servers.git"]


def test_variables_that_are_passed_on_are_kept_by_name_and_put_in_when_a_server_starts(
    sandbox: Sandbox,
) -> None:
    shop = repository(sandbox)
    remote = '[mcp_servers.r]\nurl = "u"\nbearer_token_env_var = "T"\nenv_http_headers = { X = "Y" }\n'
    passed_on = 'env_vars = ["A", { name = "B", source = "remote" }]\nenv = { C = "${A}" }\n'
    process = server("p", "x", passed_on + 'cwd = "sub"')
    sandbox.write(sandbox.home / ".codex/config.toml", remote + process)
    launches = {item.server: item.launch for item in read(sandbox, shop).declarations}
    assert launches["r"] is not None
    assert _started(launches["r"]).headers == {"X": "y", "Authorization": "Bearer t"}
    assert launches["p"] is not None
    assert (references(launches["p"].env["A"]), launches["p"].cwd) == (["A"], "sub")
    assert _started(launches["p"]).env == {"A": "a", "B": "b", "C": "${A}"}


def _started(launch: Launch) -> Launch:
    return expand(launch, {"A": "a", "B": "b", "T": "t", "Y": "y"}, workspace="/", home="/").launch


def plugin(sandbox: Sandbox, version: str, servers: object, *, name: str = "quill") -> None:
    folder = sandbox.home / ".codex/plugins/cache/orchard" / name / version
    sandbox.write(folder / ".codex-plugin/plugin.json", {"name": name})
    sandbox.write(folder / ".mcp.json", servers)


def test_a_plugin_brings_servers_of_its_local_or_highest_version(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(sandbox.home / ".codex/config.toml", '[plugins."quill@orchard"]\nenabled = true\n')
    plugin(sandbox, "9.0.0", {"spell": {"command": "nine"}})
    plugin(sandbox, "10.0.0", {"mcpServers": {"spell": {"command": "ten"}}})
    assert outcome(read(sandbox, shop)) == {"plugin quill@orchard": "enabled", "plugin spell ten": "enabled"}
    plugin(sandbox, "local", {"spell": {"command": "local"}})
    assert "plugin spell local" in outcome(read(sandbox, shop))


def test_the_settings_switch_plugins_and_their_servers_and_beat_them_by_name(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    on = '[plugins."quill@orchard"]\n[plugins."quill@orchard".mcp_servers.spell]\nenabled = false\n'
    plugin(sandbox, "abc", {"spell": {"command": "s"}, "git": {"command": "plugin"}, "bad": {"command": 5}})
    sandbox.write(sandbox.home / ".codex/config.toml", on + server("git", "user"))
    assert outcome(read(sandbox, shop)) == {
        "plugin quill@orchard": "enabled",
        "plugin spell s": "disabled",
        "global git user": "enabled",
    }
    sandbox.write(sandbox.home / ".codex/config.toml", '[plugins."quill@orchard"]\nenabled = false\n')
    assert outcome(read(sandbox, shop)) == {"plugin quill@orchard": "disabled"}
    sandbox.write(sandbox.home / ".codex/config.toml", on + "[features]\nplugins = false\n")
    assert outcome(read(sandbox, shop)) == {}


def test_an_administrators_list_has_a_part_for_plugins_and_an_empty_one_is_for_them_too(
    sandbox: Sandbox,
) -> None:
    shop = repository(sandbox)
    plugin(sandbox, "1.0.0", {"spell": {"command": "s"}, "rhyme": {"command": "r"}})
    sandbox.write(sandbox.home / ".codex/config.toml", '[plugins."quill@orchard"]\n')
    requirements = sandbox.root / "machine/etc/codex/requirements.toml"
    own = '[mcp_servers.git.identity]\ncommand = "x"\n'
    part = '[plugins."quill@orchard".mcp_servers.spell.identity]\ncommand = "s"\n'
    for content, denied in ((own, []), (part, ["plugin rhyme r"]), ("[mcp_servers]\n", None)):
        sandbox.write(requirements, content)
        found = outcome(read(sandbox, shop))
        expected = ["plugin rhyme r", "plugin spell s"] if denied is None else denied
        assert sorted(name for name, status in found.items() if status == "denied") == expected


def test_a_plugin_that_only_the_project_names_belongs_to_it(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    plugin(sandbox, "1.0.0", {"spell": {"command": "s"}})
    sandbox.write(sandbox.home / ".codex/config.toml", trust(shop))
    sandbox.write(shop / ".codex/config.toml", '[plugins."quill@orchard"]\n')
    owners = {item.project_hash for item in read(sandbox, shop).declarations}
    assert owners == {locate(str(shop)).project.hash}


def test_no_secret_of_an_entry_is_kept(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    more = 'args = ["--key=hush"]\nenv = { TOKEN = "hush" }'
    sandbox.write(sandbox.home / ".codex/config.toml", server("git", "x", more))
    assert "hush" not in repr(read(sandbox, shop))


def test_the_registry_keeps_what_waits_what_yields_and_what_a_plugin_brings(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    plugin(sandbox, "1.0.0", {"spell": {"command": "s"}, "git": {"command": "plugin"}})
    sandbox.write(sandbox.home / ".codex/config.toml", server("git", "user") + '[plugins."quill@orchard"]\n')
    sandbox.write(shop / ".codex/config.toml", server("tides", "project"))
    with sandbox.registry() as registry:
        listed = registry.tools(registry.at(str(shop), CLIENT.name))
    assert {f"{tool.scope} {tool.server}": decision.gate for tool, decision in listed if tool.server} == {
        "global git": None,
        "plugin git": "precedence",
        "plugin spell": None,
        "project tides": "config",
    }
