"""Where detectors may look."""

import pytest

from remit.configuration.detector_tables import is_plain_path, problem_of_url


@pytest.mark.parametrize("path", ["a", "a/b.c", ".github/workflows/", "..a/b", "requirements/**/*.md", "ä b"])
def test_a_path_leads_down(path: str) -> None:
    assert is_plain_path(path)


@pytest.mark.parametrize(
    "path", ["", "/", "/a", "..", "a/../b", "./a", "a//b", "C:/a", "a\\b", "a\0b", "x" * 1025]
)
def test_no_path_leads_anywhere_else(path: str) -> None:
    assert not is_plain_path(path)


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.test",
        "https://shop.test:8443/health",
        "http://localhost:80/",
        "http://127.0.0.1/x",
        "HTTP://[::1]:9/",
    ],
)
def test_a_url_is_https_or_of_this_machine(url: str) -> None:
    assert problem_of_url(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://shop.test/",
        "http://127.0.0.1.evil.test/",
        "http://localhost.evil.test/",
        "https://a@shop.test/",
        "https://shop.test/?key=1",
        "https://shop.test/#x",
        "ftp://shop.test/",
        "https://",
        "https://shop.test:port/",
        "https://shop.test/a b",
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "https://shop.test\n/",
    ],
)
def test_no_other_url_is_asked(url: str) -> None:
    assert problem_of_url(url) is not None
