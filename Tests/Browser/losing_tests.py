"""A lost link loses no write and does not disturb the user. Rules 6, 7 and 11 of the page."""

from __future__ import annotations

from stand import Stand, Tab, eventually, same, expect

OUTLINE = """(id) => {
    const style = getComputedStyle(document.getElementById(id));
    return [style.outline, style.border, style.boxShadow, style.backgroundColor].join(" | ");
}"""
LIGHT = "() => document.querySelector('[data-light]').textContent"


def lose(tab: Tab) -> None:
    """Cuts the tab's link, and waits until the page shows it."""
    tab.link.cut()
    tab.lights("offline")


def find(tab: Tab) -> None:
    """Heals the link and sends the `online` event, on which the page reconnects immediately."""
    tab.link.heal()
    tab.eval("() => window.dispatchEvent(new Event('online'))")
    tab.until("the end of the offline state", "() => ear.lights() !== 'offline'")


def test_rule_6_a_reconnected_page_catches_up(stand: Stand) -> None:
    tab = stand.tab().live()
    stand.set("lamp.name=desk", "lamp.note=first")
    tab.shows("lamp", "name", "desk")
    lose(tab)
    stand.set("lamp.name=shelf")
    stand.run("rm", "lamp.note")
    stand.set("lamp.count=3")
    find(tab)
    tab.shows("lamp", "name", "shelf")
    tab.shows("lamp", "count", 3)
    tab.until("the deletion", "() => bind.model('lamp').get('note') === undefined")
    tab.until("the controls", """() => document.getElementById("name").value === "shelf"
        && document.getElementById("note").value === "" """)
    joins = tab.eval("() => ear.sent.filter((one) => one.kind === 'join' && one.model === 'lamp')")
    same(len(joins), 2, "joins")
    expect(joins[1]["version"] > 0, "the page joins again without its version")


def test_rule_6_after_a_reconnect_unconfirmed_writes_are_resent_with_the_same_numbers(stand: Stand) -> None:
    tab = stand.tab().live()
    tab.page.fill("#name", "one")
    stand.committed("lamp", "name", "one")
    tab.state("#name", None)
    # The write arrives and is committed, but the link is lost before the outcome reaches the page.
    tab.link.hold_down()
    tab.page.fill("#name", "two")
    tab.page.fill("#count", "2")
    tab.page.press("#count", "Enter")
    there = stand.committed("lamp", "count", 2)
    lose(tab)
    tab.state("#name", "offline")
    find(tab)
    tab.state("#name", None)
    tab.state("#count", None)
    tab.shows("lamp", "name", "two")
    sent = tab.eval("""() => ear.sent.filter((one) => one.kind === "propose")
        .map((one) => [one.number, JSON.stringify(one.operations)])""")
    meant: dict[int, set[str]] = {}
    for number, operations in sent:
        meant.setdefault(number, set()).add(operations)
    expect(all(len(all_) == 1 for all_ in meant.values()), f"a number was used for two writes: {meant}")
    same(sorted(meant), list(range(1, len(meant) + 1)), "numbers")
    same(stand.get("lamp")["version"], there["version"], "versions: nothing was committed twice")


def test_rule_7_offline_edits_stay_are_outlined_and_counted_and_are_sent_later(stand: Stand) -> None:
    tab = stand.tab().live()
    stand.set("lamp.name=desk")
    tab.shows("lamp", "name", "desk")
    plain = tab.eval(OUTLINE, "name")
    lose(tab)
    tab.page.fill("#name", "shelf")
    tab.page.fill("#note", "written without a link")
    tab.page.check("#on")
    for field in ("#name", "#note", "#on"):
        tab.state(field, "offline")
    eventually("the count of unconfirmed writes", lambda: "3" in tab.eval(LIGHT), stand.breathe)
    tab.page.click("h1")
    expect(tab.eval(OUTLINE, "name") != plain, "an offline edit looks like a confirmed one")
    same(tab.eval("() => document.getElementById('name').value"), "shelf")
    stand.log(f"the status light: {tab.eval(LIGHT)!r}")
    eventually("attempts to reconnect", lambda: tab.link.refused >= 3, stand.breathe)
    find(tab)
    for field, value in (("name", "shelf"), ("note", "written without a link"), ("on", True)):
        stand.committed("lamp", field, value)
        tab.state(f"#{field}", None)


def test_rule_7_the_page_reconnects_by_itself(stand: Stand) -> None:
    tab = stand.tab().live()
    lose(tab)
    tab.page.fill("#name", "shelf")
    eventually("an attempt to reconnect", lambda: tab.link.refused >= 1, stand.breathe)
    tab.link.heal()
    stand.committed("lamp", "name", "shelf")
    tab.state("#name", None)


def test_rule_7_cutting_and_healing_a_link_by_name(stand: Stand) -> None:
    tab = stand.tab("/pages/two.html").live()
    tab.lights("live", "live")
    tab.page.fill("#left", "both")
    tab.until("the other side", "() => document.getElementById('right').value === 'both'")
    tab.eval("() => { bind.link('left').cut() }")
    tab.lights("offline", "live")
    tab.page.fill("#left", "only here")
    tab.state("#left", "offline")
    same(tab.eval("() => document.getElementById('right').value"), "both")
    tab.eval("() => { bind.link('left').heal() }")
    tab.until("the edit on the other side", "() => document.getElementById('right').value === 'only here'")
    stand.committed("pair", "name", "only here")


def test_rule_11_the_page_asks_before_closing_only_with_unconfirmed_writes(stand: Stand) -> None:
    calm = stand.tab().live()
    calm.page.click("#name")
    calm.page.keyboard.type("desk")
    stand.committed("lamp", "name", "desk")
    calm.state("#name", None)
    calm.page.close(run_before_unload=True)
    eventually("the end of the page", calm.page.is_closed, lambda: calm.context.cookies())
    same(calm.dialogs, [], "questions of a page with nothing unconfirmed")

    busy = stand.tab().live()
    busy.link.hold_up()
    busy.page.click("#name")
    busy.page.keyboard.type("shelf")
    busy.state("#name", "pending")
    busy.page.close(run_before_unload=True)
    eventually("the question", lambda: busy.dialogs, lambda: busy.context.cookies())
    same(busy.dialogs, ["beforeunload"])


def test_rule_11_the_page_asks_before_closing_discards_typed_text(stand: Stand) -> None:
    tab = stand.tab().live()
    stand.set("lamp.count=5")
    tab.shows("lamp", "count", 5)
    tab.page.fill("#count", "150")
    tab.accepts = False
    tab.page.close(run_before_unload=True)
    eventually("the question", lambda: tab.dialogs, lambda: tab.context.cookies())
    same(tab.dialogs, ["beforeunload"])
    tab.page.keyboard.press("Escape")
    tab.state("#count", None)
    tab.page.close(run_before_unload=True)
    eventually("the end of the page", tab.page.is_closed, lambda: tab.context.cookies())
    same(tab.dialogs, ["beforeunload"], "questions")


def test_rule_7_the_page_keeps_its_values_when_the_hub_ends(stand: Stand) -> None:
    tab = stand.tab().live()
    stand.set("lamp.note=first")
    tab.shows("lamp", "note", "first")
    assert stand.hub
    stand.hub.process.kill()
    tab.lights("offline")
    tab.page.fill("#name", "kept")
    tab.state("#name", "offline")
    same(tab.eval("() => ['name', 'note'].map((id) => document.getElementById(id).value)"), ["kept", "first"])
