"""The environment of a test: a hub with its gateway, other processes, and tabs of one browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Examples" / "demo"))

from stage import LIMIT_SECONDS, Actor, Failed, Line, Stage  # noqa: E402
from playwright.sync_api import Browser, Error, Page  # noqa: E402

from link import Link  # noqa: E402

PAGES = Path(__file__).resolve().parent / "pages"
EAR = Path(__file__).resolve().parent / "ear.js"
POLL_MILLISECONDS = 10.0


def expect(holds: bool, words: Any) -> None:
    """Like `assert`, but not disabled by `python -O`."""
    if not holds:
        raise Failed(str(words))


def same(found: Any, wanted: Any, what: str = "") -> None:
    expect(found == wanted, f"{what + ': ' if what else ''}{found!r}, not {wanted!r}")


def eventually(what: str, look: Callable[[], Any], pause: Callable[[], Any] = lambda: time.sleep(0.01)) -> Any:
    """Returns the result of `look` as soon as it is true; fails after the limit, with the last result."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Failed(f"within {LIMIT_SECONDS:g} s there was no: {what}")
        pause()


class Tab:
    """One tab with its own browser context and its own link. `complaints`: console messages that should not occur."""

    def __init__(self, stand: Stand, path: str | None, script: Path | None = None, **options: Any):
        self.link = Link()
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self.accepts = True  # what dialogs ask
        self.headers: dict[str, dict[str, str]] = {}
        self.requests: list[str] = []
        proxy = {"server": self.link.proxy, "bypass": "<-loopback>"}
        self.context = stand.browser.new_context(proxy=proxy, **options)
        self.context.set_default_timeout(LIMIT_SECONDS * 1000)
        self.context.add_init_script(path=EAR)
        if script:
            self.context.add_init_script(path=script)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._collect_complaint)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("response", lambda response: self.headers.__setitem__(response.url, response.headers))
        self.page.on("dialog", self._answer)
        if path == "/":
            self.page.goto(stand.entry()["url"])
        elif path:
            self.context.request.get(stand.entry()["url"], max_redirects=0)  # for its cookie
            self.page.goto(stand.origin + path)

    def _collect_complaint(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _answer(self, dialog: Any) -> None:
        self.dialogs.append(dialog.type)
        dialog.accept() if self.accepts else dialog.dismiss()

    def live(self) -> Tab:
        """Waits for the welcome, and for the catch-up of every model of the page."""
        self.eval("() => { bind.ready.then(() => { window.isReady = true; }); }")
        self.until("the welcome", "() => window.isReady")
        self.until("an answer to every join", """() => {
            const asked = new Set(ear.sent.filter((one) => one.kind === "join" && one.model).map((one) => one.model));
            const come = new Set(
              ear.received.filter((one) => one.kind === "catchup" && one.last).map((one) => one.model)
            );
            return [...asked].every((model) => come.has(model));
        }""")
        return self

    def eval(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)

    def until(self, what: str, script: str, argument: Any = None) -> Any:
        """Returns the result of the script as soon as it is true."""
        try:
            return eventually(what, lambda: self.page.evaluate(script, argument),
                              lambda: self.page.wait_for_timeout(POLL_MILLISECONDS))
        except Failed as failed:
            raise Failed(f"{failed}; {self.picture()}") from None

    def picture(self) -> str:
        """The state of the page in one line, for the message of a failure."""
        try:
            return self.page.evaluate("""() => "bound: " + [...document.querySelectorAll("[data-bind]")].slice(0, 12)
                .map((one) => `${one.dataset.bind}=${JSON.stringify(one.value ?? one.textContent)}`
                  + (one.dataset.state ? ` (${one.dataset.state})` : "")).join(", ")""")
        except Error as error:
            return f"the page does not answer: {error}"

    def get(self, model: str, field: str) -> Any:
        return self.page.evaluate("([model, field]) => bind.model(model).get(field)", [model, field])

    def shows(self, model: str, field: str, value: Any) -> None:
        """Waits until the page has this value; values that are not JSON are compared as text."""
        self.until(f"{model}.{field} = {value!r}",
                   "([model, field, text]) => JSON.stringify(bind.model(model).get(field)) === text",
                   [model, field, json.dumps(value, ensure_ascii=False, separators=(",", ":"))])

    def proposals(self, field: str | None = None) -> list[dict[str, Any]]:
        all_ = self.page.evaluate("() => ear.proposals()")
        return [one for one in all_ if field is None or any(field == row[1] for row in one["operations"])]

    def lights(self, *wanted: str) -> None:
        """Waits until the lights of the page's links have this state."""
        self.until(f"the lights {wanted}", "(wanted) => ear.lights() === wanted", ",".join(wanted))

    def state(self, selector: str, wanted: str | None) -> None:
        self.until(f"{selector} in the state {wanted}",
                   "([selector, wanted]) => (document.querySelector(selector).dataset.state ?? null) === wanted",
                   [selector, wanted])

    def end(self) -> None:
        self.link.release()
        self.context.close()
        self.link.end()


class Stand(Stage):
    """The folder, hub, processes and tabs of a test; `end` ends all of them."""

    def __init__(self, bin_path: str, browser: Browser):
        super().__init__(bin_path, tempfile.mkdtemp(prefix="bindbus-browser-"))
        self.browser = browser
        self.tabs: list[Tab] = []
        self.words: list[str] = []
        self.shown: list[str] = []
        self.url = self.origin = ""
        self.hub: Actor | None = None

    def show(self, name: str, text: str, at: float | None = None) -> None:
        self.shown.append(f"{name:<8} {text}")

    def log(self, words: str) -> None:
        """Prints a measured figure."""
        self.words.append(words)

    def serve(self, pages: Path = PAGES, *options: str) -> Actor:
        self.hub = self.start(
            "hub", "bindhub", "serve", "--listen", self.address, "--store", "memory", "--exit-with-stdin",
            "--web", "127.0.0.1:0", "--pages", str(pages), *options)
        line = self.hub.expect("the address of its pages", lambda line: line.text.startswith("web http"))
        self.url = line.text.split(" ", 1)[1]
        self.origin = self.url.split("/?", 1)[0]
        return self.hub

    @property
    def token(self) -> str:
        return self.entry()["token"]

    def tab(self, path: str = "/pages/controls.html", script: Path | None = None, **options: Any) -> Tab:
        if not self.url:
            self.serve()
        tab = Tab(self, path, script, **options)
        self.tabs.append(tab)
        return tab

    def set(self, *assignments: str, code: int = 0) -> str:
        return self.run("set", *assignments, code=code)[1]

    def get(self, model: str) -> dict[str, Any]:
        """The hub's state of a model: `version`, `values`, and on request the metadata of each field."""
        done = subprocess.run(
            [self.bin / "bindpeer", "get", model, "--json", "--meta"], env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        if done.returncode == 1:  # It holds nothing.
            return {"model": model, "version": 0, "values": {}, "meta": {}}
        expect(done.returncode == 0, f"bindpeer get {model} ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def describe(self, model: str, **fields: Any) -> None:
        self.set(f"{model}.@description:=" + json.dumps({"fields": fields}))

    def committed(self, model: str, field: str, value: Any) -> dict[str, Any]:
        """Waits until the hub has this value, and returns the model."""
        def look() -> Any:
            there = self.get(model)
            return there if there.get("values", {}).get(field) == value else None
        return eventually(f"committed {model}.{field} = {value!r}", look, self.breathe)

    def python(self, *arguments: str) -> dict[str, Any]:
        """Runs the Python peer to its end."""
        done = subprocess.run(
            [os.environ.get("BINDBUS_PYTHON", "python3"), str(ROOT / "Examples/python/bindpeer.py"), *arguments],
            env=self.environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        expect(done.returncode == 0, f"the Python peer ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def breathe(self) -> None:
        """Processes the browser's events while the test waits for something else."""
        if self.tabs:
            self.tabs[0].page.wait_for_timeout(POLL_MILLISECONDS)
        else:
            time.sleep(POLL_MILLISECONDS / 1000)

    def hub_memory(self) -> int:
        """The resident memory of the hub's process, in bytes."""
        assert self.hub
        status = Path(f"/proc/{self.hub.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
        assert found
        return int(found.group(1)) * 1024

    def end(self) -> None:
        for tab in self.tabs:
            try:
                tab.end()
            except Error as error:
                self.show("browser", str(error))
        super().end()
        shutil.rmtree(self.folder, ignore_errors=True)


__all__ = ["PAGES", "ROOT", "Actor", "Failed", "Line", "Stand", "Tab", "eventually", "expect", "same"]
