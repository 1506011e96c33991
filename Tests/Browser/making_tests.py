"""Making and removing models and fields in the dashboard."""

from __future__ import annotations

from dashboard_tests import opened
from stand import Stand, eventually, expect, same

LAMP = {"on": {"type": "boolean", "default": False}, "level": {"type": "number", "min": 0, "max": 9, "default": 3}}


def test_a_field_is_added_as_json_or_as_text(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", **LAMP, note={"type": "string"})
    stand.set("lamp.on=true")
    tab = opened(stand, "lamp")
    expect(tab.page.get_by_label("New field").is_hidden(), "fields are added before Edit is on")
    tab.page.get_by_label("Edit").check()
    for name, words, value in (("speed", "3", 3), ("name", "desk lamp", "desk lamp"), ("tags", '["a"]', ["a"]),
                               ("quoted", '"7"', "7"), ("empty", "", ""), ("note", "12", "12")):
        tab.page.get_by_label("New field").fill(name)
        tab.page.locator("#add-value").fill(words)
        tab.page.get_by_role("button", name="Add").click()
        stand.committed("lamp", name, value)
        tab.until("an empty form", "() => document.getElementById('add-name').value === ''")
    same(tab.eval("() => document.activeElement.id"), "add-name")
    for name, words, problem in (("speed", "4", "lamp has a field speed already"), ("bad", "[1", "JSON"),
                                 ("level", "much", "much is no number"), ("on", "5", "lamp has a field on already")):
        tab.page.get_by_label("New field").fill(name)
        tab.page.locator("#add-value").fill(words)
        tab.page.get_by_role("button", name="Add").click()
        tab.page.locator("#add-problem").get_by_text(problem).wait_for()
    same(stand.get("lamp")["values"]["speed"], 3)
    # What the browser itself refuses.
    tab.page.get_by_label("New field").fill("two words")
    tab.page.get_by_role("button", name="Add").click()
    expect(tab.eval("() => !document.getElementById('add-name').checkValidity()"), "a name with a space is allowed")
    same(tab.complaints, [])


def test_a_field_gets_its_default_back_and_is_deleted(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", **LAMP)
    stand.set("lamp.level=7", "lamp.note=here")
    tab = opened(stand, "lamp")
    expect(tab.page.get_by_role("button", name="Delete note").count() == 0, "fields are deleted before Edit is on")
    tab.page.get_by_label("Edit").check()
    tab.page.get_by_role("button", name="Default of level").click()
    stand.committed("lamp", "level", 3)
    tab.page.get_by_role("button", name="Default of level").wait_for(state="hidden")
    tab.page.get_by_role("button", name="Delete note").click()
    eventually("the field's end", lambda: "note" not in stand.get("lamp")["values"], stand.breathe)
    tab.until("its row's end", "() => !document.querySelector('#rows').textContent.includes('note')")
    # A described field has a row without a value, and then nothing that could be deleted.
    tab.page.get_by_role("button", name="Delete level").click()
    tab.page.get_by_role("button", name="Delete level").wait_for(state="hidden")
    tab.page.get_by_role("button", name="Undo", exact=True).click()
    stand.committed("lamp", "level", 3)
    tab.page.get_by_role("button", name="Delete level").wait_for()
    same(tab.complaints, [])


def test_a_model_is_made_and_chosen(stand: Stand) -> None:
    stand.serve()
    stand.set("shop/kiosk-1.open=true")
    tab = opened(stand, "shop/kiosk-1")
    tab.page.get_by_role("button", name="New", exact=True).click()
    same(tab.page.get_by_label("Model", exact=True).input_value(), "shop/")
    tab.page.get_by_label("Model", exact=True).press_sequentially("kiosk-1")
    tab.page.get_by_label("Its first field").fill("open")
    tab.page.locator("#new-value").fill("false")
    tab.page.get_by_role("button", name="Create").click()
    tab.page.get_by_text("shop/kiosk-1 has a field open already").wait_for()
    same(stand.get("shop/kiosk-1")["values"]["open"], True)
    tab.page.get_by_label("Model", exact=True).fill("shop/kiosk-2")
    tab.page.get_by_role("button", name="Create").click()
    stand.committed("shop/kiosk-2", "open", False)
    tab.until("the new model", "() => document.getElementById('model-title').textContent === 'shop/kiosk-2'")
    expect(tab.page.get_by_role("button", name="Create").is_hidden(), "the dialog is still there")
    tab.page.get_by_role("button", name="New", exact=True).click()
    tab.page.keyboard.press("Escape")
    expect(tab.page.get_by_role("button", name="Create").is_hidden(), "Escape does not close the dialog")
    same(tab.complaints, [])
