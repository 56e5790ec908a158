"""Takes the pictures of `remit web` for the guide and the README, in the world of `remit demo`.

`make docs` runs it where Chromium is installed. The pages are real: a real browser, a real server.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

from playwright.sync_api import Page, sync_playwright

from remit.demo.demo_world import DemoWorld, build_world

PERSON = (sys.executable, str(Path(__file__).parents[1] / "tests/support/person_launch.py"))

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1200, 720
PATHS = {"web-here": "/here", "web-why": "/why/refund_order", "web-cost": "/cost", "web-waiting": "/waiting"}
THEMES = ("light", "dark")
USED = ("mcp__tickets__list_tickets", "mcp__tickets__read_ticket", "mcp__orders__find_orders")

RECORD = """
import sys
from remit.bootstrap import open_registry
with open_registry() as registry:
    here = registry.at(".")
    for name in sys.argv[1:]:
        registry.usage.record(name, here)
    registry.approvals.request("mcp__deploy__release", {"version": "2.4.0"}, here)
"""


def main() -> None:
    chromium = which("chromium")
    if chromium is None:
        sys.stderr.write("skipped: the pictures of the page need chromium\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "ada"
        home.mkdir()
        world = build_world(home)
        run(world, "scan", "--connect")
        run(world, "states", "set", "tests-passed")
        command = [sys.executable, "-c", RECORD, *USED]
        subprocess.run(command, cwd=world.shop, env=world.environment, check=True)
        with page_of(world) as (link, code), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium)
            context = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.5
            )
            page = context.new_page()
            page.goto(link)
            page.get_by_text("View only").click()
            page.locator("#code").fill(code)
            page.get_by_role("button", name="Unlock").click()
            base = link.partition("/open/")[0]
            for name, path in PATHS.items():
                take(page, f"{base}{path}", name)
            browser.close()


def take(page: Page, url: str, name: str) -> None:
    """Take a picture of a page in both themes."""
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        page.goto(url)
        page.wait_for_load_state("load")
        # The directory of the demo is different each time.
        page.evaluate("document.querySelector('.place').textContent = '~/shop'")
        bottom = page.evaluate(
            "document.querySelector('main').lastElementChild.getBoundingClientRect().bottom"
        )
        height = min(HEIGHT, round(bottom) + 30)
        picture = IMAGES / f"{name}-{theme}.png"
        page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})


@contextmanager
def page_of(world: DemoWorld) -> Generator[tuple[str, str]]:
    """Start `remit web` on a terminal in the demo's shop, and return its link and its code."""
    command = [*PERSON, "web", "--no-open"]
    ours, terminal = pty.openpty()
    with subprocess.Popen(
        command,
        cwd=world.shop,
        env=world.environment,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    ) as process:
        try:
            link = (process.stdout or sys.stdin).readline().strip()
            shown = os.read(ours, 4096).decode()
            yield link, re.findall(r"\b\w{4}-\w{4}\b", shown)[0]
        finally:
            process.terminate()


def run(world: DemoWorld, *words: str) -> None:
    command = [*PERSON, *words]
    environment = {**os.environ, **world.environment}
    subprocess.run(command, cwd=world.shop, env=environment, check=True, capture_output=True)


if __name__ == "__main__":
    main()
