"""Writes sentences for the sentence model, from templates with alternatives `{a|b}` and a lexicon `<word>`.

Attacks and harmless sentences share frames ("Put ... in ...", "Before ..., call ..."), so what is put into a
frame has to tell them apart.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

CORPUS = Path(__file__).parent / "inspection_corpus"
_BAR = re.compile(r"(?<!\\)\|")
_CHOICE = re.compile(r"\{([^{}]*)\}")
_WORD = re.compile(r"(?<!<)<(\w+)>")
_TAG = re.compile(r"<<(.*?)>>")
_DOUBLED = re.compile(r"\b(?:the|all|any|every) (the|your|their|all|any)\b")
_DEEPEST = 12
_LEADS = (
    *("IMPORTANT: ", "Note: ", "NOTE: ", "Important - ", "Mandatory: ", "Warning: ", "Attention: "),
    *("Requirement: ", "Security: ", "(internal) ", "[SYSTEM] ", "**Required** "),
    *("",) * 15,
)
_TAILS = ("", " ", ", <why>", ", <else>", " <nottell>", "; <else>", " - <why>")
_JOINTS = (" and ", ", and ", ", then ", " and then ", " so that ", " because ", " - ", "; ", " before you ",
           " after which you ", " but ", ", ", " (", " while ")  # fmt: skip
_SETS = ("toucan-smithery-tools", "bfcl-v4", "stabletoolbench", "composio-mock-tools", "seal-tools")


def lines(name: str) -> list[str]:
    text = (CORPUS / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


class Names(NamedTuple):
    """Names of real tools, servers and parameters, and the words in them."""

    tools: list[tuple[str, str]]  # with their servers
    parameters: list[str]
    nouns: list[str]
    verbs: list[str]

    @classmethod
    def of(cls, data: Path) -> "Names":
        tools: list[tuple[str, str]] = []
        parameters, nouns, verbs = Counter[str](), Counter[str](), Counter[str]()
        for name in _SETS:
            for line in (data / f"tool-retrieval/train/{name}/tools.jsonl").read_text().splitlines():
                row = json.loads(line)
                given = row.get("parameters") or {}
                given = list(given.get("properties") or given) if isinstance(given, dict) else given
                plain = (
                    _spaced(each if isinstance(each, str) else str(each.get("name", ""))) for each in given
                )
                parameters.update(
                    each for each in plain if each.replace(" ", "").isalpha() and 2 < len(each) < 28
                )
                words = _spaced(row["name"].split("/")[-1]).split()
                server = re.sub(r"\W", "-", row.get("server") or "x").lower()[:18]
                if 2 <= len(words) <= 4:
                    verbs[words[0]] += 1
                    nouns[words[-1].rstrip("s")] += 1
                    tools.append((server, "_".join(words)))
        return cls(
            tools,
            [each for each, count in parameters.items() if count > 1],
            [each for each, _ in nouns.most_common(800) if each.isalpha() and len(each) > 3],
            [each for each, _ in verbs.most_common(120) if each.isalpha() and len(each) > 2],
        )


def _spaced(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").replace("-", " ").lower().strip()


class Writer:
    """Draws sentences from the templates."""

    def __init__(self, names: Names, seed: int) -> None:
        self._names, self._draw = names, random.Random(seed)
        self._lexicon = {
            key: _BAR.split(words.strip())
            for key, words in (each.split(":", 1) for each in lines("lexicon.txt"))
        }
        self._attacks = [line.split(" | ", 1)[1] for line in lines("attack_templates.txt")]
        self._harmless = lines("harmless_templates.txt")

    def attacks(self, count: int, composed: int) -> list[str]:
        plain = [self._attack() for _ in range(count)]
        pairs = ((self._attack().rstrip(".! "), self._attack()) for _ in range(composed))
        return [
            *plain,
            *(f"{one}{self._draw.choice(_JOINTS)}{other[0].lower()}{other[1:]}" for one, other in pairs),
        ]

    def harmless(self, count: int) -> list[tuple[str, str | None]]:
        """Sentences, each with the tool of its own server that it names, where that tool is known."""
        return [self._harmless_sentence() for _ in range(count)]

    def _harmless_sentence(self) -> tuple[str, str | None]:
        draw, names = self._draw, self._names
        text, own = self._expanded(draw.choice(self._harmless)), draw.choice(names.tools)[1]
        fillers: Sequence[tuple[str, Sequence[str]]] = (
            ("@OWN", [own]), ("@PARAM", names.parameters), ("@NOUN", names.nouns), ("@VERB", names.verbs)
        )  # fmt: skip
        for mark, words in fillers:
            text = re.sub(mark, lambda _, words=words: draw.choice(words), text)
        return self._led(text, 0.25), own if draw.random() < 0.6 else None

    def _attack(self) -> str:
        draw = self._draw
        text = self._expanded(draw.choice(self._attacks))
        if draw.random() < 0.12 and text.endswith("."):
            text = self._expanded(f"{text[:-1]}{draw.choice(_TAILS)}.")
        text = self._led(text, 0.3)
        return text.upper() if draw.random() < 0.05 else text

    def _led(self, text: str, share: float) -> str:
        return self._draw.choice(_LEADS) + text if self._draw.random() < share else text

    def _expanded(self, text: str) -> str:
        draw = self._draw
        text = _TAG.sub("\x01\\1\x02", text)
        for _ in range(_DEEPEST):
            before, text = text, _CHOICE.sub(lambda choice: draw.choice(_BAR.split(choice[1])), text)
            text = _WORD.sub(self._word, text)
            if text == before:
                break
        server, tool = draw.choice(self._names.tools)
        text = text.replace("\x01", "<").replace("\x02", ">").replace("\\|", "|")
        text = " ".join(text.replace("@TOOL", tool).replace("@SERVER", server).split())
        text = _DOUBLED.sub(r"\1", re.sub(r" ([.,;])(?=\s|$)", r"\1", text).replace(";.", ";"))
        return text[0].upper() + text[1:]

    def _word(self, word: re.Match[str]) -> str:
        if word[1] in self._lexicon:
            return self._draw.choice(self._lexicon[word[1]])
        if (plain := word[1].lower()) in self._lexicon:
            return self._draw.choice(self._lexicon[plain]).capitalize()
        return word[0]
