import pytest

from remit.text.secrets import is_credential, is_secret, may_be_secret, names_a_secret, shown

# Made up for these tests; the parts are joined so that no scanner takes them for real ones.
GITHUB = "ghp_" + "k3J9x2Lq8Zw1Rt7Vb5Nc4Md6Hf0Gs"
ANTHROPIC = "sk-ant-" + "api03-Zq8Lw2Xv7Rk4Tn9Bm1Pc5Hd"
OPENAI = "sk-" + "proj-T9bLm2Xq8Zw1Rt7Vb5Nc4Md6"
SLACK = "xoxb-" + "2398471120-k3J9x2Lq8Zw1Rt7V"
GOOGLE = "AIza" + "SyD8k3J9x2Lq8Zw1Rt7Vb5Nc4Md6Hf0Gs"
AWS = "AKIA" + "Q3EGRT7VB5NC4MD6"
GITLAB = "glpat-" + "k3J9x2Lq8Zw1Rt7Vb5Nc"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiI5MjgzNyJ9." + "k3J9x2Lq8Zw1"
HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"
UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_PERSONAL_ACCESS_TOKEN", GITHUB),
        ("GREETING", GITHUB),
        ("", "github_pat_" + "11AB3K9x2Lq8Zw1Rt7Vb5Nc4Md6"),
        ("ANTHROPIC_API_KEY", ANTHROPIC),
        ("MODEL", OPENAI),
        ("SLACK_BOT_TOKEN", SLACK),
        ("GOOGLE_MAPS_API_KEY", GOOGLE),
        ("AWS_ACCESS_KEY_ID", AWS),
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY2rT9q0Lk8Z"),
        ("GITLAB", GITLAB),
        ("SUPABASE", JWT),
        ("BRAVE_API_KEY", HEX),
        ("FIGMA_API_KEY", UUID),
        ("apiKey", "k3J9x2Lq8Zw1"),
        ("X-Api-Key", HEX),
        ("Authorization", f"Bearer {HEX}"),
        ("Authorization", "Basic YWRhOmszSjl4MkxxOFp3MQ=="),
        ("DB_PASSWORD", "hunter2"),
        ("SMTP_PASS", "Tr0ub4dor&3"),
        ("PGPASSWORD", "hunter2"),
        ("TOKEN", "correcthorsebatterystaplefield"),
        ("TOKEN", f"${{TOKEN:-{HEX}}}"),
        ("OPENAPI_MCP_HEADERS", f'{{"Authorization": "Bearer {HEX}", "Version": "2022-06-28"}}'),
        ("CONFIG", f'{{"apiKey": "{HEX}"}}'),
        ("DATABASE_URL", "postgresql://ada:Tr0ub4dor@db.test:5432/shop"),
        ("", "https://k3J9x2Lq8Zw1Rt7Vb5@mcp.test/sse"),
        ("", f"https://mcp.test/mcp?api_key={HEX}&team=core"),
        ("", f"--url=https://mcp.test/?token={HEX}"),
        ("", f"https://mcp.test/s/{'Zw1Rt7Vb5Nc4Md6Hf0Gs' * 3}/mcp"),
        ("header", f"Authorization: Bearer {HEX}"),
        ("header", f"X-Api-Key:{HEX}"),
        ("e", f"STRIPE_SECRET={HEX}"),
        ("", f"--api-key={HEX}"),
        ("api-key", HEX),
        ("", "Server=db.test;User Id=sa;Password=Tr0ub4dor;"),
        ("KEY", "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7c9e66"),
    ],
)
def test_secrets_are_told(name: str, value: str) -> None:
    assert is_secret(value, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", ""),
        ("GITHUB_TOKEN", "${GITHUB_TOKEN}"),
        ("GITHUB_TOKEN", "${GITHUB_TOKEN:-}"),
        ("GITHUB_TOKEN", "${A:-${B}}"),
        ("GITHUB_TOKEN", "${env:GITHUB_TOKEN}"),
        ("GITHUB_TOKEN", "{env:GITHUB_TOKEN}"),
        ("GITHUB_TOKEN", "${input:github-token-1a2b3c}"),
        ("GITHUB_TOKEN", "${{ secrets.GITHUB_TOKEN }}"),
        ("GITHUB_TOKEN", "$GITHUB_TOKEN_2X9"),
        ("GITHUB_TOKEN", "%GITHUB_TOKEN_2X9%"),
        ("Authorization", "Bearer ${METRICS_TOKEN}"),
        ("GITHUB_TOKEN", "<your-token>"),
        ("GITHUB_TOKEN", "YOUR_API_KEY_2X9Q"),
        ("GITHUB_TOKEN", "ghp_your_token_here_2x9q8w7e6r5t"),
        ("GITHUB_TOKEN", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        ("UNIFUNCS_API_KEY", "sk-**********"),
        ("OPENAI_API_KEY", "sk-..."),
        ("OPENAI_API_KEY", "sk-1234567890abcdef1234567890abcdef"),
        ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
        ("TOKEN", "changeme-2x9q8w7e"),
        ("TOKEN", "insert-token-2x9q"),
        ("TOKEN", "xxx"),
        ("DB_PASSWORD", "password"),
        ("DB_PASSWORD", "<password>"),
        ("DB_PASSWORD", "/run/secrets/db"),
        ("DB_PASSWORD", "1"),
        ("PWD", "/home/ada/code"),
        ("DATABASE_URL", "postgresql://postgres:postgres@localhost:5432/postgres"),
        ("DATABASE_URL", "postgresql://localhost/shop"),
        ("DATABASE_URL", "postgresql://ada:${DB_PASSWORD}@db.test/shop"),
        ("REDIS_URL", "redis://localhost:6379/0"),
        ("", "git+ssh://git@github.com/acme/tools.git"),
        ("", "12://ada:Tr0ub4dor@34"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/.config/gcloud/key-7c9e6679.json"),
        ("SSH_KEY", "~/.ssh/id_ed25519"),
        ("TLS_KEY", "certs/server-7c9e66797425.pem"),
        ("KEY_FILE", HEX),
        ("PROJECT_ID", UUID),
        ("AZURE_TENANT_ID", UUID),
        ("FIGMA_FILE_KEY", "k3J9x2Lq8Zw1Rt7Vb5Nc"),
        ("STRIPE_PUBLISHABLE_KEY", HEX),
        ("SORT_KEY", "created_at"),
        ("PROJECT_KEY", "SHOP"),
        ("CACHE_KEY", "shop-v2-20260101"),
        ("API_KEY", "none"),
        ("API_TOKEN", "github-app-installation"),
        ("AUTH", "oauth"),
        ("MODEL", "claude-3-5-sonnet-20241022"),
        ("MAX_TOKENS", "8192"),
        ("SDC_MAX_CONTEXT_TOKENS", "2000"),
        ("TOKEN_URL", "https://auth.test/realms/7c9e667974254/token"),
        ("API_KEY", "https://keys.test/current"),
        ("BASE_URL", "https://api.test/v1/projects/9f86d081884c7d659a2feaa0c55ad015"),
        ("PORT", "8080"),
        ("DEBUG", "true"),
        ("NODE_OPTIONS", "--max-old-space-size=4096"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LOG_PATH", "C:\\Users\\ada\\logs"),
        ("COMMIT", HEX + "c55ad015"),
        ("X-Team", "core"),
        ("", "@modelcontextprotocol/server-github"),
        ("", "type=bind,source=/home/ada/code,dst=/code"),
        ("", "https://mcp.test/mcp?team=core&page_token=k3J9x2Lq8Zw1Rt"),
        ("", "task-management-extension-server-v2"),
        ("", "sk-learn-extensions-server-v2"),
        ("", "https://github.com/acme/a-rather-long-name-of-a-repository-for-tools/x"),
        ("token", "--verbose"),
        ("", "Basic authentication is used"),
    ],
)
def test_other_values_are_not_secrets(name: str, value: str) -> None:
    assert not is_secret(value, name)


@pytest.mark.parametrize(
    "name",
    [
        "SMTP_PASS",
        "PASSPHRASE",
        "PGPASSWORD",
        "jwt",
        "X-Sig",
        "apiKey",
        "Cookie",
        "TOKEN_2",
        "AWS_ACCESS_KEY_ID",
    ],
)
def test_names_of_secrets_are_known_wherever_the_word_stands(name: str) -> None:
    assert names_a_secret(name)
    assert may_be_secret("short", name)


@pytest.mark.parametrize(
    "name", ["", "KEY_FILE", "TOKEN_URL", "auth-command", "PAGE_TOKEN", "MAX_TOKENS", "MONKEY", "HOME"]
)
def test_names_of_what_is_about_a_secret_are_none(name: str) -> None:
    assert not names_a_secret(name)
    assert not may_be_secret("short", name)


@pytest.mark.parametrize("value", [HEX, HEX.upper(), "k3J9x2Lq-8Zw1Rt7V_b5Nc4Md6", f"/opt/{HEX}/run"])
def test_what_looks_random_may_be_a_secret_under_any_name(value: str) -> None:
    assert may_be_secret(value, "X")
    assert not is_secret(value, "X")


@pytest.mark.parametrize("value", ["key-value-store", "Acme-MCP-Server-Tools-v2", UUID, "a" * 40])
def test_what_is_made_of_words_is_none(value: str) -> None:
    assert not may_be_secret(value)


def test_a_word_is_shown_only_when_it_cannot_be_a_secret() -> None:
    assert shown("@acme/mcp-server") == "@acme/mcp-server"
    assert shown("C:\\Program Files\\node.exe") == "C:\\Program Files\\node.exe"
    for word in (GITHUB, f"/opt/{HEX}/run", f"https://ada:Tr0ub4dor@{'x'}.test", "a" * 101, "\x1b[2J", "a;b"):
        assert shown(word) is None


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("TOKEN", "9f86d081884c7d659a2f", True),
        ("Authorization", "Bearer 9f86d081884c7d659a2f", True),
        ("KEY", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4", True),
        ("KEY", "q83vEjRWeJCrze/xI0VniavN7w==", True),
        ("DB_PASSWORD", "p@ssw0rd!", True),
        ("DB_PASSWORD", "postgres", False),
        ("DB_PASSWORD", "$(evil)", False),
        ("TOKEN", "a-word", False),
        ("TOKEN", "./9f86d081884c7d659a2f", False),
        ("TOKEN", "9f86d081884c7d65.evil.test", False),
        ("TOKEN", "run 9f86d081884c7d659a2f", False),
        ("TOKEN", "${OTHER_TOKEN}", False),
    ],
)
def test_a_credential_is_one_random_word_or_a_password_by_name(name: str, value: str, is_one: bool) -> None:
    assert is_credential(value, name) is is_one
