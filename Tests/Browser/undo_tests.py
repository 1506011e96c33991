"""Undo reverts what the user typed although other peers have written since, and keeps their changes."""

from __future__ import annotations

from stand import Stand, Tab, same

VALUE = "() => document.getElementById('text').value"


def sheet(stand: Stand, policy: str = "text") -> Tab:
    stand.serve()
    stand.describe("sheet", text={"type": "string", "policy": policy})
    stand.set("sheet.text=one two")
    tab = stand.tab("/pages/sheet.html").live()
    tab.until("the text", "() => document.getElementById('text').value === 'one two'")
    tab.page.focus("#text")
    tab.page.keyboard.press("End")
    return tab


def showing(tab: Tab, stand: Stand, text: str) -> None:
    stand.committed("sheet", "text", text)
    tab.until(repr(text), "(text) => document.getElementById('text').value === text", text)
    tab.state("#text", None)


def test_undo_removes_typed_text_and_keeps_the_text_of_others(stand: Stand) -> None:
    tab = sheet(stand)
    tab.page.keyboard.type(" three")
    showing(tab, stand, "one two three")
    stand.set("sheet.text=zero one two three")
    showing(tab, stand, "zero one two three")
    tab.page.keyboard.press("ControlOrMeta+z")
    showing(tab, stand, "zero one two")
    same(tab.eval("() => document.getElementById('text').selectionStart"), 12, "the caret")
    tab.page.keyboard.press("ControlOrMeta+Shift+z")
    showing(tab, stand, "zero one two three")
    tab.page.keyboard.press("ControlOrMeta+z")
    tab.page.keyboard.press("ControlOrMeta+z")
    showing(tab, stand, "zero one two")
    same(tab.complaints, [])


def test_undo_goes_back_step_by_step_beyond_writes_of_others(stand: Stand) -> None:
    tab = sheet(stand)
    tab.page.keyboard.type("A")
    showing(tab, stand, "one twoA")
    stand.set("sheet.text=zero one twoA")
    showing(tab, stand, "zero one twoA")
    tab.page.keyboard.type("B")
    showing(tab, stand, "zero one twoAB")
    tab.page.keyboard.press("ControlOrMeta+z")
    showing(tab, stand, "zero one twoA")
    tab.page.keyboard.press("ControlOrMeta+z")
    showing(tab, stand, "zero one two")


def test_undo_of_a_last_writer_wins_field_stops_at_a_write_of_another(stand: Stand) -> None:
    tab = sheet(stand, "lastWrite")
    tab.page.keyboard.type(" three")
    showing(tab, stand, "one two three")
    stand.set("sheet.text=another")
    showing(tab, stand, "another")
    tab.page.keyboard.press("ControlOrMeta+z")
    tab.page.keyboard.press("End")
    tab.page.keyboard.type("!")
    showing(tab, stand, "another!")
    tab.page.keyboard.press("ControlOrMeta+z")
    showing(tab, stand, "another")


def test_undo_without_others_is_the_browsers_own(stand: Stand) -> None:
    tab = sheet(stand)
    tab.page.keyboard.type(" three")
    showing(tab, stand, "one two three")
    tab.page.keyboard.press("ControlOrMeta+z")
    tab.until("the browser's undo", f"() => ({VALUE})().length < 13")
    text = tab.eval(VALUE)
    showing(tab, stand, text)
    stand.set(f"sheet.text=zero {text}")
    showing(tab, stand, f"zero {text}")
    tab.page.keyboard.press("ControlOrMeta+Shift+z")
    showing(tab, stand, "zero one two three")
