"""Accessibility of the pages: names and roles, keyboard, contrast, narrow screens, reduced motion."""

from __future__ import annotations

import difflib
import os
import re
import time
from pathlib import Path
from typing import Any, Callable

from clean_tests import EXAMPLES, OWN, lively
from stand import Failed, Stand, Tab, eventually, expect, same

SIGHT = Path(__file__).with_name("sight.js")
STORED = Path(__file__).with_name("snapshots")
# Roles of interactive elements; each needs a name.
OPERATED = {"button", "checkbox", "combobox", "link", "listbox", "menuitem", "option", "radio", "searchbox", "slider",
            "spinbutton", "switch", "tab", "textbox", "treeitem", "ColorWell", "Date", "DisclosureTriangle"}
WALK_LIMIT = 200


def opened(stand: Stand, path: str, **options: Any) -> Tab:
    """Opens a page with a model; in the dashboard, selects the model and enables its controls."""
    if not stand.url:
        stand.serve(EXAMPLES)
        lively(stand)
    tab = stand.tab(path, SIGHT, **options).live()
    if path == "/":
        tab.page.get_by_role("treeitem").filter(has_text="lamp").first.click()
    if path in ("/", "/table"):
        edit = tab.page.get_by_label("Edit").first
        if not edit.is_checked():
            edit.click()
        tab.until("a live control", """() => [...document.querySelectorAll("[data-bind]")]
            .some((one) => one.matches("input:enabled, select:enabled"))""")
    # Until their script is here they are enabled, whatever there is to undo.
    tab.until("its buttons of undo", """() => [...document.querySelectorAll("[data-undo], [data-redo]")]
        .every((one) => one.title)""")
    return tab


def paths() -> list[str]:
    return [*OWN, *(f"/pages/{path.name}" for path in sorted(EXAMPLES.glob("*.html")))]


def names_and_roles(path: str) -> Callable[[Stand], None]:
    def run(stand: Stand) -> None:
        tab = opened(stand, path)
        tree = tab.context.new_cdp_session(tab.page).send("Accessibility.getFullAXTree")["nodes"]
        nodes = [node for node in tree if not node.get("ignored")]
        nameless = [node["role"]["value"] for node in nodes if node.get("role", {}).get("value") in OPERATED
                    and not node.get("name", {}).get("value", "").strip()]
        same(nameless, [], f"{path}: controls without a name")
        roles = [node["role"]["value"] for node in nodes if "role" in node]
        for role in ("main", "heading"):
            expect(role in roles, f"{path} has no {role}")
        expect(tab.eval("() => document.documentElement.lang.length >= 2 && document.title.trim() !== ''"),
               f"{path} has no language or title")
        # Every focusable element has a role.
        bare = tab.eval("""() => [...document.querySelectorAll("[tabindex]")].filter((one) =>
            one.tabIndex >= 0 && !one.role && !one.matches("a, button, input, select, textarea, summary, canvas")
            && !(one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight))
            .map((one) => one.outerHTML.slice(0, 100))""")
        same(bare, [], f"{path}: focusable elements without a role")
        stand.log(f"{sum(1 for role in roles if role in OPERATED)} controls, all named")
    return run


def operate(tab: Tab, focus: dict[str, Any]) -> str | None:
    """Operates the focused control with the keyboard; returns the action that failed."""
    keys = {"checkbox": ["Space"], "range": ["ArrowRight", "ArrowLeft"], "select": ["ArrowDown", "ArrowUp"],
            "number": ["ArrowUp", "ArrowDown"], "text": ["a"], "search": ["a"], "textarea": ["a"]}
    if focus["kind"] not in keys or focus["isReadOnly"]:
        return None
    before = tab.eval("() => sight.focus().value")
    for key in keys[focus["kind"]]:
        tab.page.keyboard.press(key)
        now = tab.eval("() => sight.focus()")
        if now is None or now["value"] != before:
            return None
    return f"{focus['kind']} {focus['words']!r} stays {before!r}"


def keyboard(path: str) -> Callable[[Stand], None]:
    def run(stand: Stand) -> None:
        tab = opened(stand, path)
        controls = {one["number"]: one for one in tab.eval("() => sight.controls()") if not one["isPassive"]}
        tab.eval("() => { document.activeElement?.blur(); window.getSelection().removeAllRanges(); }")
        met: set[int] = set()
        groups: set[str] = set()
        unmarked: list[str] = []
        dead: list[str] = []
        for _ in range(WALK_LIMIT):
            tab.page.keyboard.press("Tab")
            focus = tab.eval("() => sight.focus()")
            if focus is None or focus["number"] is None:
                continue  # The end of the page, from where the walk goes on at its beginning.
            if focus["number"] in met:
                break
            met.add(focus["number"])
            if focus["group"]:
                groups.add(focus["group"])
            if not focus["isMarked"]:
                unmarked.append(focus["words"])
            # The Edit switch and the link switches would remove other controls.
            if path == "/form/lamp" and (wrong := operate(tab, focus)):
                dead.append(wrong)
        missed = [one["words"] for number, one in controls.items() if number not in met and one["group"] not in groups]
        same(missed, [], f"{path}: controls unreachable by Tab")
        same(unmarked, [], f"{path}: controls without a visible focus")
        same(dead, [], f"{path}: controls that do not react to the keyboard")
        stand.log(f"{len(met)} Tab stops for {len(controls)} controls")
    return run


def looks(path: str) -> Callable[[Stand], None]:
    """Checks contrast in both color schemes, a width of 320 px, and that nothing moves under reduced motion."""
    def run(stand: Stand) -> None:
        tab = opened(stand, path, reduced_motion="reduce", color_scheme="light")
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            seen = tab.eval("() => sight.faint()")
            same(seen["found"], [], f"{path} {scheme}: texts with too little contrast")
            expect(seen["count"] >= 3, "fewer than 3 texts were checked")
            stand.log(f"{scheme}: {seen['count']} texts, the lowest contrast {seen['lowest']:.2f}")
        tab.page.set_viewport_size({"width": 320, "height": 640})
        tab.eval("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        same(tab.eval("() => sight.wide()"), [], f"{path} at 320 px")
        stand.set("lamp.level=0.9", "lamp.name=moved", "demo.level=0.9")
        tab.link.cut()
        tab.until("the offline state", "() => ear.lights().split(',').every((state) => state === 'offline')")
        same(tab.eval("() => sight.moving()"), [], f"{path}: elements that move under reduced motion")
    return run


# Parts that differ at each run: the peers and their order, times, counts, and the last announcement.
CHANGING = [
    (re.compile(r"""["']"""), ""),
    (re.compile(r"status: .*"), "status"),
    (re.compile(r"\b(row|rowheader) (web|page)\b.*"), r"\1 of a peer"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{3,}\b"), "#"),
    (re.compile(r"[-−]?\d+([.,]\d+)*|(?<=[\s:])–(?=\s|$)", re.MULTILINE), "#"),
    (re.compile(r"# ?(ms|s|min|h|µs)\b"), "#"),
]
STILL_SECONDS = 4.0


def tree(tab: Tab) -> str:
    text = tab.page.locator("body").aria_snapshot()
    for pattern, sign in CHANGING:
        text = pattern.sub(sign, text)
    return text


def check_tree(stand: Stand, path: str, name: str) -> None:
    """Compares the accessibility tree with the stored snapshot. A new snapshot is written once the page is stable."""
    tab = opened(stand, path, viewport={"width": 1440, "height": 900})
    file = STORED / f"{name}.txt"
    if os.environ.get("BINDBUS_WRITE_SNAPSHOTS"):
        text, since = tree(tab), time.monotonic()
        while time.monotonic() < since + STILL_SECONDS:
            tab.page.wait_for_timeout(100)
            if (now := tree(tab)) != text:
                text, since = now, time.monotonic()
        file.write_text(text + "\n", encoding="utf-8")
    wanted = file.read_text(encoding="utf-8").rstrip("\n") if file.exists() else ""
    try:
        eventually("the stored tree", lambda: tree(tab) == wanted, lambda: tab.page.wait_for_timeout(100))
    except Failed:
        lines = difflib.unified_diff(wanted.splitlines(), tree(tab).splitlines(), str(file.name), path, "", "", 0, "")
        raise Failed(f"{path} differs from {file.name} (BINDBUS_WRITE_SNAPSHOTS=1 stores it again):\n    "
                     + "\n    ".join(list(lines)[:24])) from None


def test_the_accessibility_tree_of_the_dashboard_is_as_stored(stand: Stand) -> None:
    check_tree(stand, "/", "dashboard")


def test_the_accessibility_tree_of_a_form_is_as_stored(stand: Stand) -> None:
    check_tree(stand, "/form/lamp", "form")


def test_the_accessibility_tree_of_a_table_is_as_stored(stand: Stand) -> None:
    check_tree(stand, "/table", "table")


def test_the_accessibility_tree_of_the_demo_is_as_stored(stand: Stand) -> None:
    check_tree(stand, "/demo", "demo")


def made() -> dict[str, Callable[[Stand], None]]:
    tests: dict[str, Callable[[Stand], None]] = {}
    for path in paths():
        tests[f"every control of {path} has a name and a role"] = names_and_roles(path)
        tests[f"{path} can be operated with the keyboard alone"] = keyboard(path)
        tests[f"{path} has enough contrast in both schemes, fits into 320 px, respects reduced motion"] = looks(path)
    return tests
