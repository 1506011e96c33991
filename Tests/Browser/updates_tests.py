"""Scripts that wait for a model's values, and that write what they read: model.ready and model.update."""

from __future__ import annotations

import json

from guest_tests import enter, serve
from stand import Stand, eventually, expect, same

# Returns what a promise has become by now, or null.
WATCH = "() => { window.seen = null; %s.then((one) => { seen = one }, (error) => { seen = error.message }) }"


def test_ready_waits_until_the_values_are_those_of_the_hub(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=1", "lamp.on=true", "desk.level=2")
    tab = stand.tab().live()
    same(tab.eval("async () => (await bind.model('desk').ready).get('level')"), 2)
    same(tab.eval("async () => (await bind.model('desk').ready) === bind.model('desk')"), True)
    tab.link.cut()
    tab.lights("offline")
    tab.eval(WATCH % "bind.model('desk').ready.then((desk) => desk.get('level'))")
    stand.set("desk.level=3")
    tab.page.wait_for_timeout(200)
    same(tab.eval("() => seen"), None, "without a link")
    tab.link.heal()
    tab.eval("() => bind.link().retry()")
    tab.until("the newer value", "() => seen === 3")
    same(tab.eval("() => bind.model('none').ready.then((none) => none.get('level') ?? 'no value')"), "no value")
    tab.eval("() => { window.desk = bind.model('desk'); desk.leave() }")
    same(tab.eval("async () => { const desk = window.desk; await desk.ready; "
                  "return desk.state }"), "current")


def test_ready_rejects_for_a_model_that_may_not_be_read(stand: Stand) -> None:
    serve(stand)
    guest = enter(stand, "touch")
    reason = guest.eval("() => bind.model('secret/plan').ready.then(() => 'read', (error) => error.message)")
    expect(reason.startswith("secret/plan: ") and "lacks the right read" in reason, reason)
    outcome = guest.eval("() => bind.model('secret/plan').update('code', () => 1)")
    same([outcome["kind"], outcome["code"], outcome["attempts"]], ["refused", "notPermitted", 1])
    outcome = guest.eval("() => bind.model('public/lamp').update('note', (note) => note + '!')")
    same([outcome["kind"], outcome["code"]], ["refused", "notPermitted"])
    outcome = guest.eval("() => bind.model('public/lamp').update('level', (level) => level + 1)")
    same([outcome["kind"], outcome["value"]], ["committed", 11])


def test_updates_of_two_pages_lose_nothing(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=0")
    tabs = [stand.tab().live() for _ in range(2)]
    for tab in tabs:
        tab.eval("""() => {
            const add = () => bind.model('lamp').update('count', (count) => count + 1);
            window.all = Promise.all(Array.from({ length: 20 }, add)).then((all) => { window.ended = all });
        }""")
    for tab in tabs:
        tab.until("all outcomes", "() => window.ended")
        same(tab.eval("() => [...new Set(ended.map(({ kind }) => kind))]"), ["committed"])
        same(tab.eval("() => bind.model('lamp').info('count').reason ?? null"), None)
    stand.committed("lamp", "count", 40)
    numbers = sorted(number for tab in tabs for number in tab.eval("() => ended.map(({ value }) => value)"))
    same(numbers, list(range(1, 41)), "each value was written once")


def test_an_update_that_others_precede_is_made_again_of_their_value(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=1", "lamp.note=desk")
    tab = stand.tab().live()
    tab.eval("""() => {
        window.calls = [];
        bind.model('lamp').update('count', async (count) => {
            calls.push(count);
            await new Promise((go) => { window.go = go });
            return count * 10;
        }).then((outcome) => { window.outcome = outcome });
    }""")
    tab.until("the first call", "() => calls.length === 1")
    stand.set("lamp.count=2")
    tab.shows("lamp", "count", 2)
    tab.eval("() => go()")
    tab.until("the second call", "() => calls.length === 2")
    same(tab.eval("() => bind.model('lamp').info('count').reason ?? null"), None, "the conflict is not shown")
    tab.eval("() => go()")
    outcome = tab.until("the outcome", "() => window.outcome")
    same([outcome["kind"], outcome["value"], outcome["attempts"]], ["committed", 20, 2])
    same(tab.eval("() => calls"), [1, 2])
    stand.committed("lamp", "count", 20)


def test_an_update_ends_after_a_bounded_number_of_conflicts(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=0")
    tab = stand.tab("/pages/two.html").live()
    outcome = tab.eval("""async () => {
        const other = bind.link('other').model('lamp');
        await other.ready;
        let number = 100;
        return bind.model('lamp').update('count', async () => {
            await other.set('count', ++number);
            return -1;
        });
    }""")
    same([outcome["kind"], outcome["attempts"]], ["conflict", 20])
    same(stand.get("lamp")["values"]["count"], 120)
    expect("-1 was not written" in tab.eval("() => bind.model('lamp').info('count').reason"), "the last one is shown")


def test_an_update_of_elements_members_and_lists(stand: Stand) -> None:
    stand.serve()
    stand.describe("show", cues={"policy": "list"})
    for cue in ({"id": 3, "name": "Rain", "seconds": 4}, {"id": 7, "name": "Wind", "seconds": 1}):
        stand.set("show.cues+=" + json.dumps(cue))
    stand.set('show.tags:=["a"]')
    tab = stand.tab().live()
    kinds = tab.eval("""async () => {
        const show = bind.model('show');
        return Promise.all([
            show.update('cues[id=7].seconds', (seconds) => seconds + 1),
            show.update('cues[id=7].seconds', (seconds) => seconds + 1),
            show.update('cues[id=3]', (cue) => { cue.name = 'Storm'; return cue }),
            show.update('tags', (tags) => [...tags, 'b']),
            show.update('fresh', (value) => value ?? 'first'),
        ]).then((all) => all.map(({ kind }) => kind));
    }""")
    same(kinds, ["committed"] * 5)
    wanted = [{"id": 3, "name": "Storm", "seconds": 4}, {"id": 7, "name": "Wind", "seconds": 3}]
    same(stand.get("show")["values"]["cues"], wanted)
    same([stand.get("show")["values"][name] for name in ("tags", "fresh")], [["a", "b"], "first"])
    same(tab.eval("() => bind.model('show').update('cues', (cues) => cues.reverse()).then(({ kind }) => kind)"),
         "committed")
    eventually("the order", lambda: stand.get("show")["values"]["cues"] == wanted[::-1], stand.breathe)
    outcome = tab.eval("() => bind.model('show').update('cues[id=9].name', () => 'Fog')")
    same([outcome["kind"], outcome["text"]],
         ["refused", "cues: there is no element 9; it was removed, or never inserted"])


def test_what_an_update_cannot_write_changes_nothing(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level={"type": "number", "max": 1})
    stand.set('lamp.place:={"room":"hall"}', "lamp.level=1")
    tab = stand.tab().live()
    version = stand.get("lamp")["version"]
    same(tab.eval("() => bind.model('lamp').update('level', () => { throw Error('no') })"
                  ".catch((error) => error.message)"), "no")
    same(tab.eval("() => bind.model('lamp').update('level', (level) => level).then(({ kind }) => kind)"), "unchanged")
    same(tab.eval("() => bind.model('lamp').update('place', (place) => { place.room = 'x'; throw Error('no') })"
                  ".catch(() => bind.model('lamp').get('place').room)"), "hall", "the page's own value")
    outcome = tab.eval("() => bind.model('lamp').update('level', () => NaN)")
    same([outcome["kind"], outcome["code"]], ["refused", "malformedValue"])
    outcome = tab.eval("() => bind.model('lamp').update('level', (level) => level + 1)")
    same([outcome["kind"], outcome["code"]], ["refused", "doesNotFit"])
    outcome = tab.eval("() => bind.model('lamp').update('bad name', () => 1)")
    same([outcome["kind"], outcome["code"]], ["refused", "badName"])
    same(stand.get("lamp")["version"], version)
    same(tab.eval("() => bind.model('lamp').update('place', () => undefined).then(({ kind }) => kind)"), "committed")
    same("place" in stand.get("lamp")["values"], False)
