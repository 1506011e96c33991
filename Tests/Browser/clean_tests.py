"""No page logs a console error, violates its content security policy, or requests another origin."""

from __future__ import annotations

from typing import Any, Callable
from urllib.parse import urlsplit

from stand import ROOT, Stand, Tab, expect, same

EXAMPLES = ROOT / "Examples/pages"
OWN = ("/", "/form/lamp", "/table", "/demo")
POLICY = ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'",
          "form-action 'none'", "frame-ancestors 'none'")


def lively(stand: Stand) -> None:
    stand.describe("lamp", on={"type": "boolean", "default": False}, name={"type": "string", "maxLength": 20},
                   level={"type": "number", "min": 0, "max": 1, "step": 0.05},
                   colour={"type": "string", "choices": ["red", "green", "blue"]})
    stand.set("lamp.on=true", "lamp.level=0.4", "lamp.name=desk", "lamp.colour=green")


def use(tab: Tab) -> None:
    """Operates every control, so that faults that appear only in use are found."""
    for control in tab.page.locator("input:visible:enabled, select:visible:enabled, textarea:visible:enabled").all():
        kind = control.evaluate("(one) => one.localName === 'input' ? one.type : one.localName")
        if kind in ("checkbox", "radio"):
            control.click()
        elif kind == "range":
            control.press("ArrowRight")
        elif kind == "select":
            control.focus()
            control.press("ArrowDown")
        elif kind in ("text", "search", "textarea"):
            if control.is_editable():
                control.press_sequentially("a")
                control.press("Backspace")


def clean(stand: Stand, path: str) -> None:
    tab = stand.tab(path).live()
    use(tab)
    tab.eval("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
    host = urlsplit(stand.origin).netloc
    same(tab.complaints, [], f"{path}: complaints")
    same(tab.eval("() => ear.stopped"), [], f"{path}: requests that the policy blocked")
    elsewhere = [url for url in tab.requests if urlsplit(url).netloc != host and not url.startswith("data:")]
    same(elsewhere, [], f"{path}: requests to other origins")
    same(sorted(set(tab.link.asked)), [host], f"{path}: addresses that the tab requested")
    url = stand.origin + path
    headers: dict[str, Any] = tab.headers[url]
    policy = [part.strip() for part in headers["content-security-policy"].split(";")]
    for part in POLICY:
        expect(part in policy, f"{path}: the policy lacks {part}")
    same(headers["x-content-type-options"], "nosniff", path)
    expect("unsafe" not in headers["content-security-policy"], f"{path}: {headers['content-security-policy']}")


def page_is_clean(path: str) -> Callable[[Stand], None]:
    def run(stand: Stand) -> None:
        stand.serve(EXAMPLES)
        lively(stand)
        clean(stand, path)
    return run


def made() -> dict[str, Callable[[Stand], None]]:
    paths = [*OWN, *(f"/pages/{path.name}" for path in sorted(EXAMPLES.glob("*.html")))]
    return {f"the browser reports no problem on {path}": page_is_clean(path) for path in paths}


def test_the_policy_blocks_inline_scripts_and_other_origins(stand: Stand) -> None:
    """Proves that the other tests detect a violation."""
    tab = stand.tab().live()
    tab.eval("""() => {
        const script = document.createElement("script");
        script.textContent = "window.pwned = 1";
        document.body.append(script);
        const image = document.createElement("img");
        image.src = "http://elsewhere.test/x.png";
        document.body.append(image);
        document.body.setAttribute("style", "color: red");
    }""")
    tab.until("the blocked requests", "() => ear.stopped.length >= 3")
    expect(not tab.eval("() => window.pwned"), "an inline script ran")
    same(sorted(set(tab.link.asked)), [urlsplit(stand.origin).netloc], "addresses that the tab requested")


def test_the_dashboard_shows_values_with_markup_as_text(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.name:=\"<img src=x onerror=window.pwned=1>\"", "lamp.note:=\"\\u202e<b>bold</b>\\u0007\"")
    stand.describe("lamp", name={"type": "string", "unit": "<i>unit</i>"})
    for path in ("/", "/form/lamp"):
        tab = stand.tab(path).live()
        if path == "/":
            tab.page.get_by_text("lamp", exact=True).first.click()
        tab.until("the value as text", """() => [...document.querySelectorAll("input, textarea, output, td, span, p")]
            .some((one) => (one.value || one.textContent).includes("<img src=x"))""")
        same(tab.eval("() => document.querySelectorAll('img[src=x], [onerror]').length"), 0, path)
        expect(not tab.eval("() => window.pwned"), f"{path}: a value was executed")
        same(tab.eval("() => ear.stopped"), [], path)
