"""Where detectors may look: paths inside the project, and URLs that are safe to ask."""

import re

_LONGEST_PATH = 1024
_URL = r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::[0-9]{1,5})?(?:/[!-~]*)?"
_LOOPBACK = r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]"


def is_plain_path(path: str) -> bool:
    """Tell whether a path is relative, with `/`, and leads nowhere but down."""
    parts = path.removesuffix("/").split("/")
    is_drive = ":" in parts[0]
    return len(path) <= _LONGEST_PATH and not is_drive and "\\" not in path and _lead_down(parts)


def _lead_down(parts: list[str]) -> bool:
    return all(part not in ("", ".", "..") and "\0" not in part for part in parts)


def problem_of_url(url: str) -> str | None:
    """Tell why a URL cannot be asked; None where it can."""
    found = re.fullmatch(_URL, url, re.IGNORECASE)
    if found is None or any(sign in url for sign in "?#@"):
        return "not a plain URL"
    if found[1].lower() == "http" and not re.fullmatch(_LOOPBACK, found[2], re.IGNORECASE):
        return "what goes over the network in the clear can be changed on the way"
    return None
