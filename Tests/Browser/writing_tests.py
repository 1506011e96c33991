"""The outcomes of writes by a user: rules 2, 3, 5 and 8 of the page."""

from __future__ import annotations

import re
from typing import Any

from stand import Stand, Tab, expect, same

# The state of a control without color: its title and its description.
DESCRIPTION = """(id) => {
    const control = document.getElementById(id);
    const ids = ["aria-describedby", "aria-errormessage"]
      .flatMap((name) => (control.getAttribute(name) ?? "").split(/\\s+/));
    return [control.title, ...ids.map((one) => (one && document.getElementById(one)?.textContent) || "")].join(" ");
}"""


def drag(tab: Tab, values: list[int]) -> None:
    """Moves the slider as a user does: one input event per value."""
    for value in values:
        tab.page.evaluate("""(value) => {
            const slider = document.getElementById("level");
            slider.value = String(value);
            slider.dispatchEvent(new Event("input", { bubbles: true }));
        }""", value)


def together(proposals: list[dict[str, Any]]) -> int:
    """The maximum number of proposals in flight at the same time."""
    ends = [(one["decided"], -1) for one in proposals if one["decided"]]
    moments = sorted([(one["at"], 1) for one in proposals] + ends)
    most = now = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most


def test_rule_2_one_write_in_flight_newer_ones_coalesce_and_the_last_arrives(stand: Stand) -> None:
    tab = stand.tab().live()
    tab.link.hold_up()
    drag(tab, list(range(1, 31)))
    tab.until("the first write", "() => ear.proposals().length === 1")
    same(tab.get("lamp", "level"), 30, "what the page shows meanwhile")
    tab.link.release()
    there = stand.committed("lamp", "level", 30)
    tab.state("#level", None)
    proposals = tab.proposals("level")
    same([one["operations"][0][2] for one in proposals], [1, 30], "what was sent")
    same(there["version"], 2, "commits")
    drag(tab, list(range(31, 91)))
    stand.committed("lamp", "level", 90)
    tab.state("#level", None)
    same(together(tab.proposals("level")), 1, "proposals of one field in flight at once")
    stand.log(f"60 movements became {len(tab.proposals('level')) - 2} commits")


def test_rule_3_a_field_with_an_unconfirmed_write_ignores_commits_of_others(stand: Stand) -> None:
    tab = stand.tab().live()
    tab.link.hold_up()
    tab.page.fill("#name", "mine")
    tab.state("#name", "pending")
    stand.set("lamp.name=theirs", "lamp.count=1")
    tab.until("the other field of their commit", "() => document.getElementById('count').value === '1'")
    same(tab.eval("() => document.getElementById('name').value"), "mine", "the control with an unconfirmed write")
    tab.link.release()
    stand.committed("lamp", "name", "mine")
    tab.state("#name", None)
    same(tab.eval("() => document.getElementById('name').value"), "mine")


def refused(stand: Stand) -> Tab:
    """A tab with a refused write: the rule of its field reaches the hub just before it, and the page just after."""
    tab = stand.tab().live()
    tab.page.fill("#code", "blue")
    stand.committed("lamp", "code", "blue")
    tab.link.hold_down()
    stand.describe("lamp", code={"type": "string", "choices": ["blue", "green"]})
    tab.page.click("#code")
    tab.page.fill("#code", "purple")
    tab.until("the sent write", "() => ear.proposals().some((one) => one.operations[0][2] === 'purple')")
    tab.link.release()
    return tab


def test_rule_5_a_refusal_is_marked_shows_its_reason_and_keeps_the_typed_text(stand: Stand) -> None:
    tab = refused(stand)
    tab.state("#code", "refused")
    same(tab.eval("() => document.getElementById('code').getAttribute('aria-invalid')"), "true", "aria-invalid")
    same(tab.eval("() => document.getElementById('code').value"), "purple", "the text of the focused control")
    words = tab.eval(DESCRIPTION, "code")
    expect("purple" in words or "green" in words, f"the description of the control is {words!r}")
    same(tab.get("lamp", "code"), "blue", "what the model has")
    tab.page.fill("#name", "elsewhere")
    stand.committed("lamp", "name", "elsewhere")
    same(tab.eval("() => document.getElementById('code').value"), "purple", "the text of the control that was left")
    tab.state("#code", "refused")

    tab.page.fill("#code", "green")
    stand.committed("lamp", "code", "green")
    tab.state("#code", None)
    tab.until("no mark", "() => document.getElementById('code').getAttribute('aria-invalid') !== 'true'")


def test_rule_5_a_refused_text_can_be_written_again_or_discarded(stand: Stand) -> None:
    tab = refused(stand)
    tab.state("#code", "refused")
    tab.page.focus("#name")
    stand.describe("lamp", code={"type": "string", "choices": ["blue", "green", "purple"]})
    tab.until("the new description", "() => bind.model('lamp').describe('code').choices.length === 3")
    tab.page.locator("#why").get_by_role("button", name="Write mine").click()
    stand.committed("lamp", "code", "purple")
    tab.state("#code", None)
    same(tab.eval("() => document.getElementById('why').textContent"), "")

    tab.page.fill("#code", "red")
    tab.state("#code", "refused")
    tab.page.focus("#name")
    stand.set("lamp.code=blue", "lamp.count=3")
    tab.shows("lamp", "count", 3)
    same(tab.eval("() => document.getElementById('code').value"), "red", "what is typed while another writes")
    tab.page.locator("#why").get_by_role("button", name="Take theirs").click()
    tab.state("#code", None)
    tab.until("the committed text", "() => document.getElementById('code').value === 'blue'")
    same(stand.get("lamp")["values"]["code"], "blue")


def test_rule_5_incomplete_text_stays_when_its_control_loses_focus(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", count={"type": "integer"})
    stand.set("lamp.settings:={\"a\":1}", "lamp.mail=a@b.c", "lamp.count=2")
    tab = stand.tab().live()
    tab.shows("lamp", "settings", {"a": 1})
    tab.until("the step", "() => document.getElementById('count').step === '1'")
    halves = {"settings": '{"grid":1,}', "mail": "nope", "count": "2.5"}
    for field, half in halves.items():
        tab.page.fill(f"#{field}", half)
        tab.page.keyboard.press("Tab")
        tab.state(f"#{field}", "refused")
    stand.set("lamp.settings:={\"a\":2}", "lamp.mail=b@b.c", "lamp.count=3")
    tab.shows("lamp", "count", 3)
    for field, half in halves.items():
        same(tab.eval("(id) => document.getElementById(id).value", field), half, "the typed text")
        expect(len(tab.eval(DESCRIPTION, field).strip()) > 0, f"{field} shows no reason")
        same(tab.proposals(field), [], f"proposals of {field}")
    # An empty control has no draft.
    tab.page.fill("#count", "")
    tab.page.keyboard.press("Tab")
    tab.state("#count", None)
    tab.until("the other's number", "() => document.getElementById('count').value === '3'")
    same(tab.eval("() => document.getElementById('count').title"), "", "what it says then")
    tab.page.locator("#whySettings").get_by_role("button", name="Take theirs").click()
    tab.until("the other's object", "() => document.getElementById('settings').value === '{\"a\":2}'")
    tab.page.focus("#mail")
    tab.page.keyboard.press("Escape")
    tab.until("the other's address", "() => document.getElementById('mail').value === 'b@b.c'")
    same(tab.eval("() => bind.drafts().length"), 0)


def test_rule_8_json_is_checked_at_each_key_and_written_once(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.settings:={\"a\":1}")
    tab = stand.tab().live()
    tab.shows("lamp", "settings", {"a": 1})
    tab.page.focus("#settings")
    tab.page.keyboard.press("ControlOrMeta+a")
    tab.page.keyboard.type('{"b":')
    tab.state("#settings", "refused")
    expect("JSON" in tab.eval("() => document.getElementById('whySettings').textContent"), "it shows no reason")
    tab.page.keyboard.type("2}")
    tab.state("#settings", "draft")
    same(tab.proposals("settings"), [], "proposals while it is typed")
    tab.page.keyboard.press("Tab")
    stand.committed("lamp", "settings", {"b": 2})
    tab.state("#settings", None)
    same(len(tab.proposals("settings")), 1)


def test_rule_5_a_refused_change_of_several_fields_is_rolled_back_together(stand: Stand) -> None:
    tab = stand.tab().live()
    stand.describe("lamp", level={"type": "number", "min": 0, "max": 100})
    stand.set("lamp.level=10", "lamp.name=ten")
    tab.shows("lamp", "name", "ten")
    tab.eval("""() => {
        window.turns = [];
        const lamp = bind.model("lamp");
        lamp.on(null, () => window.turns.push(`${lamp.get("level")} ${lamp.get("name")}`));
        lamp.change({ level: 1000, name: "thousand" });
    }""")
    tab.until("the rollback", "() => bind.model('lamp').get('level') === 10")
    same(tab.get("lamp", "name"), "ten")
    mixed = [turn for turn in tab.eval("() => window.turns") if turn not in ("10 ten", "1000 thousand")]
    same(mixed, [], "turns that showed one of two fields that belong together")
    same(stand.get("lamp")["values"]["level"], 10)


def test_rule_8_the_description_sets_the_native_limits(stand: Stand) -> None:
    tab = stand.tab().live()
    stand.describe("lamp", count={"type": "integer", "min": 2, "max": 9, "step": 1},
                   name={"type": "string", "maxLength": 5}, dim={"type": "number", "min": 10, "max": 20, "step": 0.5})
    tab.until("the limits", """() => {
        const at = (id) => document.getElementById(id);
        return at("count").min === "2" && at("count").max === "9" && at("dim").min === "10"
          && at("dim").max === "20" && at("dim").step === "0.5";
    }""")


def test_rule_8_the_slider_of_a_percentage_ranges_from_0_to_1(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.share=0.8", "lamp.dim=30")
    tab = stand.tab().live()
    tab.until("its value", "() => document.getElementById('slider').value === '0.8'")
    box = tab.page.locator("#slider").bounding_box()
    assert box
    tab.page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + box["height"] / 2)
    written = tab.until("a write", "() => bind.model('lamp').info('share').own && bind.model('lamp').get('share')")
    expect(0.7 < written < 0.8, written)
    shown = tab.page.locator("#percent").inner_text()
    expect(re.fullmatch("7[0-9] %", shown), shown)
    same(tab.eval("() => [document.getElementById('dim').max, document.getElementById('dim').value]"), ["", "30"])
    # The description takes precedence.
    stand.describe("lamp", share={"type": "number", "min": 0, "max": 2})
    tab.until("the limit", "() => document.getElementById('slider').max === '2'")


def test_rule_8_a_value_that_the_control_finds_invalid_is_not_sent(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", count={"type": "integer", "min": 2, "max": 9},
                   code={"type": "string", "pattern": "[a-z]+-[0-9]+"})
    tab = stand.tab().live()
    tab.until("the limit", "() => document.getElementById('count').max === '9'")
    tab.page.fill("#count", "12")
    tab.page.fill("#code", "not it")
    tab.page.fill("#name", "after")
    stand.committed("lamp", "name", "after")
    same(tab.proposals("count") + tab.proposals("code"), [], "proposals of what does not fit")
    for field in ("count", "code"):
        same(tab.eval("(id) => document.getElementById(id).getAttribute('aria-invalid')", field), "true", field)
        expect(len(tab.eval(DESCRIPTION, field).strip()) > 0, f"{field} shows no reason")
    tab.page.fill("#count", "8")
    tab.page.fill("#code", "desk-1")
    stand.committed("lamp", "count", 8)
    stand.committed("lamp", "code", "desk-1")
