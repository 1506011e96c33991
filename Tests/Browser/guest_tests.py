"""Pages of invited members: what they see, what they may not touch, and their end."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from stand import PAGES, Stand, Tab, eventually, expect, same

ACCESS = {
    "bindbus": "access", "version": 1, "members": {},
    "roles": {"view": {"read": ["public/*"]}, "touch": {"read": ["public/*"], "write": ["public/lamp.level"]}},
}


def hub(stand: Stand, *arguments: str) -> str:
    """Runs bindhub to its end, and returns its output."""
    done = subprocess.run([stand.bin / "bindhub", *arguments, "--keys", str(Path(stand.folder) / "keys")],
                          env=stand.environment, capture_output=True, text=True, timeout=20, check=False)
    expect(done.returncode == 0, f"bindhub {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return done.stdout.strip()


def serve(stand: Stand) -> None:
    """A hub with keys and rights, a public lamp, and a secret plan."""
    hub(stand, "keys", "init")
    path = Path(stand.folder) / "keys" / "access.json"
    path.write_text(json.dumps(ACCESS), encoding="utf-8")
    path.chmod(0o600)
    stand.serve(PAGES, "--keys", str(path.parent))
    stand.describe("public/lamp", level={"type": "number", "min": 0, "max": 100}, note={"type": "string"})
    stand.set("public/lamp.level=10", "public/lamp.note=desk")
    stand.set("secret/plan.code=swordfish")


def enter(stand: Stand, role: str, texts: list[str] | None = None) -> Tab:
    """A guest's browser, in by an invitation; `texts`: all that its WebSockets receive."""
    tab = Tab(stand, None)
    stand.tabs.append(tab)
    if texts is not None:
        tab.page.on("websocket", lambda socket: socket.on("framereceived", lambda text: texts.append(str(text))))
    tab.page.goto(hub(stand, "invite", "gus", "--page", "--role", role))
    tab.page.get_by_role("heading", name="You are invited as gus").wait_for()
    tab.page.get_by_role("button", name="Sign in").click()
    tab.page.get_by_role("heading", name="Models").wait_for()
    return tab


def test_a_guest_sees_what_is_public_touches_nothing_and_is_ended_from_the_dashboard(stand: Stand) -> None:
    serve(stand)
    owner = stand.tab("/").live()
    texts: list[str] = []
    guest = enter(stand, "view", texts)
    lamp = guest.page.get_by_role("treeitem").filter(has_text="lamp")
    lamp.first.click()
    guest.until("the field", "() => document.querySelector('#rows [data-bind=level]')?.textContent === '10'")
    guest.until("no editing, and why", """() => document.getElementById("edit").disabled
        && document.getElementById("view-only").textContent === "view only: gus may not change it" """)
    guest.until("no report", "() => document.getElementById('peers-title').closest('section').hidden")
    stand.set("secret/plan.code=swordfish2")
    stand.set("public/lamp.level=20")
    guest.until("the change", "() => document.querySelector('#rows [data-bind=level]')?.textContent === '20'")
    guest.page.goto(stand.origin + "/form/public/lamp")
    guest.until("disabled controls", """() => {
        const all = [...document.querySelectorAll("#fields input, #fields textarea")];
        return all.length === 3 && all.every((one) => one.disabled);
    }""")
    guest.page.goto(stand.origin + "/table")
    guest.until("the one row, without controls, and why", """() => document.getElementById("edit").disabled
        && document.getElementById("view-only").textContent === "view only: gus may not change it"
        && document.getElementById("rows").innerText.replace(/\\s+/g, " ").trim() === "public/lamp 20 desk" """)
    guest.page.goto(stand.origin + "/form/public/lamp")
    stand.set("public/lamp.level=30")
    guest.until("the change", "() => document.querySelector('#fields input[type=number]').value === '30'")
    guest.page.goto(stand.origin + "/")
    lamp.first.click()
    guest.until("the value", "() => document.querySelector('#rows [data-bind=level]')?.textContent === '30'")
    stand.set("secret/plan.code=swordfish3")
    stand.set("public/lamp.note=hall")
    guest.until("the change", "() => document.querySelector('#rows [data-bind=note]')?.textContent === 'hall'")
    expect(len(texts) > 10, "nothing was recorded")
    told = [text for text in texts if re.search("secret|plan|swordfish", text)]
    same(told, [], "what a guest was told of a secret model")

    end = owner.page.get_by_role("button", name=re.compile("^End gus, Chrome"))
    end.click()
    guest.until("the end", "() => bind.link().stopped && bind.link().problem === 'this browser was signed out'")
    same(owner.dialogs, ["confirm"])
    end.wait_for(state="detached")
    same(guest.page.goto(stand.origin + "/").status, 401, "the answer to a worthless cookie")
    same(hub(stand, "members"), "", "members that are left")


def test_a_guest_changes_the_field_that_it_may_and_no_other(stand: Stand) -> None:
    serve(stand)
    guest = enter(stand, "touch")
    guest.page.goto(stand.origin + "/form/public/lamp")
    guest.until("the rights", """() => document.querySelector("#fields input[type=range]")?.disabled === false
        && document.querySelector("#fields input[type=text]")?.disabled""")
    guest.page.locator("#fields input[type=number]").fill("55")
    guest.page.locator("#fields input[type=number]").press("Enter")
    stand.committed("public/lamp", "level", 55)
    same(guest.eval("() => bind.model('public/lamp').set('note', 'mine').then((outcome) => outcome.code)"),
         "notPermitted", "a write past the disabled control")
    same(stand.get("public/lamp")["values"]["note"], "desk")


def test_rights_that_are_taken_away_take_the_values_from_the_page(stand: Stand) -> None:
    serve(stand)
    guest = enter(stand, "view")
    guest.page.goto(stand.origin + "/form/public/lamp")
    guest.until("the value", "() => bind.model('public/lamp').get('level') === 10")
    path = Path(stand.folder) / "keys" / "access.json"
    path.write_text(json.dumps({**ACCESS, "roles": {"view": {"read": ["other"]}}}), encoding="utf-8")
    hub(stand, "access", "apply")
    guest.until("nothing of it", """() => bind.model("public/lamp").names().length === 0
        && bind.model("public/lamp").blocked?.text === "public/lamp: gus (view) lacks the right read" """)
    path.write_text(json.dumps(ACCESS), encoding="utf-8")
    hub(stand, "access", "apply")
    guest.until("the value again", "() => bind.model('public/lamp').get('level') === 10")
    eventually("a listed browser", lambda: "gus  page" in hub(stand, "members"))
