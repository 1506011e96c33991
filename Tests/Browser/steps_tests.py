"""Undo and redo of a page's own writes: with buttons, keys and a script."""

from __future__ import annotations

from dashboard_tests import opened
from stand import Stand, Tab, expect, same

CUT = "() => bind.link().cut()"
HEAL = "() => bind.link().heal()"
WRITE = "([field, value]) => bind.model('lamp').set(field, value)"


def opened_steps(stand: Stand, **fields: object) -> Tab:
    stand.serve()
    if fields:
        stand.describe("lamp", **fields)
    stand.set("lamp.level=10", "lamp.on=false", "lamp.name=desk", "lamp.count=1", "lamp.note=one two")
    return ready(stand.tab("/pages/steps.html"))


def ready(tab: Tab) -> Tab:
    tab.live()
    tab.until("the buttons", "() => document.getElementById('undo').title && document.getElementById('redo').title")
    return tab


def write(tab: Tab, field: str, value: object) -> None:
    same(tab.eval(WRITE, [field, value])["kind"], "committed", f"{field} = {value}")
    # Its commit has come, too.
    tab.until("the commit", "() => !bind.model('lamp').writes.length")


def title(tab: Tab, which: str, wanted: str, is_off: bool = False) -> None:
    tab.until(f"{which}: {wanted}", """([which, wanted, isOff]) => {
        const button = document.getElementById(which)
        return button.title === wanted && (button.disabled || button.ariaDisabled === 'true') === isOff
    }""", [which, wanted, is_off])


def said(tab: Tab, words: str) -> None:
    tab.until(repr(words), "(words) => document.getElementById('said').textContent === words", words)


def test_buttons_take_own_writes_back_and_bring_them_again(stand: Stand) -> None:
    tab = opened_steps(stand, level={"type": "number", "title": "Brightness"})
    title(tab, "undo", "Nothing to undo", True)
    title(tab, "redo", "Nothing to redo", True)
    tab.page.check("#on")
    stand.committed("lamp", "on", True)
    title(tab, "undo", "Undo: on")
    write(tab, "level", 50)
    title(tab, "undo", "Undo: Brightness")
    tab.page.click("#undo")
    stand.committed("lamp", "level", 10)
    title(tab, "undo", "Undo: on")
    title(tab, "redo", "Redo: Brightness")
    tab.page.click("#undo")
    stand.committed("lamp", "on", False)
    # The button that has the focus keeps it, and does nothing.
    title(tab, "undo", "Nothing to undo", True)
    same(tab.eval("() => document.activeElement.id"), "undo", "what has the focus")
    tab.page.click("#redo")
    stand.committed("lamp", "on", True)
    same(tab.eval("() => document.getElementById('undo').disabled"), False)
    tab.page.click("#redo")
    stand.committed("lamp", "level", 50)
    title(tab, "redo", "Nothing to redo", True)
    write(tab, "level", 60)
    tab.page.click("#undo")
    stand.committed("lamp", "level", 50)
    # What is written anew leaves nothing to redo.
    tab.page.uncheck("#on")
    title(tab, "redo", "Nothing to redo", True)
    same(tab.complaints, [])


def test_steps_of_one_field_are_taken_back_and_brought_again_one_by_one(stand: Stand) -> None:
    tab = opened_steps(stand)
    for field, value in (("level", 50), ("name", "mine"), ("level", 60), ("name", "lamp")):
        write(tab, field, value)
    states = [(10, "desk"), (50, "desk"), (50, "mine"), (60, "mine"), (60, "lamp")]
    for way, wanted in (("undo", states[3::-1]), ("redo", states[1:]), ("undo", states[3::-1])):
        for values in wanted:
            same(tab.eval("(way) => bind[way]('lamp')", way)["kind"], "done", f"{way} to {values}")
            there = stand.get("lamp")["values"]
            same((there["level"], there["name"]), values, way)
    same(tab.eval("() => bind.undo('lamp')"), {"kind": "nothing"})


def test_a_dragged_slider_and_an_edit_from_focus_to_focus_are_one_step_each(stand: Stand) -> None:
    tab = opened_steps(stand)
    box = tab.page.locator("#level").bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    tab.page.mouse.move(box["x"] + box["width"] * 0.1, middle)
    tab.page.mouse.down()
    for part in (0.3, 0.5):
        tab.page.mouse.move(box["x"] + box["width"] * part, middle, steps=4)
    # However long it is held.
    tab.page.wait_for_function("(then) => performance.now() > then + 1200", arg=tab.eval("() => performance.now()"))
    tab.page.mouse.move(box["x"] + box["width"] * 0.8, middle, steps=4)
    tab.page.mouse.up()
    tab.until("the last value", "() => !bind.model('lamp').writes.length && bind.model('lamp').get('level') > 60")
    expect(len(tab.proposals("level")) > 2, "the slider was not dragged in several writes")
    tab.page.click("#name")
    tab.page.keyboard.press("End")
    tab.page.keyboard.type(" lamp", delay=30)
    stand.committed("lamp", "name", "desk lamp")
    tab.page.wait_for_function("(then) => performance.now() > then + 1200", arg=tab.eval("() => performance.now()"))
    tab.page.keyboard.type("s")
    stand.committed("lamp", "name", "desk lamps")
    tab.page.click("#undo")
    stand.committed("lamp", "name", "desk")
    title(tab, "undo", "Undo: level")
    tab.page.click("#undo")
    stand.committed("lamp", "level", 10)
    title(tab, "undo", "Nothing to undo", True)


def test_ctrl_z_takes_a_step_back_where_no_text_is_typed(stand: Stand) -> None:
    tab = opened_steps(stand)
    tab.page.check("#on")
    stand.committed("lamp", "on", True)
    tab.page.keyboard.press("ControlOrMeta+z")
    stand.committed("lamp", "on", False)
    tab.page.keyboard.press("ControlOrMeta+Shift+z")
    stand.committed("lamp", "on", True)
    tab.page.click("h1")
    tab.page.keyboard.press("ControlOrMeta+z")
    stand.committed("lamp", "on", False)
    tab.page.keyboard.press("ControlOrMeta+y")
    stand.committed("lamp", "on", True)
    # In a text it is the browser's own.
    tab.page.click("#name")
    tab.page.keyboard.press("End")
    tab.page.keyboard.type("!")
    stand.committed("lamp", "name", "desk!")
    tab.page.keyboard.press("ControlOrMeta+z")
    stand.committed("lamp", "name", "desk")
    same(stand.get("lamp")["values"]["on"], True)


def test_what_was_never_sent_is_withdrawn_and_undone_offline(stand: Stand) -> None:
    tab = opened_steps(stand)
    write(tab, "name", "mine")
    tab.eval(CUT)
    tab.eval("() => { bind.model('lamp').set('level', 50) }")
    tab.page.click("#undo")
    tab.shows("lamp", "level", 10)
    same(tab.eval("() => bind.link().unconfirmed().count"), 0, "writes that wait")
    tab.page.click("#redo")
    tab.shows("lamp", "level", 50)
    tab.page.click("#undo")
    # A committed step is written back as soon as there is a link.
    tab.page.click("#undo")
    tab.shows("lamp", "name", "desk")
    same(stand.get("lamp")["values"]["name"], "mine")
    tab.eval(HEAL)
    stand.committed("lamp", "name", "desk")
    same(stand.get("lamp")["values"]["level"], 10)
    same(tab.eval("() => bind.undo('lamp')"), {"kind": "nothing"})


def test_several_fields_come_back_together_or_not_at_all(stand: Stand) -> None:
    tab = opened_steps(stand)
    tab.eval("() => bind.model('lamp').change({ level: 50, name: undefined, fresh: 1 })")
    tab.until("the commit", "() => !bind.model('lamp').writes.length && bind.model('lamp').get('level') === 50")
    version = stand.get("lamp")["version"]
    same(tab.eval("() => bind.undo('lamp')")["fields"], ["level", "name", "fresh"])
    there = stand.get("lamp")
    same(there["version"], version + 1, "one commit")
    same((there["values"]["level"], there["values"]["name"]), (10, "desk"))
    expect("fresh" not in there["values"], "a field that had no value has one")
    tab.eval("() => bind.redo('lamp')")
    tab.until("the commit", "() => !bind.model('lamp').writes.length")
    stand.set("lamp.fresh=2")
    tab.shows("lamp", "fresh", 2)
    result = tab.eval("() => bind.undo('lamp')")
    same(result["kind"], "failed")
    expect(result["reason"].startswith("fresh was changed by "), result)
    same(stand.get("lamp")["values"]["level"], 50)


def test_a_script_groups_writes_leaves_some_out_and_sees_the_status(stand: Stand) -> None:
    tab = opened_steps(stand)
    tab.eval("""async () => {
        window.seen = []
        window.steps = await bind.undoing('lamp')
        steps.on((status) => seen.push(status.undoes.join()))
        const lamp = bind.model('lamp')
        steps.group(() => { lamp.set('level', 50); lamp.set('name', 'mine') })
        lamp.change({ on: true }, { undoable: false })
    }""")
    tab.until("the commits", "() => !bind.model('lamp').writes.length && bind.model('lamp').get('on')")
    same(tab.eval("() => steps.status"), {"canUndo": True, "canRedo": False, "undoes": ["level", "name"], "redoes": []})
    same(tab.eval("() => steps.undo()")["fields"], ["level", "name"])
    values = stand.get("lamp")["values"]
    same((values["level"], values["name"], values["on"]), (10, "desk", True))
    same(tab.eval("() => seen.join(';')"), ";level;level,name;")
    # What a write that is not recorded changed is named as this page's own.
    write(tab, "level", 60)
    tab.eval("() => { bind.model('lamp').change({ level: 70 }, { undoable: false }) }")
    tab.until("the commit", "() => !bind.model('lamp').writes.length")
    same(tab.eval("() => steps.undo()")["reason"],
         "level was changed by this page, in a write that is not undoable, since")


def test_the_form_and_the_dashboard_have_undo(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level={"type": "number", "min": 0, "max": 100, "title": "Brightness"})
    stand.set("lamp.level=10")
    form = stand.tab("/form/lamp").live()
    undo = form.page.get_by_role("button", name="Undo")
    form.until("the button", "() => document.querySelector('[data-undo]').title === 'Nothing to undo'")
    form.page.locator("input[type=number]").fill("50")
    form.page.keyboard.press("Enter")
    stand.committed("lamp", "level", 50)
    undo.click()
    stand.committed("lamp", "level", 10)
    board = opened(stand, "lamp")
    expect(not board.page.get_by_role("button", name="Undo").is_visible(), "undo shows without Edit")
    board.page.get_by_label("Edit").first.click()
    board.until("the field", "() => document.querySelector('#rows input[type=number]')?.value === '10'")
    board.page.locator("#rows input[type=number]").fill("70")
    board.page.keyboard.press("Enter")
    stand.committed("lamp", "level", 70)
    board.page.get_by_role("button", name="Undo").click()
    stand.committed("lamp", "level", 10)
    # Without Edit keys do nothing either.
    sent = len(board.proposals("level"))
    board.page.get_by_label("Edit").first.uncheck()
    board.page.locator("h1").first.click()
    board.page.keyboard.press("ControlOrMeta+Shift+z")
    board.page.get_by_label("Edit").first.check()
    same((len(board.proposals("level")), stand.get("lamp")["values"]["level"]), (sent, 10))
    board.page.keyboard.press("ControlOrMeta+Shift+z")
    stand.committed("lamp", "level", 70)
    same(form.complaints + board.complaints, [])
