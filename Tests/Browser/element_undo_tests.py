"""Undo of what a page did to the elements of a list, as programs undo it."""

from __future__ import annotations

import random
from typing import Any

from cues import CUES, committed, described, names, rows
from stand import Stand, Tab, same
from steps_tests import CUT, HEAL, ready, said, title

DO = "(code) => (0, eval)(code)(bind.model('show'), bind.model('show').list('cues'))"
SETTLED = "() => !bind.model('show').writes.length"


def opened_edits(stand: Stand, elements: list[Any] | None = None) -> Tab:
    described(stand, elements)
    tab = ready(stand.tab("/pages/edits.html"))
    rows(tab, *[element["name"] for element in (CUES if elements is None else elements)])
    return tab


def do(tab: Tab, code: str, kind: str = "committed") -> None:
    """Runs a function of the model and of its list, whose commit has come then."""
    same(tab.eval(DO, code)["kind"], kind, code)
    tab.until("the commit", SETTLED)


def click(tab: Tab, row: str, button: str) -> None:
    tab.page.click(f"#rows > li[data-row='{row}'] [{button}]")
    tab.until("the commit", SETTLED)


def back(tab: Tab, stand: Stand, *wanted: str, which: str = "undo") -> None:
    tab.page.click(f"#{which}")
    committed(stand, *wanted)
    rows(tab, *wanted)
    tab.until("the commit", SETTLED)


def test_insertions_moves_changes_and_removals_are_taken_back_and_brought_again(stand: Stand) -> None:
    tab = opened_edits(stand)
    tab.page.click("#add")
    tab.until("the commit", SETTLED)
    click(tab, "9", "data-move=up")
    tab.page.locator("#rows > li[data-row='7'] input").fill("Storm")
    tab.until("the commit", SETTLED)
    click(tab, "3", "data-remove")
    states = [("Rain", "Wind", "Dawn"), ("Rain", "Wind", "Dawn", "Fog"), ("Rain", "Dawn", "Wind", "Fog"),
              ("Rain", "Dawn", "Storm", "Fog"), ("Dawn", "Storm", "Fog")]
    committed(stand, *states[-1])
    title(tab, "undo", "Undo: cues[id=3]")
    for wanted in states[-2::-1]:
        back(tab, stand, *wanted)
    same(stand.get("show")["values"]["cues"], CUES)
    title(tab, "undo", "Nothing to undo", True)
    title(tab, "redo", "Redo: cues[id=1]")
    for wanted in states[1:]:
        back(tab, stand, *wanted, which="redo")
    title(tab, "redo", "Nothing to redo", True)
    said(tab, "")
    same(tab.complaints, [])


def test_an_element_returns_between_what_has_come_meanwhile_with_all_it_had(stand: Stand) -> None:
    tab = opened_edits(stand)
    click(tab, "7", "data-remove")
    stand.set('show.cues+={"id":1,"name":"Fog"}')
    rows(tab, "Rain", "Dawn", "Fog")
    back(tab, stand, "Rain", "Wind", "Dawn", "Fog")
    same(stand.get("show")["values"]["cues"][1], CUES[1])
    # What it stood behind is gone: it returns before what it preceded.
    click(tab, "7", "data-remove")
    stand.run("rm", "show.cues[id=3]")
    rows(tab, "Dawn", "Fog")
    back(tab, stand, "Wind", "Dawn", "Fog")
    same(tab.complaints, [])


def test_what_others_changed_since_is_named_and_stays_also_in_a_list(stand: Stand) -> None:
    tab = opened_edits(stand)
    tab.page.click("#add")
    tab.until("the commit", SETTLED)
    do(tab, "(show) => show.set('cues[id=7].name', 'Storm')")
    stand.set("show.cues[id=7].name=Gale")
    rows(tab, "Rain", "Gale", "Dawn", "Fog")
    tab.page.click("#undo")
    said(tab, "cues[id=7] was changed by shell since")
    same(names(stand), ["Rain", "Gale", "Dawn", "Fog"])
    # That step is gone: the one before it is next.
    back(tab, stand, "Rain", "Gale", "Dawn")
    stand.run("rm", "show.cues[id=7]")
    rows(tab, "Rain", "Dawn")
    do(tab, "(show) => show.set('cues[id=3].name', 'Hail')")
    stand.run("rm", "show.cues[id=3]")
    rows(tab, "Dawn")
    tab.page.click("#undo")
    said(tab, "cues[id=3] was deleted by shell since")
    same(tab.complaints, [])


def test_a_list_that_was_assigned_emptied_or_deleted_returns_in_one_step(stand: Stand) -> None:
    tab = opened_edits(stand)
    for code in ("(show) => show.set('cues', show.get('cues').toReversed())", "(show) => show.set('cues', [])",
                 "(show) => show.set('cues', undefined)", "(show) => show.propose([['clear']])"):
        do(tab, code)
        there = stand.get("show").get("values", {}).get("cues", [])
        tab.page.click("#undo")
        committed(stand, "Rain", "Wind", "Dawn")
        rows(tab, "Rain", "Wind", "Dawn")
        same(stand.get("show")["values"]["cues"], CUES, code)
        tab.page.click("#redo")
        rows(tab, *[cue["name"] for cue in there])
        back(tab, stand, "Rain", "Wind", "Dawn")
    same(tab.complaints, [])


def test_what_was_never_sent_to_a_list_is_withdrawn_and_brought_again_offline(stand: Stand) -> None:
    tab = opened_edits(stand)
    tab.eval(CUT)
    tab.page.click("#add")
    tab.page.click("#rows > li[data-row='3'] [data-move=last]")
    rows(tab, "Wind", "Dawn", "Fog", "Rain")
    for which, wanted in (("undo", ("Rain", "Wind", "Dawn", "Fog")), ("undo", ("Rain", "Wind", "Dawn")),
                          ("redo", ("Rain", "Wind", "Dawn", "Fog")), ("redo", ("Wind", "Dawn", "Fog", "Rain"))):
        tab.page.click(f"#{which}")
        rows(tab, *wanted)
    tab.eval(HEAL)
    committed(stand, "Wind", "Dawn", "Fog", "Rain")
    tab.until("the commit", SETTLED)
    back(tab, stand, "Rain", "Wind", "Dawn", "Fog")
    same(tab.complaints, [])


def test_a_group_of_edits_of_elements_and_fields_is_one_step(stand: Stand) -> None:
    tab = opened_edits(stand)
    tab.eval("""async () => {
        const show = bind.model('show'), cues = show.list('cues'), steps = await bind.undoing('show');
        steps.group(() => {
            show.set('title', 'Night');
            cues.move(3);
            show.set('cues[id=3].name', 'Hail');
            cues.remove(7);
        });
    }""")
    committed(stand, "Dawn", "Hail")
    tab.until("the commit", SETTLED)
    back(tab, stand, "Rain", "Wind", "Dawn")
    same("title" in stand.get("show")["values"], False)
    back(tab, stand, "Dawn", "Hail", which="redo")
    same(stand.get("show")["values"]["title"], "Night")


def test_fifty_edits_are_taken_back_and_brought_again_one_by_one(stand: Stand) -> None:
    tab = opened_edits(stand)
    chance, ids, states = random.Random(7), [3, 7, 9], [names(stand)]
    for number in range(50):
        kind = chance.randrange(4) if len(ids) > 1 else 0
        after = chance.choice([None, *ids])
        one = chance.choice(ids)
        if kind == 0:
            ids.append(100 + number)
            code = f"(show, cues) => cues.insert({{ id: {ids[-1]}, name: 'n{number}' }}, {after or 'null'})"
        elif kind == 1:
            code = f"(show, cues) => cues.move({one}, {after if after and after != one else 'null'})"
        elif kind == 2:
            code = f"(show) => show.set('cues[id={one}].name', 'c{number}')"
        else:
            ids.remove(one)
            code = f"(show, cues) => cues.remove({one})"
        outcome = tab.eval(DO, code)["kind"]
        tab.until("the commit", SETTLED)
        # A move to where it stands is no step.
        if outcome == "committed" and names(stand) != states[-1]:
            states.append(names(stand))
        # Two changes of the same element within a second would be one step.
        tab.page.wait_for_function("(then) => performance.now() > then + 1010",
                                   arg=tab.eval("() => performance.now()")) if kind == 2 else None
    for which, wanted in (("undo", states[-2::-1]), ("redo", states[1:]), ("undo", states[-2::-1])):
        for state in wanted:
            same(tab.eval("(way) => bind[way]('show')", which)["kind"], "done", which)
            tab.until("the commit", SETTLED)
            same(names(stand), state, which)
    same(tab.eval("() => bind.undo('show')"), {"kind": "nothing"})
    same(tab.complaints, [])
