from pathlib import Path

import pytest

from remit.clients.codex import CLIENT
from remit.clients.parsing.client_reader import read_client
from remit.decision.client_reading import ClientReading
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Resolved
from remit.decision.kinds import ConfigStatus
from remit.decision.launch import Launch, references
from remit.decision.resolve import resolve
from remit.decision.views import View
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from remit.upstream.launch.variable_expansion import expand
from support import Desk


def read(desk: Desk, directory: Path, platform: str = "linux") -> ClientReading:
    machine = Machine(str(desk.home), desk.variables, platform, root=str(desk.root / "machine"))
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


def repository(desk: Desk, name: str = "shop") -> Path:
    path = desk.project(name)
    desk.write(path / ".git/HEAD", "ref: refs/heads/main\n")
    return path


def test_a_project_file_is_laid_over_the_users_key_by_key(desk: Desk) -> None:
    shop = repository(desk)
    user = server("git", "git-user", 'args = ["--all"]\nenv = { A = "1" }')
    desk.write(desk.home / ".codex/config.toml", user + trust(shop))
    desk.write(shop / ".codex/config.toml", '[mcp_servers.git]\nargs = ["--here"]\nenv = { B = "2" }\n')
    reading = read(desk, shop)
    assert outcome(reading) == {"project git git-user --here": "enabled"}
    [winner] = [item for item in reading.declarations if item.scope == "project"]
    assert winner.launch is not None
    assert winner.launch.env == {"A": "1", "B": "2"}


def test_without_trust_a_projects_server_waits_and_shadows_nothing(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(desk.home / ".codex/config.toml", server("git", "git-user"))
    desk.write(shop / ".codex/config.toml", server("git", "git-here"))
    assert outcome(read(desk, shop)) == {"global git git-user": "enabled", "project git git-here": "pending"}


def test_trust_is_asked_for_the_directory_then_its_root_and_another_answer_is_none(desk: Desk) -> None:
    shop = repository(desk)
    api = shop / "api"
    desk.write(shop / ".codex/config.toml", server("git", "outer"))
    desk.write(api / ".codex/config.toml", server("wiki", "inner"))
    user = desk.home / ".codex/config.toml"
    desk.write(user, trust(shop))
    assert outcome(read(desk, api)) == {"project git outer": "enabled", "project wiki inner": "enabled"}
    desk.write(user, trust(shop) + trust(api, "untrusted"))
    assert outcome(read(desk, api)) == {"project git outer": "enabled", "project wiki inner": "pending"}
    desk.write(user, trust(desk.root))
    assert outcome(read(desk, api)) == {"project git outer": "pending", "project wiki inner": "pending"}


def test_without_a_marker_only_the_launch_directory_has_a_project_file(desk: Desk) -> None:
    notes = desk.project("notes", git=False)
    desk.write(desk.home / ".codex/config.toml", trust(notes) + trust(notes / "deep"))
    desk.write(notes / ".codex/config.toml", server("git", "outer"))
    desk.write(notes / "deep/.codex/config.toml", server("wiki", "inner"))
    assert outcome(read(desk, notes / "deep")) == {"project wiki inner": "enabled"}


def test_the_users_settings_can_name_other_markers(desk: Desk) -> None:
    notes = desk.project("notes", git=False)
    desk.write(notes / "ROOT", "")
    desk.write(notes / ".codex/config.toml", server("git", "outer"))
    (notes / "deep").mkdir()
    desk.write(desk.home / ".codex/config.toml", 'project_root_markers = ["ROOT"]\n' + trust(notes))
    assert outcome(read(desk, notes / "deep")) == {"project git outer": "enabled"}
    desk.write(desk.home / ".codex/config.toml", "project_root_markers = 1\n" + trust(notes))
    assert outcome(read(desk, notes / "deep")) == {}


def test_the_users_own_folder_is_no_project_file_of_the_home(desk: Desk) -> None:
    desk.write(desk.home / ".codex/config.toml", server("git", "x") + trust(desk.home))
    assert outcome(read(desk, desk.home)) == {"global git x": "enabled"}


def test_codex_home_moves_the_users_file_and_may_be_relative(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(desk.home / ".codex/config.toml", server("git", "usual"))
    desk.write(shop / "own/config.toml", server("git", "moved"))
    desk.variables["CODEX_HOME"] = "own"
    assert outcome(read(desk, shop)) == {"global git moved": "enabled"}


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "machine/etc/codex"),
        ("darwin", "machine/etc/codex"),
        ("win32", "machineC:\\ProgramData/OpenAI/Codex"),
    ],
)
def test_the_machines_file_is_the_weakest_and_the_managed_one_the_strongest(
    desk: Desk, platform: str, folder: str
) -> None:
    shop = repository(desk)
    desk.write(desk.root / folder / "config.toml", server("git", "machine") + server("wiki", "machine"))
    desk.write(desk.home / ".codex/config.toml", server("git", "user") + trust(shop))
    desk.write(shop / ".codex/config.toml", server("tides", "project"))
    desk.write(desk.root / folder / "managed_config.toml", '[mcp_servers.tides]\nargs = ["--safe"]\n')
    assert outcome(read(desk, shop, platform)) == {
        "global git user": "enabled",
        "global wiki machine": "enabled",
        "project tides project --safe": "enabled",
    }


def test_an_administrators_list_denies_what_it_does_not_name_with_the_same_command(desk: Desk) -> None:
    shop = repository(desk)
    user = server("git", "good") + server("wiki", "bad") + server("tides", "x")
    desk.write(desk.home / ".codex/config.toml", user)
    desk.write(shop / ".codex/config.toml", server("git", "not trusted") + server("new", "not trusted"))
    allowed = '[mcp_servers.git.identity]\ncommand = "good"\n[mcp_servers.wiki.identity]\ncommand = "good"\n'
    desk.write(desk.root / "machine/etc/codex/requirements.toml", allowed)
    assert outcome(read(desk, shop)) == {
        "global git good": "enabled",
        "project git not trusted": "pending",
        "project new not trusted": "denied",
        "global wiki bad": "denied",
        "global tides x": "denied",
    }


def test_an_administrators_list_knows_urls_and_a_file_without_one_denies_nothing(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(desk.home / ".codex/config.toml", '[mcp_servers.git]\nurl = "https://mcp.test/"\n')
    requirements = desk.root / "machine/etc/codex/requirements.toml"
    desk.write(requirements, '[mcp_servers.git.identity]\nurl = "https://other.test/"\n')
    assert outcome(read(desk, shop)) == {"global git https://mcp.test/": "denied"}
    desk.write(requirements, '[mcp_servers.git.identity]\nurl = "https://mcp.test/"\n')
    assert outcome(read(desk, shop)) == {"global git https://mcp.test/": "enabled"}
    desk.write(requirements, 'allowed_approval_policies = ["never"]\n')
    assert outcome(read(desk, shop)) == {"global git https://mcp.test/": "enabled"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("args = []", "neither `command` nor `url` is given, in this file or one that it is laid over"),
        ('command = "x"\nurl = "y"', "`url` cannot stand beside `command`"),
        ('url = "x"\nargs = ["y"]', "`args` cannot stand beside `url`"),
        ('url = "x"\nbearer_token = "hush"', "`bearer_token` is not supported; use `bearer_token_env_var`"),
        ('command = "x"\nenabled = "no"', "enabled: expected true or false, found text"),
        ('command = "x"\nenv = { A = 1 }', "env, item 1: expected text, found a number"),
    ],
)
def test_a_bad_entry_is_named_and_the_others_are_declared(desk: Desk, entry: str, reason: str) -> None:
    shop = repository(desk)
    desk.write(desk.home / ".codex/config.toml", server("good", "x") + f"[mcp_servers.bad]\n{entry}\n")
    reading = read(desk, shop)
    assert outcome(reading) == {"global good x": "enabled"}
    assert [(item.place, item.reason) for item in reading.problems] == [("mcp_servers.bad", reason)]


def test_a_mistake_counts_only_in_the_merged_entry_of_files_that_count(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(desk.home / ".codex/config.toml", "[mcp_servers.git]\nenabled = false\n" + trust(shop))
    desk.write(shop / ".codex/config.toml", server("git", "here"))
    assert outcome(read(desk, shop)) == {"project git here": "disabled"}
    assert read(desk, shop).problems == []
    blog = repository(desk, "blog")
    desk.write(blog / ".codex/config.toml", "[mcp_servers.wiki]\nenabled = false\n")
    assert [item.place for item in read(desk, blog).problems] == ["mcp_servers.git"]


def test_variables_that_are_passed_on_are_kept_by_name_and_put_in_when_a_server_starts(desk: Desk) -> None:
    shop = repository(desk)
    remote = '[mcp_servers.r]\nurl = "u"\nbearer_token_env_var = "T"\nenv_http_headers = { X = "Y" }\n'
    passed_on = 'env_vars = ["A", { name = "B", source = "remote" }]\nenv = { C = "${A}" }\n'
    process = server("p", "x", passed_on + 'cwd = "sub"')
    desk.write(desk.home / ".codex/config.toml", remote + process)
    launches = {item.server: item.launch for item in read(desk, shop).declarations}
    assert launches["r"] is not None
    assert _started(launches["r"]).headers == {"X": "y", "Authorization": "Bearer t"}
    assert launches["p"] is not None
    assert (references(launches["p"].env["A"]), launches["p"].cwd) == (["A"], "sub")
    assert _started(launches["p"]).env == {"A": "a", "B": "b", "C": "${A}"}


def _started(launch: Launch) -> Launch:
    return expand(launch, {"A": "a", "B": "b", "T": "t", "Y": "y"}, workspace="/", home="/").launch


def plugin(desk: Desk, version: str, servers: object, *, name: str = "quill") -> None:
    folder = desk.home / ".codex/plugins/cache/orchard" / name / version
    desk.write(folder / ".codex-plugin/plugin.json", {"name": name})
    desk.write(folder / ".mcp.json", servers)


def test_a_plugin_brings_servers_of_its_local_or_highest_version(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(desk.home / ".codex/config.toml", '[plugins."quill@orchard"]\nenabled = true\n')
    plugin(desk, "9.0.0", {"spell": {"command": "nine"}})
    plugin(desk, "10.0.0", {"mcpServers": {"spell": {"command": "ten"}}})
    assert outcome(read(desk, shop)) == {"plugin quill@orchard": "enabled", "plugin spell ten": "enabled"}
    plugin(desk, "local", {"spell": {"command": "local"}})
    assert "plugin spell local" in outcome(read(desk, shop))


def test_the_settings_switch_plugins_and_their_servers_and_beat_them_by_name(desk: Desk) -> None:
    shop = repository(desk)
    on = '[plugins."quill@orchard"]\n[plugins."quill@orchard".mcp_servers.spell]\nenabled = false\n'
    plugin(desk, "abc", {"spell": {"command": "s"}, "git": {"command": "plugin"}, "bad": {"command": 5}})
    desk.write(desk.home / ".codex/config.toml", on + server("git", "user"))
    assert outcome(read(desk, shop)) == {
        "plugin quill@orchard": "enabled",
        "plugin spell s": "disabled",
        "global git user": "enabled",
    }
    desk.write(desk.home / ".codex/config.toml", '[plugins."quill@orchard"]\nenabled = false\n')
    assert outcome(read(desk, shop)) == {"plugin quill@orchard": "disabled"}
    desk.write(desk.home / ".codex/config.toml", on + "[features]\nplugins = false\n")
    assert outcome(read(desk, shop)) == {}


def test_an_administrators_list_has_a_part_for_plugins_and_an_empty_one_is_for_them_too(desk: Desk) -> None:
    shop = repository(desk)
    plugin(desk, "1.0.0", {"spell": {"command": "s"}, "rhyme": {"command": "r"}})
    desk.write(desk.home / ".codex/config.toml", '[plugins."quill@orchard"]\n')
    requirements = desk.root / "machine/etc/codex/requirements.toml"
    own = '[mcp_servers.git.identity]\ncommand = "x"\n'
    part = '[plugins."quill@orchard".mcp_servers.spell.identity]\ncommand = "s"\n'
    for content, denied in ((own, []), (part, ["plugin rhyme r"]), ("[mcp_servers]\n", None)):
        desk.write(requirements, content)
        found = outcome(read(desk, shop))
        expected = ["plugin rhyme r", "plugin spell s"] if denied is None else denied
        assert sorted(name for name, status in found.items() if status == "denied") == expected


def test_a_plugin_that_only_the_project_names_belongs_to_it(desk: Desk) -> None:
    shop = repository(desk)
    plugin(desk, "1.0.0", {"spell": {"command": "s"}})
    desk.write(desk.home / ".codex/config.toml", trust(shop))
    desk.write(shop / ".codex/config.toml", '[plugins."quill@orchard"]\n')
    owners = {item.project_hash for item in read(desk, shop).declarations}
    assert owners == {locate(str(shop)).project.hash}


def test_no_secret_of_an_entry_is_kept(desk: Desk) -> None:
    shop = repository(desk)
    more = 'args = ["--key=hush"]\nenv = { TOKEN = "hush" }'
    desk.write(desk.home / ".codex/config.toml", server("git", "x", more))
    assert "hush" not in repr(read(desk, shop))


def test_the_registry_keeps_what_waits_what_yields_and_what_a_plugin_brings(desk: Desk) -> None:
    shop = repository(desk)
    plugin(desk, "1.0.0", {"spell": {"command": "s"}, "git": {"command": "plugin"}})
    desk.write(desk.home / ".codex/config.toml", server("git", "user") + '[plugins."quill@orchard"]\n')
    desk.write(shop / ".codex/config.toml", server("tides", "project"))
    with desk.registry() as registry:
        listed = registry.tools(registry.at(str(shop), CLIENT.name))
    assert {f"{tool.scope} {tool.server}": decision.gate for tool, decision in listed if tool.server} == {
        "global git": None,
        "plugin git": "precedence",
        "plugin spell": None,
        "project tides": "config",
    }
