"""Holds the estimate of tokens to real tokenizers, on the definitions in a folder, and stores the errors.

The folder has one JSON file for each server, with its `tools/list` under `tools`. The tokenizers come from
npm, with their vocabularies inside; the estimate is compared with the mean of their counts.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from remit.decision.tool_names import tool_name
from remit.text.token_estimate import definition_tokens, estimate

RESULTS = Path(__file__).parent / "results" / "tokens.json"
COUNTER = Path(__file__).parent / "tokens.mjs"
TYPICAL = 2000  # bytes of a definition that is timed

# One sentence about one tool, in scripts that the definitions at hand hardly have.
SENTENCES = {
    "German": "Öffnet eine Seite im Browser, wartet, bis sie geladen ist, und gibt ihren Text zurück.",
    "French": "Ouvre une page dans le navigateur, attend qu'elle soit chargée et renvoie son texte.",
    "Polish": "Otwiera stronę w przeglądarce, czeka na jej załadowanie i zwraca treść.",
    "Vietnamese": "Mở một trang trong trình duyệt, đợi trang tải xong rồi trả về nội dung văn bản.",
    "Russian": "Открывает страницу в браузере, ждёт окончания загрузки и возвращает её текст.",
    "Greek": "Ανοίγει μια σελίδα στο πρόγραμμα περιήγησης και επιστρέφει το κείμενό της.",
    "Arabic": "يفتح صفحة في المتصفح وينتظر اكتمال تحميلها ثم يعيد نصها.",
    "Hebrew": "פותח דף בדפדפן, ממתין לסיום הטעינה ומחזיר את הטקסט שלו.",
    "Hindi": "ब्राउज़र में एक पृष्ठ खोलता है, उसके लोड होने की प्रतीक्षा करता है और उसका पाठ लौटाता है।",
    "Thai": "เปิดหน้าเว็บในเบราว์เซอร์ รอจนกว่าจะโหลดเสร็จ แล้วส่งคืนข้อความของหน้า",
    "Chinese": "在浏览器中打开一个页面，等待加载完成，然后返回其文本内容。",  # noqa: RUF001
    "Japanese": "ブラウザーでページを開き、読み込みが終わるまで待ってから、その本文を返します。",
    "Korean": "브라우저에서 페이지를 열고 로딩이 끝날 때까지 기다린 다음 본문을 반환합니다.",
}

Model = Callable[[str], float]
MODELS: dict[str, Model] = {
    "bytes / 4": lambda text: len(text.encode()) / 4,
    "bytes / 4.35": lambda text: len(text.encode()) / 4.35,
    "the estimate": estimate,
}


def main() -> None:
    folder, modules = Path(sys.argv[1]), Path(sys.argv[2])
    servers = {file.stem: definitions(file) for file in sorted(folder.glob("*.json"))}
    texts = [text for tools in servers.values() for text in tools]
    counts = count([*texts, *SENTENCES.values()], modules)
    names = list(counts)
    means = [statistics.mean(counts[name][at] for name in names) for at in range(len(texts) + len(SENTENCES))]
    content = {
        "definitions": len(texts),
        "servers": len(servers),
        "tokenizers": {name: sum(counts[name][: len(texts)]) for name in names},
        "models": {
            name: compare(model, list(servers.values()), means[: len(texts)])
            for name, model in MODELS.items()
        },
        "languages": languages(means[len(texts) :], [counts[name][len(texts) :] for name in names]),
        "us_for_2_kB": {"definition": speed(texts)},
    }
    RESULTS.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=2, ensure_ascii=False))


def definitions(file: Path) -> list[str]:
    """Write a server's tools as a client sends them."""
    tools: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["tools"]
    return [
        json.dumps(
            {
                "name": tool_name(file.stem, tool["name"]),
                "description": tool.get("description") or "",
                "input_schema": tool["inputSchema"],
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for tool in tools
    ]


def count(texts: Sequence[str], modules: Path) -> dict[str, list[int]]:
    """Ask every tokenizer for the length of every text."""
    answer = subprocess.run(
        ["node", COUNTER, modules.resolve()],  # noqa: S607 - whichever node is installed
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def compare(model: Model, servers: list[list[str]], means: list[float]) -> dict[str, dict[str, float]]:
    """Measure how far off a model is, by tool and by server, as shares of the truth."""
    left = iter(means)
    pairs = [[(model(text), next(left)) for text in tools] for tools in servers]
    totals = [(sum(guess for guess, _ in tools), sum(true for _, true in tools)) for tools in pairs if tools]
    return {"tool": errors([pair for tools in pairs for pair in tools]), "server": errors(totals)}


def errors(pairs: list[tuple[float, float]]) -> dict[str, float]:
    off = sorted(abs(guess / true - 1) for guess, true in pairs)
    return {
        "median": round(statistics.median(off), 3),
        "p90": round(off[int(len(off) * 0.9)], 3),
        "max": round(off[-1], 3),
    }


def languages(means: list[float], counts: list[list[int]]) -> dict[str, dict[str, float]]:
    return {
        name: {
            "estimate": estimate(text),
            "mean": round(mean, 1),
            "least": min(each[at] for each in counts),
            "most": max(each[at] for each in counts),
        }
        for at, ((name, text), mean) in enumerate(zip(SENTENCES.items(), means, strict=True))
    }


def speed(texts: list[str]) -> float:
    """Time the definition that is nearest to the typical size, in microseconds; the median of many."""
    typical = json.loads(min(texts, key=lambda text: abs(len(text) - TYPICAL)))
    schema = json.dumps(typical["input_schema"], ensure_ascii=False, separators=(",", ":"))
    samples: list[float] = []
    for _ in range(2001):
        start = time.perf_counter()
        definition_tokens(typical["name"], typical["description"], schema)
        samples.append(time.perf_counter() - start)
    return round(statistics.median(samples) * 1e6, 1)


if __name__ == "__main__":
    main()
