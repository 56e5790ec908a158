"""What a person reads of an entry."""

from dataclasses import replace
from typing import Any

from remit.decision.declared_launch import Launch, Transport, VariableSyntax
from remit.decision.kinds import ConfigStatus
from remit.decision.scopes import Scope
from remit.trust.entry_text import EntryText, entry_outline, outline_diff
from remit.trust.server_sandbox import OpenedPaths, Sandbox
from remit.trust.trust_rule import ServerTrust
from support.builders import declared

TOKEN = "9f86d081884c7d659a2f"  # noqa: S105 - made up


def lines(launch: Launch, *secrets: str) -> list[str]:
    return list(EntryText(launch, secrets, lambda _: False).lines())


def test_a_process_is_shown_with_all_that_it_gets() -> None:
    launch = Launch(
        command="npx",
        args=("-y", TOKEN, "two words"),
        cwd="sub",
        env={"NODE_OPTIONS": "--x", "API_KEY": TOKEN, "USER": "${ADA}"},
        runner_files={"sub/.npmrc": "d", ".npmrc": "d"},
        syntaxes=(VariableSyntax.DEFAULTS,),
    )
    assert lines(launch) == [
        f"  runs    npx -y {TOKEN} 'two words'",
        "  in      sub",
        "  reads   .npmrc (can change which code runs)",
        "          sub/.npmrc (can change which code runs)",
        "  env     API_KEY=***(20 characters)",
        "          NODE_OPTIONS=--x (can change which code runs)",
        "          USER=${ADA} from your ADA",
    ]


def test_a_process_is_shown_with_its_sandbox_and_the_variables_it_gets() -> None:
    launch = Launch(command="serve")

    def told(**others: Any) -> list[str]:
        entry = replace(declared("git", Scope.PROJECT), launch=launch, digest="x")
        item = ServerTrust(entry, ConfigStatus.ENABLED, "x", **others)
        return list(EntryText(launch, (), lambda _: False).lines(item))[1:]

    few = "and the like; none of your other environment variables"
    assert told() == ["  sandbox none", f"  gets    PATH, HOME {few}"]
    assert told(inherits=("TOKEN",))[-1] == f"  gets    PATH, HOME, TOKEN {few}"
    assert told(inherits=True)[-1] == "  gets    all your environment variables"
    box, wider = Sandbox("/code/shop"), Sandbox("/code/shop", network=True)
    assert told(sandbox=box, projects_sandbox=box, trusted_sandbox=box)[0] == "  sandbox no network; no files"
    assert told(sandbox=box, opened=OpenedPaths())[1].startswith("  gets    ")
    opened = OpenedPaths(("tools", "~/.pyenv"))
    assert told(sandbox=box, opened=opened)[1] == "          to run, also reads tools, ~/.pyenv"
    stuck = OpenedPaths(problem="its command was not found")
    assert told(sandbox=box, opened=stuck)[1] == "          cannot run in it: its command was not found"
    for now, words in ((None, "no sandbox"), (wider, "`network; no files`")):
        assert told(sandbox=box, projects_sandbox=now, trusted_sandbox=box)[:2] == [
            "  sandbox no network; no files",
            f"          its project now declares {words}; trust it again to allow that",
        ]


def test_a_remote_server_is_shown_with_its_headers_and_the_command_that_prints_more() -> None:
    launch = Launch(
        transport=Transport.HTTP,
        url=f"https://x.test/{TOKEN}",
        headers={"Authorization": f"Bearer {TOKEN}", "X-Team": "shop"},
        headers_helper="make-headers --all",
    )
    assert lines(launch) == [
        f"  reaches https://x.test/{TOKEN}",
        "  runs    make-headers --all (for its headers)",
        "  headers Authorization=***(27 characters)",
        "          X-Team=shop",
    ]


def test_a_secret_of_the_user_is_hidden_wherever_it_is() -> None:
    launch = Launch(
        command="run", args=("--key=hunter22hunter22", "hunter22"), env={"NODE_PATH": "/hunter22"}
    )
    assert lines(launch, "hunter22", "hunter22hunter22") == [
        "  runs    run '--key=***(16 characters)' '***(8 characters)'",
        "  env     NODE_PATH=/***(8 characters) (can change which code runs)",
    ]


def test_an_entry_that_changed_shows_its_old_and_new_parts_without_secrets() -> None:
    old = Launch(command="npx", args=("till@1",), env={"API_KEY": TOKEN, "MODE": "a"}, cwd="sub")
    new = replace(old, args=("till@2",), env={"API_KEY": TOKEN, "MODE": "b"})
    found = outline_diff(entry_outline(old), entry_outline(new))
    assert found[0] == "- runs npx till@1"
    assert "+ runs npx till@2" in found
    assert [each[:15] for each in found if "MODE" in each] == ["- variable MODE", "+ variable MODE"]
    assert TOKEN not in str(found)
    assert outline_diff(["a"], ["a"]) == ["a part that looks like a secret changed, or one that is not shown"]


def test_an_outline_has_addresses_and_headers_without_secrets() -> None:
    launch = Launch(
        transport=Transport.HTTP,
        url=f"https://ada:{TOKEN}@x.test/mcp",
        headers={"X-Mode": "a"},
        headers_helper="https://helper.test",
    )
    assert TOKEN not in str(entry_outline(launch))
    assert any(part.startswith("header X-Mode (value #") for part in entry_outline(launch))


def test_a_server_that_was_trusted_with_another_entry_shows_the_difference_first() -> None:
    launch = Launch(command="npx", args=("till@2",))
    entry = replace(declared("till", Scope.PROJECT), launch=launch, digest="y")
    item = ServerTrust(entry, ConfigStatus.ENABLED, "x", trusted_entry=("runs npx till@1",))
    shown = list(EntryText(launch, (), lambda _: False).lines(item))
    assert shown[:2] == ["  - runs npx till@1", "  + runs npx till@2"]
