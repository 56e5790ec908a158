"""Scopes files: what is added, what is kept, and what is wrong with them."""

import tomllib

import pytest

from remit.errors import BadFileError
from remit.names.name_tree import Command, Label, Names, Start
from remit.names.scopes_file import Server, label, read_scopes


def names(*commands: str, **labels: Label) -> Names:
    made = [
        Command(name, Start.CALL, "app:cli", label=labels.get(name.replace(".", "_"), Label()))
        for name in sorted(commands)
    ]
    return Names("app", tuple(made))


def test_new_names_are_added_off_for_agents_unless_they_only_read() -> None:
    made = label(names("user.list", "user.delete", "user.create", "user.frob"), None, "scopes.toml")
    assert tomllib.loads(made.text.decode())["tools"] == {
        "user.create": {"ai_enabled": False, "danger": "moderate"},
        "user.delete": {"ai_enabled": False, "danger": "destructive"},
        "user.frob": {"ai_enabled": False, "danger": "low"},
        "user.list": {"ai_enabled": True, "danger": "safe"},
    }
    assert made.added == ("user.create", "user.delete", "user.frob", "user.list")


def test_what_the_code_says_is_what_a_new_name_starts_with() -> None:
    said = Label(
        states=("open",),
        when='git.branch != "x"',
        pages=("/blog",),
        danger="moderate",
        ai_enabled=True,
        approval=True,
    )
    made = label(names("publish", publish=said), None, "scopes.toml")
    assert tomllib.loads(made.text.decode())["tools"]["publish"] == {
        "ai_enabled": True,
        "danger": "moderate",
        "approval": True,
        "states": ["open"],
        "when": 'git.branch != "x"',
        "location": {"pages": ["/blog"]},
    }


@pytest.mark.parametrize(
    "before",
    [
        b'# mine\n[tools."user.list"]   # keep\nai_enabled=true\r\n\n\n\t# odd  \n',
        b'tools."user.list".danger = "safe"',
        b"\xef\xbb\xbf[tools.'user.list']\r\nstates = [ 'a',\r\n 'b' ]\r\n",
        b"",
    ],
)
def test_what_a_person_wrote_is_kept_to_the_byte(before: bytes) -> None:
    wanted = names("user.list", "user.delete")
    made = label(wanted, before, "scopes.toml")
    assert made.text.startswith(before)
    assert set(read_scopes(made.text, "scopes.toml").tables) == {"user.list", "user.delete"}
    again = label(wanted, made.text, "scopes.toml")
    assert (again.text, again.added) == (made.text, ())


def test_names_that_are_gone_are_told_and_stay() -> None:
    before = b'[tools."user.list"]\nai_enabled = true\n[tools."user.*"]\ndanger = "low"\n'
    made = label(names("user.show"), before, "scopes.toml")
    assert (made.added, made.removed) == (("user.show",), ("user.list",))
    assert made.text.startswith(before)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[tools.x", "not valid TOML", None),
        (
            "[tools.x]\ndangr = 'safe'",
            "line 2 column 1: `dangr` is not a known key",
            "did you mean `danger`?",
        ),
        ("[tools.x]\ndanger = 'bad'", "expected one of `safe`", None),
        ("[tools.x]\nwhen = 'git.branch =='", "line 2 column 22", None),
        ("[states.x]\nfile = 'x'", "`states` is not allowed", "declare states in remit.toml"),
        ("[server]\ncommand = 'x'", "`server` has a `name`", None),
        ("[server]\ntimeout = 0", "`server` has a `name`", None),
        ("server = 1", "`server` has a `name`", None),
    ],
)
def test_a_scopes_file_with_a_mistake_is_refused_with_its_place(
    text: str, message: str, hint: str | None
) -> None:
    with pytest.raises(BadFileError) as caught:
        label(names("x"), text.encode(), "scopes.toml")
    assert str(caught.value).startswith("scopes.toml: ")
    assert message in str(caught.value)
    assert hint is None or caught.value.hint == hint


def test_a_file_that_cannot_be_added_to_is_refused() -> None:
    with pytest.raises(BadFileError):
        label(names("x"), b"tools = {}", "scopes.toml")
    with pytest.raises(BadFileError, match="not UTF-8"):
        label(names("x"), b"\xff", "scopes.toml")


def test_a_scopes_file_may_say_how_the_program_is_started() -> None:
    text = b'[server]\nname = "sc"\ncommand = ["sc", "--quiet"]\ntimeout = 5\n'
    assert read_scopes(text, "x").server == Server("sc", ("sc", "--quiet"), 5.0)
