"""Matches servers with the matchers of a client's policy: names, commands and URL patterns."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from remit.decision.declarations import Declaration
from remit.decision.tool_names import full_label


def matches(matcher: str, declaration: Declaration) -> bool:
    """Return whether a policy's matcher matches a declaration."""
    sort, _, value = matcher.partition(":")
    match sort:
        case "name":
            return value == declared_label(declaration)
        case "command":
            return _url(declaration) is None and value == declaration.endpoint
        case "url":
            url = _url(declaration)
            return url is not None and url_matches(value, url)
        case _:
            return False


def _url(declaration: Declaration) -> str | None:
    launch = declaration.launch
    return launch.url if launch is not None and launch.is_remote else None


def is_allowed(allowed: Sequence[str], declaration: Declaration) -> bool:
    """Return whether an allow list admits a server.

    If the list has any URLs, only they admit remote servers; if it has any commands, only they admit
    processes.
    """
    decisive = "url:" if _url(declaration) is not None else "command:"
    strict = [matcher for matcher in allowed if matcher.startswith(decisive)]
    return any(matches(matcher, declaration) for matcher in strict or allowed)


def url_matches(pattern: str, url: str) -> bool:
    """Match a URL against a pattern with `*`; hosts ignore case, and a missing path matches any path.

    A pattern with `*` in its host and no port matches every port; one without `*` only the default port.
    """
    if pattern == "*":
        return True
    scheme, separator, rest = pattern.partition("://")
    url_scheme, _, url_rest = url.partition("://")
    if not separator or (scheme != "*" and scheme != url_scheme.lower()):
        return False
    host, slash, path = rest.partition("/")
    url_host, _, url_path = url_rest.partition("/")
    url_name, _, url_port = url_host.rpartition("@")[2].lower().partition(":")
    name, _, port = host.lower().partition(":")
    if not _glob(name, url_name) or not _is_port_covered(port, url_port, any_port="*" in name):
        return False
    return not slash or _glob(path, url_path)


def _is_port_covered(pattern: str, port: str, *, any_port: bool) -> bool:
    return _glob(pattern, port) if pattern else any_port or not port


def _glob(pattern: str, text: str) -> bool:
    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))


def declared_label(declaration: Declaration) -> str:
    """Return a server's name as written in clients' settings."""
    label = declaration.name if declaration.server is None else declaration.server
    return full_label(label, declaration.plugin)
