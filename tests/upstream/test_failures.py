from remit.decision.declared_launch import Launch
from remit.upstream.failures import secrets_of, url_secrets
from remit.upstream.launch.variable_expansion import Expanded

HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"  # made up


def hidden(launch: Launch, environment: dict[str, str] | None = None) -> set[str]:
    expanded = Expanded(launch=launch, missing=(), values=frozenset())
    return set(secrets_of(expanded, launch, environment or {}))


def test_the_secret_parts_of_a_url_are_known() -> None:
    assert set(url_secrets("https://ada:pw@mcp.example/x?a=b#y")) == {"ada", "pw", "a=b", "y"}
    assert HEX in set(url_secrets(f"https://mcp.example/s/{HEX}/mcp"))
    assert "hunter22" in set(url_secrets("https://mcp.example/?page=2&token=hunter22"))
    assert list(url_secrets("https://[broken")) == ["https://[broken"]


def test_secrets_of_the_users_environment_are_known_by_name_and_by_shape() -> None:
    secret = {
        "SMTP_PASS": "hunter21",
        "PASSPHRASE": "hunter22",
        "jwt": "hunter23",
        "SIG": "hunter24",
        "X": HEX,
    }
    assert hidden(Launch(command="run"), {**secret, "LANG": "C.UTF-8"}) == set(secret.values())


def test_secrets_among_the_arguments_are_known_as_where_they_are_shown() -> None:
    args = (
        "--db-pass",
        "hunter21",
        "--sig=hunter22",
        HEX,
        f"Authorization: Bearer sk-{HEX}",
        "--port",
        "8080",
    )
    found = hidden(Launch(command="run", args=(*args, "https://mcp.example/?key=hunter23")))
    assert {"hunter21", "hunter22", "hunter23", HEX, f"sk-{HEX}"} <= found
    assert not {"8080", "--port", "--db-pass"} & found
