"""Text that others wrote, made fit for a line of ours."""


def one_line(text: str, most: int) -> str:
    """Write a text as one line of printable characters, cut where it is too long.

    Servers write descriptions: a line break in one must not start a section of its own.
    """
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"
