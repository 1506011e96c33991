"""Typing is not disturbed by other writers, by the echo of own writes, or by an input method.

Rules 1, 4 and 9 of the page.
"""

from __future__ import annotations

from typing import Callable

from stand import Stand, Tab, expect, same

SELECTED = """(id) => {
    const control = document.getElementById(id);
    return { value: control.value, start: control.selectionStart, end: control.selectionEnd,
             has: document.activeElement === control };
}"""


def typed(stand: Stand, selector: str = "#name", text: str = "hello world") -> Tab:
    """A tab whose focused control contains this text, committed."""
    tab = stand.tab().live()
    tab.page.click(selector)
    tab.page.keyboard.type(text)
    stand.committed("lamp", selector[1:], text)
    tab.state(selector, None)
    return tab


def test_rule_1_the_selection_keeps_its_letters_when_another_writes_before_it(stand: Stand) -> None:
    for selector in ("#name", "#note"):
        tab = typed(stand, selector)
        tab.page.evaluate("(id) => document.getElementById(id).setSelectionRange(6, 11)", selector[1:])
        stand.set(f"lamp.{selector[1:]}=well, hello world")
        tab.until("the text of the other", "(id) => document.getElementById(id).value.startsWith('well')", selector[1:])
        same(tab.eval(SELECTED, selector[1:]), {"value": "well, hello world", "start": 12, "end": 17, "has": True})


def test_rule_1_the_caret_stays_when_another_writes_behind_it(stand: Stand) -> None:
    tab = typed(stand)
    tab.page.evaluate("() => document.getElementById('name').setSelectionRange(5, 5)")
    stand.set("lamp.name=hello world, and all")
    tab.until("the text of the other", "() => document.getElementById('name').value.endsWith('all')")
    same(tab.eval(SELECTED, "name"), {"value": "hello world, and all", "start": 5, "end": 5, "has": True})
    tab.page.keyboard.type("!")
    stand.committed("lamp", "name", "hello! world, and all")


# A text with the caret (|), and the text after a write of another, with the expected caret.
CARETS = {
    "in a word that is written anew": ("note", "one t|wo three", "one T|WO three"),
    "in a word between two that are written anew": ("note", "one tw|o three", "ONE tw|o THREE"),
    "behind all, when all is another": ("note", "buy milk|", "call the dentist on Monday|"),
    "between lines that are continued": ("note", "1. a\n2.| b\n3. c", "1. a!\n2.| b\n3. c!"),
    "in the middle of what was replaced": ("name", "Good mo|rning", "Good ev|ening"),
    "behind a word where another goes on": ("note", "one| two", "one|, 2, two"),
    "before a word where another puts one in": ("note", "one |two", "one and |two"),
    "at the end, where another goes on": ("name", "hello|", "hello| world"),
}


def caret(row: tuple[str, str, str]) -> Callable[[Stand], None]:
    field, before, after = row

    def run(stand: Stand) -> None:
        tab = stand.tab().live()
        stand.set(f"lamp.{field}=" + before.replace("|", ""))
        tab.shows("lamp", field, before.replace("|", ""))
        tab.page.focus("#" + field)
        tab.eval("([id, at]) => document.getElementById(id).setSelectionRange(at, at)", [field, before.index("|")])
        stand.set(f"lamp.{field}=" + after.replace("|", ""))
        tab.until("the other's text", "([id, text]) => document.getElementById(id).value === text",
                  [field, after.replace("|", "")])
        at = after.index("|")
        same(tab.eval(SELECTED, field), {"value": after.replace("|", ""), "start": at, "end": at, "has": True})
        tab.page.keyboard.type("x")
        stand.committed("lamp", field, after.replace("|", "x"))

    return run


def made() -> dict[str, Callable[[Stand], None]]:
    return {f"rule 1 the caret stays {where}": caret(row) for where, row in CARETS.items()}


def test_rule_1_a_selection_does_not_grow_by_insertions_at_its_ends(stand: Stand) -> None:
    tab = typed(stand, "#note")
    tab.page.evaluate("() => document.getElementById('note').setSelectionRange(6, 11)")
    stand.set("lamp.note=hello big world, well")
    tab.until("the text of the other", "() => document.getElementById('note').value.endsWith('well')")
    same(tab.eval(SELECTED, "note"), {"value": "hello big world, well", "start": 10, "end": 15, "has": True})


def test_rule_1_a_control_is_written_to_only_when_its_value_differs(stand: Stand) -> None:
    tab = typed(stand)
    tab.eval("() => { window.count = ear.writesTo(document.getElementById('name')) }")
    stand.set("lamp.count=5")
    tab.until("the other field", "() => document.getElementById('count').value === '5'")
    stand.set("lamp.name=hello world", "lamp.count=6")
    tab.until("the other field", "() => document.getElementById('count').value === '6'")
    same(tab.eval("() => window.count.writes"), 0, "writes to a control whose value was the same")
    stand.set("lamp.name=other")
    tab.until("the new text", "() => document.getElementById('name').value === 'other'")
    same(tab.eval("() => window.count.writes"), 1, "writes to a control whose value is new")


def test_rule_4_the_echo_of_an_own_write_changes_nothing(stand: Stand) -> None:
    tab = typed(stand)
    tab.eval("""() => {
        const control = document.getElementById('name');
        window.count = ear.writesTo(control);
        control.setSelectionRange(5, 5);
    }""")
    for letter in ", dear":
        tab.page.keyboard.type(letter)
        tab.state("#name", None)
    stand.committed("lamp", "name", "hello, dear world")
    tab.state("#name", None)
    same(tab.eval(SELECTED, "name"), {"value": "hello, dear world", "start": 11, "end": 11, "has": True})
    same(tab.eval("() => window.count.writes"), 0, "writes to the control that was typed into")


def test_rule_9_nothing_is_written_during_a_composition(stand: Stand) -> None:
    tab = typed(stand, text="a")
    person = tab.context.new_cdp_session(tab.page)
    before = len(tab.proposals("name"))
    for text in ("n", "に", "にほ", "にほん"):
        person.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
    tab.until("the composition", "() => document.getElementById('name').value === 'aにほん'")
    # Another write of the page, once it arrives, proves that earlier messages have been sent.
    tab.eval("() => { bind.model('lamp').set('count', 1) }")
    stand.committed("lamp", "count", 1)
    same(len(tab.proposals("name")), before, "proposals of the text that is being composed")

    stand.set("lamp.name=changed by another", "lamp.count=2")
    tab.until("the other commit", "() => document.getElementById('count').value === '2'")
    same(tab.eval("() => document.getElementById('name').value"), "aにほん", "the text that is being composed")

    person.send("Input.insertText", {"text": "日本"})
    stand.committed("lamp", "name", "a日本")
    same(len(tab.proposals("name")), before + 1, "proposals of the text that was composed")
    tab.until("the composed text", "() => document.getElementById('name').value === 'a日本'")


def test_a_control_writes_on_the_event_of_its_attribute(stand: Stand) -> None:
    tab = stand.tab().live()
    for selector, ends in (("#title", "Tab"), ("#place", "Enter"), ("#room", "Tab")):
        field = selector[1:]
        tab.page.click(selector)
        tab.page.keyboard.type("attic")
        tab.eval("() => { bind.model('lamp').set('count', (bind.model('lamp').get('count') ?? 0) + 1) }")
        stand.committed("lamp", "count", tab.get("lamp", "count"))
        same(tab.proposals(field), [], f"proposals of {field} before {ends}")
        tab.page.keyboard.press(ends)
        stand.committed("lamp", field, "attic")
    expect(not tab.complaints, tab.complaints)


def test_every_kind_of_control_is_bound_both_ways(stand: Stand) -> None:
    tab = stand.tab().live()
    page = tab.page
    page.fill("#name", "desk")
    page.fill("#note", "two\nlines")
    page.fill("#level", "40")
    page.fill("#count", "7")
    page.press("#count", "Enter")
    page.check("#on")
    page.select_option("#colour", "green")
    page.select_option("#tags", ["new", "odd"])
    page.check("#large")
    page.fill("#day", "2026-11-21")
    page.fill("#tint", "#336699")
    wanted = {"name": "desk", "note": "two\nlines", "level": 40, "count": 7, "on": True, "colour": "green",
              "tags": ["new", "odd"], "size": "large", "day": "2026-11-21", "tint": "#336699"}
    for field, value in wanted.items():
        stand.committed("lamp", field, value)

    stand.set("lamp.name=shelf", "lamp.note:=\"one line\"", "lamp.level=60", "lamp.count=8", "lamp.on=false",
              "lamp.colour=red", "lamp.tags:=[\"old\"]", "lamp.size=small", "lamp.day=2027-01-02",
              "lamp.tint=#112233", "lamp.share=0.256", "lamp.plain=words", "lamp.target=/pages/two.html")
    tab.until("all values of the other", """() => {
        const at = (id) => document.getElementById(id);
        return at("name").value === "shelf" && at("note").value === "one line" && at("level").value === "60"
          && at("count").value === "8" && !at("on").checked && at("colour").value === "red"
          && [...at("tags").selectedOptions].map((one) => one.value).join() === "old" && at("small").checked
          && !at("large").checked && at("day").value === "2027-01-02" && at("tint").value === "#112233"
          && at("shown").textContent === "60" && at("plain").textContent === "words"
          && at("fixed").textContent === "0.26" && /^(25[.,]6|26)\\s?%$/.test(at("percent").textContent)
          && at("link").getAttribute("href") === "/pages/two.html"
          && document.querySelector("h1 output").title === "shelf";
    }""")
    seen = "() => ['whenOn', 'whenOff', 'whenRed'].map((id) => document.getElementById(id).checkVisibility())"
    same(tab.eval(seen), [False, True, True], "what data-show shows")


def test_incomplete_numbers_are_not_written(stand: Stand) -> None:
    tab = stand.tab().live()
    tab.page.click("#count")
    tab.page.keyboard.type("-")
    tab.eval("() => { bind.model('lamp').set('name', 'mark') }")
    stand.committed("lamp", "name", "mark")
    same(tab.proposals("count"), [], "proposals of a minus sign alone")
    tab.page.keyboard.press("Enter")
    tab.eval("() => { bind.model('lamp').set('name', 'another') }")
    stand.committed("lamp", "name", "another")
    same(tab.proposals("count"), [], "proposals of a minus sign alone, with Enter")
    tab.page.keyboard.type("12")
    tab.page.keyboard.press("Enter")
    stand.committed("lamp", "count", -12)
    same(tab.eval("() => document.getElementById('count').value"), "-12")


def test_a_slowly_typed_number_is_one_commit(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=20")
    tab = stand.tab().live()
    for ends in ("Enter", "Tab"):
        tab.page.focus("#count")
        tab.page.keyboard.press("ControlOrMeta+a")
        before = stand.get("lamp")["version"]
        tab.page.keyboard.type("15", delay=30)
        tab.state("#count", "draft")
        stand.set(f"lamp.count={before}", "lamp.name=another")
        tab.until("the other's commit", "(count) => bind.model('lamp').get('count') === count", before)
        tab.page.keyboard.type("0", delay=30)
        same(tab.eval("() => document.getElementById('count').value"), "150", "what is typed while another writes")
        same(tab.proposals("count")[{"Enter": 0, "Tab": 1}[ends]:], [], f"proposals before {ends}")
        tab.page.keyboard.press(ends)
        there = stand.committed("lamp", "count", 150)
        same(there["version"], before + 2, "the version after the other's commit and one of the page")
        tab.state("#count", None)


def test_escape_restores_a_number_and_the_next_key_writes_nothing(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=20")
    tab = stand.tab().live()
    tab.page.focus("#count")
    tab.page.keyboard.type("99")
    tab.state("#count", "draft")
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("Tab")
    tab.state("#count", None)
    same(tab.eval("() => document.getElementById('count').value"), "20")
    tab.page.fill("#name", "after")
    stand.committed("lamp", "name", "after")
    same(tab.proposals("count"), [])


def test_arrows_and_sliders_write_at_each_step(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=20", "lamp.level=50")
    tab = stand.tab().live()
    for field, value in (("count", 21), ("level", 51)):
        tab.page.focus(f"#{field}")
        tab.page.keyboard.press("ArrowUp")
        stand.committed("lamp", field, value)
        same(tab.eval("() => document.activeElement.id"), field, "where the focus is")
