"""A row an element of a list, and what two people do to one list at a time."""

from __future__ import annotations

import json

from cues import CARET, CUES, IDS, append, committed, cues, focus, names, opened, rows, settled
from stand import Stand, same


def test_rows_are_elements_and_their_controls_write_members(stand: Stand) -> None:
    tab = opened(stand)
    same(tab.eval(IDS), ["3", "7", "9"])
    same(tab.eval("() => document.getElementById('count').textContent"), "3")
    row = tab.page.locator("#rows > li").nth(1)
    row.locator("input").first.fill("Storm")
    committed(stand, "Rain", "Storm", "Dawn")
    row.locator("input[type=number]").fill("55")
    row.locator("input[type=number]").press("Enter")
    settled(tab)
    same(stand.get("show")["values"]["cues"][1], {"id": 7, "name": "Storm", "seconds": 55})
    same(tab.eval("() => document.getElementById('seventh').value"), "Storm")
    tab.page.fill("#seventh", "Gale")
    rows(tab, "Rain", "Gale", "Dawn")
    stand.set("show.cues[id=9].done:=true", "show.title=Show")
    tab.until("the mark", "() => [...document.querySelectorAll('#rows [data-show]')].map((one) => one.hidden).join()"
              " === 'true,true,false'")
    tab.until("a field of the model in a row", "() => document.querySelector('#rows span').textContent === 'Show'")
    same(tab.complaints, [])


def test_focus_caret_and_selection_stay_while_another_inserts_moves_and_edits(stand: Stand) -> None:
    tab = opened(stand)
    other = cues(stand)
    rows(other, "Rain", "Wind", "Dawn")
    focus(tab, "Wind", 1, 3)
    tab.eval("() => { window.kept = [...document.querySelectorAll('#rows > li')]; }")
    for script, wanted in (
            ("list.insert({ id: 1, name: 'Fog' }, null)", ["Fog", "Rain", "Wind", "Dawn"]),
            ("list.move(9, null)", ["Dawn", "Fog", "Rain", "Wind"]),
            ("list.move(7, null)", ["Wind", "Dawn", "Fog", "Rain"]),
            ("list.move(7)", ["Dawn", "Fog", "Rain", "Wind"]),
            ("list.remove(1)", ["Dawn", "Rain", "Wind"]),
            ("show.set('cues', show.get('cues').toReversed())", ["Wind", "Rain", "Dawn"]),
            ("show.set('cues[id=3].name', 'Drizzle')", ["Wind", "Drizzle", "Dawn"])):
        other.eval(f"() => {{ const show = bind.model('show'), list = show.list('cues'); return {script} }}")
        rows(tab, *wanted)
        same(tab.eval(CARET), [True, "Wind", 1, 3], script)
    same(tab.eval("() => kept.map((row) => row.isConnected)"), [True, True, True], "the rows are the same elements")
    other.eval("() => bind.model('show').set('cues[id=7].name', 'The Wind')")
    rows(tab, "The Wind", "Drizzle", "Dawn")
    same(tab.eval(CARET), [True, "The Wind", 5, 7], "the selection stays on its letters")


def test_a_text_area_in_a_row_keeps_its_scroll_position(stand: Stand) -> None:
    note = "\n".join(f"line {number}" for number in range(60))
    tab = opened(stand, [{**cue, "note": note} for cue in CUES])
    tab.eval("() => { document.querySelectorAll('#rows textarea').forEach((one) => { one.scrollTop = 200; }) }")
    tab.eval("() => { document.querySelectorAll('#rows textarea')[1].focus() }")
    before = tab.eval("""() => {
        window.texts = [...document.querySelectorAll('#rows textarea')];
        return texts.map((one) => one.scrollTop);
    }""")
    stand.run("set", "show.cues:=" + json.dumps([{**cue, "note": note} for cue in (CUES[2], CUES[0], CUES[1])]))
    rows(tab, "Dawn", "Rain", "Wind")
    same(tab.eval("() => texts.map((one) => one.isConnected && one.scrollTop)"), before)


def test_a_row_that_is_removed_under_a_typist_stays_until_the_focus_leaves_it(stand: Stand) -> None:
    tab = opened(stand)
    focus(tab, "Wind", 4, 4)
    tab.page.keyboard.type("y")
    settled(tab)
    stand.run("rm", "show.cues[id=7]")
    tab.until("the mark", "() => document.querySelector('[data-removed]')")
    tab.page.keyboard.type("zz")
    same(tab.eval(CARET)[:2], [True, "Windy"], "the text, and who has the focus")
    same(names(stand), ["Rain", "Dawn"])
    same(tab.eval("() => bind.model('show').get('cues').length"), 2)
    append(stand, CUES[1])
    tab.until("its return", "() => !document.querySelector('[data-removed]')")
    rows(tab, "Rain", "Dawn", "Wind")
    same(tab.eval("() => window.control.isConnected"), True, "the same element")
    tab.page.keyboard.type("!")
    settled(tab)
    committed(stand, "Rain", "Dawn", tab.eval("() => window.control.value"))
    stand.run("rm", "show.cues[id=7]")
    tab.until("the mark", "() => document.querySelector('[data-removed]')")
    tab.page.focus("#add")
    rows(tab, "Rain", "Dawn")
    same(tab.complaints, [])


def test_what_was_typed_into_a_removed_element_is_told_at_the_list(stand: Stand) -> None:
    tab = opened(stand)
    tab.link.hold_up()
    focus(tab, "Wind", 4, 4)
    tab.page.keyboard.type("y")
    stand.run("rm", "show.cues[id=7]")
    tab.link.release()
    tab.until("the reason", """() => {
        return /Windy.*was not written: .*deleted it/.test(document.getElementById('why').textContent);
    }""")
    tab.page.focus("#add")
    rows(tab, "Rain", "Dawn")


def test_buttons_insert_move_and_remove(stand: Stand) -> None:
    tab = opened(stand)

    def press(row: int, words: str) -> None:
        tab.page.locator("#rows > li").nth(row).get_by_role("button", name=words, exact=True).click()

    press(2, "Up")
    rows(tab, "Rain", "Dawn", "Wind")
    same(tab.eval("() => [document.activeElement.textContent, document.activeElement.closest('li').dataset.row]"),
         ["Up", "9"], "the focus stays on the button")
    press(0, "Down")
    rows(tab, "Dawn", "Rain", "Wind")
    press(2, "First")
    rows(tab, "Wind", "Dawn", "Rain")
    press(0, "Last")
    rows(tab, "Dawn", "Rain", "Wind")
    press(0, "Up")
    press(2, "Down")
    press(1, "Remove")
    rows(tab, "Dawn", "Wind")
    same(tab.eval("() => [document.activeElement.textContent, document.activeElement.closest('li').dataset.row]"),
         ["Remove", "7"], "the focus goes on to the next row")
    press(0, "Insert below")
    rows(tab, "Dawn", "Below", "Wind")
    tab.page.click("#add")
    rows(tab, "Dawn", "Below", "Wind", "New")
    tab.until("the focus in the new row", "() => document.activeElement.value === 'New'")
    tab.page.fill("#form [name=name]", "Hail")
    tab.page.click("#send")
    rows(tab, "Dawn", "Below", "Wind", "New", "Hail")
    same(tab.eval("() => document.querySelector('#form [name=name]').value"), "")
    settled(tab)
    found = stand.get("show")["values"]["cues"]
    same({key: value for key, value in found[4].items() if key != "id"}, {"name": "Hail", "seconds": 1, "done": False})
    same([type(cue["id"]) for cue in found], [int] * 5)
    same(tab.complaints, [])


def test_offline_edits_of_two_pages_meet(stand: Stand) -> None:
    tab = opened(stand)
    other = cues(stand)
    rows(other, "Rain", "Wind", "Dawn")
    for one in (tab, other):
        one.link.cut()
        one.lights("offline")
    focus(tab, "Wind", 4, 4)
    tab.page.keyboard.type("y")
    tab.eval("""() => {
        const list = bind.model('show').list('cues');
        list.insert({ id: 1, name: 'Fog' }, null);
        list.move(9, 1);
    }""")
    other.page.click("#add")
    other.page.locator("#rows > li").first.get_by_role("button", name="Remove").click()
    rows(tab, "Fog", "Dawn", "Rain", "Windy")
    rows(other, "Wind", "Dawn", "New")
    same(tab.eval(CARET), [True, "Windy", 5, 5])
    for one in (tab, other):
        one.link.heal()
        one.eval("() => bind.link().retry()")
        one.lights("live")
        settled(one)
    committed(stand, "Fog", "Dawn", "New", "Windy")
    for one in (tab, other):
        rows(one, "Fog", "Dawn", "New", "Windy")
    same(tab.eval(CARET), [True, "Windy", 5, 5])


TYPE = """([text, every]) => new Promise((done) => {
    let at = 0;
    const timer = setInterval(() => {
        document.execCommand('insertText', false, text[at++]);
        if (at === text.length) { clearInterval(timer); done(); }
    }, every);
})"""


def test_a_person_types_30_ms_a_key_while_another_inserts_moves_and_types_elsewhere(stand: Stand) -> None:
    tab = opened(stand)
    other = cues(stand)
    rows(other, "Rain", "Wind", "Dawn")
    text = " in the willows, and all that comes after it"
    focus(tab, "Wind", 4, 4)
    focus(other, "Rain", 4, 4)
    tab.eval("(text) => { window.typing = 0; (" + TYPE + ")([text, 30]).then(() => { window.typing = 1; }) }", text)
    other.eval("(text) => { window.typing = 0; (" + TYPE + ")([text, 30]).then(() => { window.typing = 1; }) }", text)
    other.eval("""async () => {
        const list = bind.model('show').list('cues');
        for (let id = 20; id < 30; id++) {
            await list.insert({ id, name: `cue ${id}` }, null);
            await list.move(7, id % 3 ? id : null);
            await list.move(9, null);
        }
    }""")
    for one in (tab, other):
        one.until("all typed", "() => window.typing")
        settled(one)
    for one, wanted in ((tab, "Wind" + text), (other, "Rain" + text)):
        same(one.eval(CARET), [True, wanted, len(wanted), len(wanted)])
    same(sorted(names(stand)), sorted(["Rain" + text, "Wind" + text, "Dawn"] + [f"cue {id}" for id in range(20, 30)]))
    same(tab.get("show", "cues"), other.get("show", "cues"))
    same(tab.eval(IDS), other.eval(IDS))
    stand.log(f"{len(text)} keys in {len(tab.proposals('cues@7'))} and {len(other.proposals('cues@3'))} writes")
    same(tab.complaints + other.complaints, [])


def test_the_whole_list_in_a_text_area_keeps_what_came_in_meanwhile(stand: Stand) -> None:
    tab = opened(stand, CUES[:2])
    same(tab.eval("() => document.getElementById('all').value.split('\\n').length"), 2, "lines")
    tab.page.focus("#all")
    tab.page.keyboard.press("ControlOrMeta+a")
    tab.page.keyboard.type('[{"id":7,"name":"Storm","seconds":5}]')
    append(stand, CUES[2])
    tab.until("the other's", "() => bind.model('show').get('cues').length === 3")
    tab.page.focus("#add")
    committed(stand, "Storm", "Dawn")


def test_a_write_that_waited_long_yields_to_what_another_wrote_to_the_element(stand: Stand) -> None:
    tab = opened(stand)
    tab.link.cut()
    tab.lights("offline")
    focus(tab, "Wind", 4, 4)
    tab.page.keyboard.type("y")
    # It was written 20 s ago.
    tab.eval("() => bind.model('show').writes.forEach((write) => { write.at -= 20_000; })")
    stand.set("show.cues[id=7].seconds=50")
    tab.link.heal()
    tab.eval("() => bind.link().retry()")
    tab.until("the reason", "() => /Windy.*was not written: shell.* set it to/"
              ".test(document.querySelectorAll('#rows em')[1].textContent)")
    same(tab.eval(CARET)[:2], [True, "Windy"], "the text stays")
    same(names(stand), ["Rain", "Wind", "Dawn"])
    tab.page.get_by_role("button", name="Write mine").click()
    committed(stand, "Rain", "Windy", "Dawn")
    same(stand.get("show")["values"]["cues"][1]["seconds"], 50, "the other's member")


def test_what_may_not_be_written_has_no_buttons(stand: Stand) -> None:
    tab = opened(stand)
    off = "() => [...document.querySelectorAll('#rows button, #add, #send, #rows input')].map((one) => one.disabled)"
    same(set(tab.eval(off)), {False})
    tab.eval("""() => {
        const show = bind.model('show');
        show.rights = { write: ['title'], delete: [] };
        show.touch('@description');
    }""")
    tab.until("all off", f"() => ({off})().every(Boolean)")
    same(tab.eval("() => document.getElementById('add').title"), "view only: this page may not change it")
    append(stand, {"id": 11, "name": "Snow"})
    rows(tab, "Rain", "Wind", "Dawn", "Snow")
    tab.until("all off", f"() => ({off})().every(Boolean)")
    tab.eval("() => { bind.model('show').rights = undefined; bind.model('show').touch('@description'); }")
    tab.until("all on", f"() => !({off})().some(Boolean)")


def test_edits_of_rows_survive_a_reload(stand: Stand) -> None:
    tab = opened(stand)
    tab.until("the store", "() => bind.isKept")
    tab.eval("() => bind.link().cut()")
    focus(tab, "Wind", 4, 4)
    tab.page.keyboard.type("y")
    seconds = tab.page.locator("#rows > li").nth(2).locator("input[type=number]")
    seconds.fill("60")
    tab.eval("() => { bind.model('show').list('cues').insert({ id: 1, name: 'Fog' }, null); }")
    rows(tab, "Fog", "Rain", "Windy", "Dawn")
    tab.until("what is kept", """async () => {
        const db = await new Promise((done) => {
            const opening = indexedDB.open('bindbus', 1);
            opening.onsuccess = () => done(opening.result);
        });
        const all = db.transaction('unsent').objectStore('unsent').getAll();
        const found = await new Promise((done) => { all.onsuccess = () => done(all.result) });
        db.close();
        return /Windy.*Fog.*"60"/s.test(found.map((one) => one.content).join());
    }""")
    # The rows are others when the page comes back: the draft goes to its own.
    stand.set("show.cues:=" + json.dumps([CUES[2], CUES[1], CUES[0]]))
    tab.page.reload()
    tab.live()
    committed(stand, "Dawn", "Windy", "Fog", "Rain")
    rows(tab, "Dawn", "Windy", "Fog", "Rain")
    tab.until("the draft", "() => document.querySelectorAll('#rows input[type=number]')[0].value === '60'")
    tab.until("the draft is refused in its row", """() =>
        [...document.querySelectorAll('#rows [data-state=refused]')]
            .map((one) => one.closest('li').dataset.row).join() === '9'
    """)
