"""Lists in pages: one array for scripts, on the dashboard and in forms; and plain arrays beside them."""

from __future__ import annotations

import json
from typing import Any, Callable

from cues import CARET, CUES, IDS, committed, cues, described, focus, opened, rows, settled
from stand import ROOT, Stand, expect, same

VECTORS = sorted((ROOT / "docs/reference/vectors/list").glob("*.json"))


def test_a_list_is_one_array_in_the_order_of_the_hub(stand: Stand) -> None:
    tab = opened(stand)
    same(tab.get("show", "cues"), CUES)
    same(tab.eval("() => bind.model('show').names()"), ["@description", "cues"])
    same(tab.eval("() => bind.model('show').get('cues[id=7].name')"), "Wind")
    same(tab.eval("() => bind.model('show').info('cues').writer.startsWith('shell')"), True)
    tab.eval("""() => {
        window.told = [];
        const show = bind.model('show');
        show.on('cues', (value) => told.push(['cues', value.map((cue) => cue.name).join()]));
        show.on('cues[id=7].name', (value) => told.push(['name', value]));
        show.on(null, (values, { changed }) => changed.length && told.push(['any', changed.join()]));
    }""")
    stand.set("show.cues[id=7].seconds=50")
    tab.until("the change", "() => bind.model('show').get('cues[id=7].seconds') === 50")
    stand.set("show.cues[id=7].name=Storm")
    tab.until("the change", "() => told.some(([what, value]) => what === 'name' && value === 'Storm')")
    same(tab.eval("() => told"), [
        ["cues", "Rain,Wind,Dawn"], ["name", "Wind"], ["any", "@description,cues"],
        ["cues", "Rain,Wind,Dawn"], ["any", "cues"],
        ["cues", "Rain,Storm,Dawn"], ["name", "Storm"], ["any", "cues"]])
    same(tab.complaints, [])


def test_own_writes_show_at_once_and_their_echo_changes_nothing(stand: Stand) -> None:
    tab = opened(stand)
    tab.eval("""() => {
        const show = bind.model('show');
        window.count = 0;
        show.on('cues', () => { window.count += 1; });
        show.list('cues').insert({ id: 1, name: 'Fog' }, null);
        show.list('cues').move(9, 1);
        show.list('cues').remove(3);
        show.set('cues[id=7].name', 'Storm');
        window.atOnce = show.get('cues').map((cue) => cue.name);
    }""")
    same(tab.eval("() => atOnce"), ["Fog", "Dawn", "Storm"])
    settled(tab)
    committed(stand, "Fog", "Dawn", "Storm")
    same(tab.eval("() => count"), 2, "how often it was told")
    same([op[:2] for one in tab.proposals() for op in one["operations"]],
         [["insert", "cues@1"], ["move", "cues@9"], ["delete", "cues@3"], ["replace", "cues@7"]])


def test_an_assigned_array_is_one_proposal_of_the_least_steps(stand: Stand) -> None:
    tab = opened(stand)
    outcome = tab.eval("""() => {
        const show = bind.model('show'), [rain, wind, dawn] = show.get('cues');
        return show.set('cues', [dawn, { id: 12, name: 'Hail' }, { ...rain, seconds: 40 }]);
    }""")
    same(outcome["kind"], "committed")
    committed(stand, "Dawn", "Hail", "Rain")
    same(tab.proposals()[0]["operations"], [
        ["delete", "cues@7"], ["move", "cues@9", {"before": "3"}],
        ["insert", "cues@12", {"after": "9", "before": "3", "is": {"id": 12, "name": "Hail"}}],
        ["replace", "cues@3", {"id": 3, "name": "Rain", "seconds": 40}]])
    same(tab.eval("() => { const show = bind.model('show'); return show.set('cues', [...show.get('cues')]) }"),
         {"kind": "unchanged"})


def test_an_array_that_is_no_list_is_refused_and_says_why(stand: Stand) -> None:
    tab = opened(stand)
    for script, words in (
            ("show.set('cues', [{ id: 1 }, { id: 1 }])", "cues: two elements have the id 1"),
            ("show.set('cues', [{ name: 'Rain' }])", "cues: the element at 0 has no id"),
            ("show.set('cues', [{ id: 'a b' }])", "cues: no element can have the id 'a b'"),
            ("show.set('cues', 5)", "cues: a list takes an array"),
            ("show.set('cues', Array.from({ length: 1001 }, (_, id) => ({ id: id + 100 })))",
             "cues: the new array differs from the list by 1004 elements"),
            ("show.set('cues[id=8].name', 'x')", "cues: there is no element 8"),
            ("show.change({ title: 'x', 'cues[id=7]': { id: 8 } })", "cues: element 7 cannot become one with the id 8"),
            ("show.list('cues').insert({ name: 'x' })", "cues: the element has no id"),
            ("show.list('cues').move(8, 3)", "cues: there is no element 8")):
        outcome = tab.eval(f"() => {{ const show = bind.model('show'); return {script} }}")
        same(outcome["kind"], "refused", script)
        expect(outcome["text"].startswith(words), outcome["text"])
    same(tab.eval("() => bind.model('show').info('cues').state"), "refused")
    same(tab.proposals(), [])
    same(tab.get("show", "cues"), CUES)
    outcome = tab.eval("() => bind.model('show').list('cues').insert({ id: 7, name: 'Other' })")
    same([outcome["kind"], outcome["value"]["name"]], ["conflict", "Wind"])
    tab.until("the reason", "() => document.getElementById('why').textContent.includes('was not written')")


def overlay(path: Any) -> Callable[[Stand], None]:
    vector = json.loads(path.read_text(encoding="utf-8"))

    def run(stand: Stand) -> None:
        tab = described(stand, []) or cues(stand)
        tab.eval("() => bind.link().cut()")
        shown = tab.eval("""async ({ list, operations }) => {
            const { Lists } = await import('/lists.js'), fields = new Map(), { link } = bind.model('show');
            list.forEach(([id, is], index) => fields.set(`cues@${id}`, { value: { at: index + 1, is } }));
            const model = { id: 'show', fields, link, observers: new Set(), get: () => undefined, writes: [{
                operations: operations.map(([verb, id, operand]) => [verb, `cues@${id}`, operand]) }] };
            const { ids, byId } = new Lists(model).shown('cues');
            return ids.map((id) => [id, byId.get(id)]);
        }""", vector)
        same(shown, vector["becomes"])

    return run


def made() -> dict[str, Callable[[Stand], None]]:
    return {f"pending {path.stem}": overlay(path) for path in VECTORS if '"becomes"' in path.read_text("utf-8")}


# Plain arrays.


def test_a_plain_array_shows_in_the_same_template_and_is_written_as_a_whole(stand: Stand) -> None:
    stand.serve()
    stand.set("show.cues:=" + json.dumps(CUES), 'show.tags:=["red","blue","red"]')
    tab = cues(stand)
    rows(tab, "Rain", "Wind", "Dawn")
    same(tab.eval(IDS), ["3", "7", "9"])
    focus(tab, "Wind", 4, 4)
    stand.set("show.cues:=" + json.dumps([{"id": 1, "name": "Fog"}, *CUES]))
    rows(tab, "Fog", "Rain", "Wind", "Dawn")
    tab.page.keyboard.type("y")
    committed(stand, "Fog", "Rain", "Windy", "Dawn")
    same(tab.eval(CARET), [True, "Windy", 5, 5])
    same(tab.proposals()[-1]["operations"][0][:2], ["set", "cues"])
    tab.page.locator("#rows > li").nth(3).get_by_role("button", name="Up").click()
    tab.page.locator("#rows > li").first.get_by_role("button", name="Remove").click()
    tab.page.click("#add")
    rows(tab, "Rain", "Dawn", "Windy", "New")
    committed(stand, "Rain", "Dawn", "Windy", "New")
    tags = tab.eval("() => [...document.querySelectorAll('#tags input')].map((one) => one.value)")
    same(tags, ["red", "blue", "red"])
    tab.page.locator("#tags input").nth(1).fill("green")
    stand.committed("show", "tags", ["red", "green", "red"])
    tab.page.locator("#tags button").first.click()
    stand.committed("show", "tags", ["green", "red"])
    same(tab.complaints, [])


def test_a_hub_that_knows_no_lists_gets_the_whole_array(stand: Stand) -> None:
    tab = opened(stand)
    # What such a hub says: no capability, and one array.
    written = tab.eval("""(cues) => {
        const link = bind.link(), show = bind.model('show');
        link.cut();
        link.welcome.lists = undefined;
        for (const { id } of cues) show.fields.delete(`cues@${id}`);
        show.fields.set('cues', { value: cues, version: 1 });
        show.touch('cues', ...cues.map(({ id }) => `cues@${id}`));
        show.set('cues[id=7].name', 'Storm');
        show.list('cues').remove(3);
        return show.writes.map(({ operations }) => operations);
    }""", CUES)
    same(written, [[["set", "cues", [{**CUES[1], "name": "Storm"}, CUES[2]]]]])
    rows(tab, "Storm", "Dawn")


def test_an_array_that_a_hub_holds_in_place_of_elements_is_not_written(stand: Stand) -> None:
    tab = opened(stand)
    # What an older hub has: the page sees it as that hub told it.
    outcome = tab.eval("""() => {
        const show = bind.model('show');
        for (const id of [3, 7, 9]) show.fields.delete(`cues@${id}`);
        show.fields.set('cues', { value: [{ id: 3, name: 'Old' }], version: 1 });
        show.touch('cues', 'cues@3', 'cues@7', 'cues@9');
        return show.set('cues[id=3].name', 'New');
    }""")
    expect("the hub holds one array here" in outcome["text"], outcome)
    rows(tab, "Old")


# The dashboard and forms.


def test_the_dashboard_and_the_form_show_a_list_as_its_array(stand: Stand) -> None:
    described(stand)
    tab = stand.tab("/#show").live()
    tab.until("the list", "() => document.querySelector('#rows output')?.textContent.split('\\n').length === 3")
    same(tab.eval("() => [...document.querySelectorAll('#rows th .mono')].map((one) => one.textContent)"), ["cues"])
    same(json.loads(tab.eval("() => document.querySelector('#rows output').textContent")), CUES)
    stand.set("show.cues[id=7].name=Storm")
    tab.until("the commit in the log", "() => /cues\\[id=7\\].*Storm/.test(document.getElementById('log').textContent)")
    words = tab.eval("() => document.getElementById('log').textContent")
    expect('"at"' not in words and "$list" not in words and "cues@" not in words, words)
    form = stand.tab("/form/show").live()
    form.until("the list", "() => document.querySelector('textarea')?.value.split('\\n').length === 3")
    same(json.loads(form.eval("() => document.querySelector('textarea').value"))[1]["name"], "Storm")
    form.page.locator("textarea").fill(json.dumps(CUES[:1]))
    form.page.keyboard.press("Tab")
    committed(stand, "Rain")
    same(tab.complaints + form.complaints, [])
