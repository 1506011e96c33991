"""Other names of fields: a page binds, reads and writes what the description stores under an earlier name."""

from __future__ import annotations

import json

from stand import Stand, Tab, same

SETTLED = "(model) => !bind.model(model).writes.length"


def describe(stand: Stand, model: str, alias: dict[str, str], **fields: object) -> None:
    stand.set(f"{model}.@description:=" + json.dumps({"fields": fields, "alias": alias}))


def written(tab: Tab) -> list[str]:
    """The fields of all proposals, in their order."""
    return [row[1] for one in tab.proposals() for row in one["operations"]]


def shown(tab: Tab, selector: str, words: str) -> None:
    tab.until(f"{selector}: {words}", """([selector, words]) => {
        const element = document.querySelector(selector)
        return (element.value ?? element.textContent) === words
    }""", [selector, words])


def test_a_control_of_another_name_is_bound_to_the_stored_field(stand: Stand) -> None:
    stand.serve()
    describe(stand, "lamp", {"level": "brightness", "name": "label", "count": "tally"},
             brightness={"type": "number", "min": 0, "max": 50}, label={"type": "string", "policy": "text"},
             tally={"type": "integer", "max": 9, "policy": "add"})
    stand.set("lamp.brightness=20", "lamp.label=desk lamp", "lamp.tally=1")
    tab = stand.tab().live()
    shown(tab, "#level", "20")
    shown(tab, "#shown", "20")
    shown(tab, "#name", "desk lamp")
    same(tab.eval("() => document.getElementById('count').max"), "9", "the limit of the description")
    tab.page.focus("#level")
    tab.page.keyboard.press("ArrowRight")
    stand.committed("lamp", "brightness", 21)
    # The words of both stay: it is the policy of the stored field.
    tab.page.click("#name")
    tab.page.keyboard.press("End")
    tab.page.keyboard.type("s")
    stand.set("lamp.label=small desk lamp")
    stand.committed("lamp", "label", "small desk lamp")
    tab.until("the writes", SETTLED, "lamp")
    tab.page.fill("#count", "4")
    tab.page.press("#count", "Enter")
    stand.committed("lamp", "tally", 4)
    stand.set("lamp.level=30")
    shown(tab, "#level", "30")
    same(set(written(tab)), {"brightness", "label", "tally"})
    same([one["operations"] for one in tab.proposals("tally")], [[["add", "tally", 3]]])
    same(tab.complaints, [])


def test_scripts_use_both_names_of_a_field(stand: Stand) -> None:
    stand.serve()
    describe(stand, "lamp", {"level": "brightness"}, brightness={"type": "number", "default": 7})
    stand.set("lamp.on=true")
    tab = stand.tab().live()
    tab.eval("""() => {
        window.told = []
        window.lamp = bind.model('lamp')
        lamp.on('level', (value, { field }) => told.push(`${field} ${value}`))
        lamp.on('brightness', (value) => told.push(value))
    }""")
    same(tab.eval("() => [lamp.get('level'), lamp.describe('level').type]"), [7, "number"])
    same(tab.eval("() => lamp.names()"), ["@description", "brightness", "on"])
    same(tab.eval("() => lamp.set('level', 10)")["kind"], "committed")
    same(tab.eval("() => lamp.change({ level: 11, on: false })")["kind"], "committed")
    # A commit may arrive after the answer to its proposal.
    tab.until("the change", "() => lamp.info('level').version === 4")
    conditional = "() => lamp.propose([['add', 'level', 1]], [['level', lamp.epoch, lamp.info('level').version]])"
    same(tab.eval(conditional)["kind"], "committed")
    same(tab.eval("() => [lamp.get('level'), lamp.get('brightness'), lamp.info('level').own]"), [12, 12, True])
    same(tab.eval("() => lamp.set('level', 12)"), {"kind": "unchanged"})
    same(tab.eval("() => told"), ["brightness 7", 7, "brightness 10", 10, "brightness 11", 11, "brightness 12", 12])
    same(set(written(tab)), {"brightness", "on"})
    same(tab.eval("() => bind.undo('lamp')"), {"kind": "nothing"})
    tab.eval("() => lamp.set('level', 13)")
    same(tab.eval("() => bind.undo('lamp')"), {"kind": "done", "fields": ["brightness"], "inexact": []})
    stand.committed("lamp", "brightness", 12)


def test_what_was_written_before_the_description_came_goes_to_the_stored_field(stand: Stand) -> None:
    stand.serve()
    describe(stand, "late", {"level": "brightness"}, brightness={"type": "number"})
    stand.set("late.brightness=1")
    tab = stand.tab().live()
    tab.link.hold_down()
    tab.eval("() => { bind.model('late').change({ level: 2, other: true }) }")
    same(tab.get("late", "level"), 2, "what shows meanwhile")
    tab.link.release()
    there = stand.committed("late", "brightness", 2)
    same(there["values"], {"brightness": 2, "other": True})
    same(written(tab), ["brightness", "other"])


def test_a_name_that_is_described_later_is_shown_at_once(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.brightness=20", "lamp.on=true")
    tab = stand.tab().live()
    tab.shows("lamp", "brightness", 20)
    tab.eval("() => { window.told = []; bind.model('lamp').on('level', (value) => told.push(value ?? null)) }")
    shown(tab, "#shown", "")
    describe(stand, "lamp", {"level": "brightness"}, brightness={"type": "number"})
    shown(tab, "#shown", "20")
    same(tab.eval("() => told"), [None, 20])
    # Without the description the name is free again.
    tab.eval("() => { bind.model('lamp').change({ '@description': undefined }) }")
    shown(tab, "#shown", "")
