"""The tables that say who may use a gateway."""

import tomllib

import pytest

from remit.configuration.checks.project_limits import violations
from remit.configuration.config_model import (
    AccessRule,
    CallLimits,
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationLayer,
    IdentityProvider,
    LoadedFile,
    Role,
    SignInClient,
)
from remit.configuration.file_parser import read
from remit.configuration.layers import combine

IDENTITY = '[identity]\nissuer = "https://login.example.com"\naudience = "remit"\n'
RULE = '[[access]]\ngroup = "devs"\nrole = "user"\nprojects = ["~/code/shop"]\n'
LIMITS = "[limits]\ncalls_per_minute = 60\n"


def said(text: str) -> ConfigurationContent:
    content, mistakes = read(tomllib.loads(text))
    assert mistakes == []
    return content


def wrong(text: str) -> list[tuple[str, str]]:
    _, mistakes = read(tomllib.loads(text))
    return [(".".join(each.path), each.message) for each in mistakes]


def loaded(layer: ConfigurationLayer, text: str) -> LoadedFile:
    return LoadedFile(ConfigurationFile(layer, f"/{layer}.toml"), said(text))


def test_an_issuer_has_an_audience_and_usual_claims() -> None:
    assert said(IDENTITY).identity == IdentityProvider("https://login.example.com", ("remit",))
    named = (
        'audience = ["a", "b"]\njwks = "https://keys.example.com/k"\nname_claim = "email"\ngroups_claim = "g"'
    )
    assert said(f'[identity]\nissuer = "http://127.0.0.1:8080/x"\n{named}').identity == IdentityProvider(
        "http://127.0.0.1:8080/x", ("a", "b"), "https://keys.example.com/k", "email", "g"
    )


def test_an_issuer_without_an_audience_is_a_mistake() -> None:
    text = '[identity]\nissuer = "https://login.example.com"\n'
    assert wrong(text) == [("identity.audience", "`audience` is missing")]
    assert wrong('[identity]\naudience = "remit"') == [("identity.issuer", "`issuer` is missing")]


@pytest.mark.parametrize(
    "address",
    [
        "http://login.example.com",
        "http://127.0.0.1.example.com",
        "https://",
        "login.example.com",
        "https://ada:pw@login.example.com",
        "https://login.example.com/?x=1",
        "https://login.example.com/#x",
        "https://[login",
        "https://login.example.com:0",
    ],
)
def test_an_issuer_is_reached_with_encryption_or_on_this_machine(address: str) -> None:
    message = "expected an https address without a user, a query and a fragment"
    assert wrong(f'[identity]\nissuer = "{address}"\naudience = "remit"') == [("identity.issuer", message)]
    assert wrong(f'{IDENTITY}jwks = "{address}"') == [("identity.jwks", message)]


def test_people_sign_in_at_the_issuer_with_a_client_id_and_return_to_the_audience_or_elsewhere() -> None:
    given = '[identity]\nissuer = "https://login.example.com"\nclient_id = "pages"\n'
    at_audience = said(f'{given}audience = ["remit", "https://Tools.example/mcp"]').identity
    assert at_audience is not None
    assert at_audience.sign_in == SignInClient("pages", "https://tools.example")
    more = 'public_url = "https://tools.example:8443/"\nscopes = ["openid", "groups"]\n'
    more += 'audience_parameter = "none"\n'
    elsewhere = said(f'{given}audience = "remit"\n{more}client_secret_file = "~/secret"').identity
    assert elsewhere is not None
    assert elsewhere.sign_in == SignInClient(
        "pages", "https://tools.example:8443", "~/secret", ("openid", "groups"), "none"
    )


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('client_id = "pages"', ("identity.public_url", "`public_url` is missing")),
        (
            'client_id = "pages"\npublic_url = "http://tools.example"',
            ("identity.public_url", "expected an https"),
        ),
        (
            'client_id = "pages"\npublic_url = "https://x.example/y"',
            ("identity.public_url", "expected an address "),
        ),
        ('scopes = "openid"', ("identity.scopes", "`scopes` needs `client_id`")),
        (
            'client_id = "pages"\npublic_url = "https://x.example"\naudience_parameter = "aud"',
            ("identity.audience_parameter", "expected one of "),
        ),
        ('client_secret = "hunter22"', ("identity.client_secret", "`client_secret` is not a known key")),
    ],
)
def test_a_mistake_in_how_people_sign_in_is_named_without_secrets(
    text: str, mistake: tuple[str, str]
) -> None:
    ((path, message),) = wrong(f"{IDENTITY}{text}")
    assert path == mistake[0]
    assert message.startswith(mistake[1])
    assert "hunter22" not in message


def test_the_file_of_the_client_secret_is_an_absolute_path() -> None:
    text = f'{IDENTITY}client_id = "pages"\npublic_url = "https://x.example"\nclient_secret_file = "secret"'
    assert wrong(text) == [("identity.client_secret_file", "expected an absolute path")]


def test_a_rule_gives_a_group_or_a_person_a_role_in_projects() -> None:
    person = '[[access]]\nprincipal = "grace"\nrole = "admin"\nprojects = "*"\n'
    assert said(RULE + person).access == (
        AccessRule(Role.USER, ("~/code/shop",), group="devs"),
        AccessRule(Role.ADMIN, ("*",), principal="grace"),
    )


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('group = "a"\nrole = "king"\nprojects = "*"', ("access.1.role", "expected one of `reader`, ")),
        ('group = "a"\nrole = "user"', ("access.1.projects", "`projects` is missing")),
        ('group = "a"\nprojects = "*"', ("access.1.role", "`role` is missing")),
        ('role = "user"\nprojects = "*"', ("access.1", "expected either `group` or `principal`")),
        ('group = "a"\nprincipal = "b"\nrole = "user"\nprojects = "*"', ("access.1", "expected either ")),
        (
            'group = "a"\nrole = "user"\nprojects = "*"\nroom = "x"',
            ("access.1.room", "`room` is "),
        ),
    ],
)
def test_a_rule_with_a_mistake_is_named_by_its_number(text: str, mistake: tuple[str, str]) -> None:
    ((path, message),) = wrong(f"[[access]]\n{text}")
    assert path == mistake[0]
    assert message.startswith(mistake[1])


def test_rules_are_a_list_of_tables() -> None:
    assert wrong("[access]") == [("access", "expected tables, each as `[[access]]`, found a table")]
    assert wrong(f"access = [{'{},' * 501}]") == [("access", "501 items; at most 500 are read")]
    assert wrong("access = [1]")[0] == ("access.1", "expected a table, found a number")


def test_limits_are_positive() -> None:
    given = f"{LIMITS}concurrent_calls = 4\nendpoints = 8"
    assert said(given).limits == CallLimits(60, 4, 8)
    assert wrong("[limits]\ncalls_per_minute = 0")[0][0] == "limits.calls_per_minute"


def test_only_the_machines_and_the_administrators_files_count() -> None:
    files = [
        loaded(ConfigurationLayer.MACHINE, IDENTITY + RULE + LIMITS),
        loaded(ConfigurationLayer.PROJECT, IDENTITY.replace("login", "evil") + RULE.replace("devs", "all")),
        loaded(ConfigurationLayer.MANAGED, "[limits]\nconcurrent_calls = 2\n" + RULE.replace("devs", "ops")),
    ]
    found = combine(files, {})
    assert found.identity == IdentityProvider("https://login.example.com", ("remit",))
    assert [rule.group for rule in found.access] == ["devs", "ops"]
    assert found.limits == CallLimits(60, 2)
    assert found.is_complete


def test_a_file_that_was_never_valid_leaves_the_access_unknown() -> None:
    file = ConfigurationFile(ConfigurationLayer.MACHINE, "/machine.toml")
    assert not combine([LoadedFile(file, ConfigurationContent(), is_unread=True)], {}).is_complete


def test_a_project_cannot_choose_who_uses_the_gateway() -> None:
    text = IDENTITY + RULE + LIMITS
    found = [mistake.path for _, mistake in violations([loaded(ConfigurationLayer.PROJECT, text)])]
    assert found == [("identity",), ("access",), ("limits",)]
    assert not [*violations([loaded(ConfigurationLayer.MACHINE, text)])]
