"""Reads the classes of words that tell a description from an order, in English and some other languages."""

from importlib.resources import files

_ENDINGS = ("", "s", "es", "d", "ed", "ing", "ting", "ped", "ping")


def _read() -> tuple[dict[str, tuple[str, ...]], tuple[tuple[str, str], ...]]:
    """Return the classes of words, and the parts of foreign words with their classes."""
    classes: dict[str, set[str]] = {}
    parts: list[tuple[str, str]] = []
    text = files("remit.trust.inspection").joinpath("vocabulary.txt").read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        head, _, words = line.partition(": ")
        kind, name = head.split()
        for word in words.split():
            forms = [word]
            if kind == "part":
                parts.append((word, name))
                continue
            if kind == "verb":
                forms = [word + ending for ending in _ENDINGS]
                forms += [word.removesuffix("e") + "ing", word.removesuffix("y") + "ied"]
            for form in forms:
                classes.setdefault(form, set()).add(name)
    return {word: tuple(sorted(names)) for word, names in classes.items()}, tuple(parts)


CLASSES, FOREIGN = _read()
