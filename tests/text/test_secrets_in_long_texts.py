"""Secrets in long texts: none is missed and none takes long; short ones are judged as by plain patterns."""

import re
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.text import secrets
from remit.text.secrets import is_secret, may_be_secret, secrets_in

SECRET = "ghp_" + "a1B2c3D4e5" * 4
RANDOM = "k3J9x2Lq8Zw1Rt7Vb5Nc4"

# Each starts anew at every character, and takes hours for a long run of letters.
REFERENCE = r"\$\{\{.*?\}\}|\$\{[^}]*?:-([^}]*)\}|\$\{[^}]*\}|\{(?:env|file):[^}]*\}"
HEAD = r"eyJ[\w-]{8,}\.[\w-]{8,}"  # of a web token
PAIR = r"([A-Za-z][\w.-]*)[\"']?\s*[=:]\s*[\"']?(?=([^\s;&,\"'}]+))"
USERINFO = r"[A-Za-z][\w+.-]*://([^/?#\s@:]*)(?::([^/?#\s@]*))?@"

PARTS = [
    *(
        "${",
        "${{",
        "{env:",
        "{file:",
        "}",
        "}}",
        ":-",
        "\n",
        " ",
        "eyJ",
        "eyJhbGciOi",
        "-",
        "_",
        ".",
        "=",
        ":",
    ),
    *(
        "'",
        '"',
        "token",
        "password",
        "api_key",
        "user",
        "https://",
        "a://",
        "@",
        "/",
        "\\",
        "ghp_",
        "sk-",
        RANDOM,
    ),
    *(
        "Tr0ub4dor",
        "<",
        ">",
        "[",
        "]",
        "xxxx",
        "example",
        "Bearer ",
        ",",
        "&",
        ".pem",
        "\u4e2d",
        "1",
        "A",
        "+",
    ),
]
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=20).map("".join)


@given(TEXTS, st.sampled_from(["", "TOKEN", "password", "X"]))
def test_short_texts_are_judged_as_plain_patterns_would(text: str, name: str) -> None:
    found = set(secrets_in(text, name))
    assert found >= set(plainly(text, name))
    if "{" not in text:
        assert found == set(plainly(text, name))


def plainly(value: str, name: str) -> Iterator[str]:
    """The same rules about one value, by patterns alone."""
    is_given_to = cast("Callable[[str, str], bool]", vars(secrets)["_is_given_to"])
    is_random = cast("Callable[[str], bool]", vars(secrets)["_is_random"])
    is_password = cast("Callable[[str, str], bool]", vars(secrets)["_is_password"])
    is_hard = cast("Callable[[str], bool]", vars(secrets)["_is_hard_to_guess"])
    pattern = {
        key: cast("str", vars(secrets)[f"_{key}"]) for key in ("SHAPES", "CREDENTIAL", "SCHEME", "URL")
    }
    shapes = pattern["SHAPES"].replace("(?P<web_token>eyJ[\\w-]{8})", HEAD)
    plain = re.sub(REFERENCE, default, re.sub(REFERENCE, default, value)).strip()
    yield from (match[0] for match in re.finditer(shapes, plain) if is_random(match[0]))
    yield from (match[1] for match in re.finditer(pattern["CREDENTIAL"], plain) if is_hard(match[1]))
    if is_given_to(name, whole := re.sub(pattern["SCHEME"], "", plain)):
        yield whole
    yield from (match[2] for match in re.finditer(PAIR, plain) if is_given_to(match[1], match[2]))
    for match in re.finditer(USERINFO, plain):
        user, password = match[1], match[2]
        if is_password(password, user) if password else len(user) >= 16 and is_random(user):
            yield password or user


def default(reference: re.Match[str]) -> str:
    return reference[1] or ""


@pytest.mark.long
@pytest.mark.parametrize("before", ["-", "a-", "eyJaaaaaaaa-", "${", "token=", "a/", "<", "x ", "://"])
@pytest.mark.parametrize("after", ["-", " ", "<", "a/", "-example"])
def test_a_secret_is_found_wherever_it_stands(before: str, after: str) -> None:
    for times in (0, 1, 7, 40, 1_000):
        assert SECRET in "".join(secrets_in(before * times + "-" + SECRET + " " * 40 + after * times))
        assert is_secret(before * times + "-" + SECRET + "-" * 600 + after * times)


@pytest.mark.parametrize("length", [12, 255, 256, 257, 5_000])
def test_a_secret_is_listed_whole_however_long_it_is(length: int) -> None:
    secret = (RANDOM * 300)[:length]
    for text in (
        f"token={secret} and",
        f"https://ada:{secret}@mcp.test",
        f"Bearer {secret},",
        f"sk-{RANDOM}{secret}",
    ):
        assert any(each.endswith(secret) for each in secrets_in(text))


def test_a_long_value_is_listed_once_though_it_holds_pairs() -> None:
    text = f"token={RANDOM}" * 400
    assert [each for each in secrets_in(text) if len(each) > 256] == [text.removeprefix("token=")]


def test_braces_around_a_secret_hide_nothing() -> None:
    for text in (f"${{{SECRET}}}", f"${{items.map(() => {{ send('{SECRET}') }})}}", f"{{env:{SECRET}}}"):
        assert SECRET in list(secrets_in(text))


LONG = [
    *(
        "a",
        "a=",
        "token=",
        "${",
        "${:-",
        "${a:-",
        "${{",
        "${{ } ",
        "{env:",
        "eyJaaaaaaaa-",
        "eyJ",
        "<",
        "[",
        "a/",
    ),
    *(
        "token=<",
        "a ",
        "://",
        "a://a@",
        "bearer ",
        "key=example=",
        "-----BEGIN ",
        "%a",
        "SG.",
        "'a",
        "x",
        "a\t",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize("repeated", LONG)
def test_the_work_grows_as_the_text_does(repeated: str) -> None:
    """Eight times as long: 8 where the work grows with the text, 64 where it grows with its square."""
    short, long = (work((repeated * size)[:size]) for size in (1_000, 8_000))
    assert long < 30 * short


def work(text: str) -> float:
    """The processor's time for a text; the least of some, for others may be in the way."""

    def once() -> float:
        start = time.thread_time()
        assert not [each for each in secrets_in(text) if each == "nothing"]
        may_be_secret(text, "token")
        return time.thread_time() - start

    return min(once() for _ in range(3))
