"""The dashboard with many models and fields: joins, rows, plots and details."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dashboard_tests import opened
from stand import Stand, eventually, expect, same

# Counts how often each canvas is drawn.
DRAWN = Path(__file__).with_name("drawn.js")


# Many models.

def test_a_tab_shows_the_fields_of_more_models_than_a_page_may_join(stand: Stand) -> None:
    stand.serve()
    count = 264  # A page may follow 256.
    stand.run("set", *[f"m{number:03}.x={number}" for number in range(count)])
    tab = opened(stand)
    tab.until("all models", "(count) => document.querySelectorAll('[role=treeitem]').length === count", count)
    for first in range(0, count, 12):
        ids = [f"m{number:03}" for number in range(first, first + 12)]
        tab.eval("(ids) => { for (const id of ids) document.querySelector(`[data-id='${id}']`).click() }", ids)
        tab.until(f"{ids[-1]} and those before it", """(ids) => ids.every((id) =>
                bind.link().models.get(id)?.get('x') === Number(id.slice(1)))
            && document.getElementById('model-title').textContent === ids.at(-1)
            && document.querySelector('#rows output')?.textContent === String(Number(ids.at(-1).slice(1)))""", ids)
    same(tab.eval("() => ear.received.filter((one) => one.kind === 'error')"), [], "what was refused")
    left = tab.eval("() => [...bind.link().models.values()].filter((one) => one.state === 'current').length")
    expect(left <= 60, f"{left} models are joined")


def test_a_model_that_cannot_be_joined_is_marked_and_joined_later(stand: Stand) -> None:
    stand.serve()
    stand.run("set", *[f"m{number:03}.x={number}" for number in range(260)])
    tab = stand.tab("/pages/controls.html").live()
    tab.eval("""() => {
        const more = document.createElement('main')
        more.id = 'more'
        for (let n = 0; n < 260; n++) {
            const place = document.createElement('p'), value = document.createElement('output')
            place.dataset.model = `m${String(n).padStart(3, '0')}`
            value.dataset.bind = 'x'
            place.append(value)
            more.append(place)
        }
        document.body.append(more)
    }""")
    tab.until("the refused models", "() => document.querySelectorAll('#more [data-state=refused]').length > 0")
    shown = tab.eval("""() => { const one = document.querySelector('#more [data-state=refused]')
        return [one.title, document.querySelector('[data-light]').dataset.state,
                document.querySelector('[data-light]').textContent] }""")
    expect("256 models" in shown[0] and shown[1] == "blocked" and "live, without" in shown[2], shown)
    outcome = tab.eval("() => bind.model('m259').set('y', 1)")
    same([outcome["kind"], outcome["code"]], ["refused", "tooManyTopics"], "a write into it")
    # Removed elements free their models, and refused models are joined.
    tab.eval("() => { for (const one of [...document.querySelectorAll('#more p')].slice(0, 50)) one.remove() }")
    tab.until("all models live", """() => document.querySelectorAll('#more [data-state]').length === 0
        && [...document.querySelectorAll('#more p')]
            .every((one) => Number(one.dataset.model.slice(1)) == one.textContent)""")
    tab.lights(*tab.eval("() => ear.lights()").replace("blocked", "live").split(","))
    same(tab.complaints, [])


# Many fields.

def test_ten_thousand_fields_are_all_reachable_with_few_rows(stand: Stand) -> None:
    stand.serve()
    count = 10_000
    writer = stand.start("writer", "bindpeer", "pipe", "wide")
    for first in range(0, count, 500):
        writer.write({f"f{number:05}": number for number in range(first, first + 500)})
    stand.committed("wide", f"f{count - 1:05}", count - 1)
    tab = opened(stand, "wide")
    tab.until("all fields are counted", "() => document.getElementById('more-fields').textContent === '10000 fields'")
    rows = "() => document.querySelectorAll('#rows > tr:not(.space)').length"
    expect(tab.eval(rows) < 200, f"{tab.eval(rows)} rows")
    tab.eval("() => { const one = document.querySelector('.model'); one.scrollTop = one.scrollHeight }")
    tab.until("the last field", "() => document.querySelector('#rows').textContent.includes('f09999')")
    expect(tab.eval(rows) < 200, f"{tab.eval(rows)} rows at the end")
    tab.page.get_by_label("Find a field or value").fill("f07")
    tab.until("the matching fields",
              "() => document.getElementById('more-fields').textContent === '1000 of 10000 fields'")
    tab.page.get_by_label("Find a field or value").fill("8765")
    tab.until("the field with that value", "() => document.querySelectorAll('#rows > tr').length === 1")
    tab.page.get_by_label("Edit").first.click()
    box = tab.page.get_by_role("spinbutton", name="f08765")
    tab.until("its value in the control", "() => document.querySelector('#rows input')?.value === '8765'")
    box.fill("5")
    box.press("Enter")
    box.press("Tab")
    stand.committed("wide", "f08765", 5)
    same(tab.complaints, [])


def test_a_plot_is_drawn_a_few_times_a_second_and_only_in_view(stand: Stand) -> None:
    stand.serve()
    stand.set(*[f"wide.f{number:03}={number}" for number in range(120)])
    tab = opened(stand, "wide", DRAWN)
    writer = stand.start("writer", "bindpeer", "pipe", "wide")
    tab.until("a plot", "() => Object.keys(window.drawn).some((name) => name.startsWith('f0'))")
    tab.eval("() => { window.drawn = {}; window.began = performance.now() }")
    state = {"count": 0}

    def look() -> Any:
        state["count"] += 1
        writer.write({f"f{number:03}": state["count"] for number in range(120)})
        return tab.eval("() => window.drawn.f000 >= 10")

    eventually("ten drawings of a plot in view", look, stand.breathe)
    drawn, seconds = tab.eval("() => [window.drawn, (performance.now() - window.began) / 1000]")
    expect(state["count"] > 2 * drawn["f000"], f"{drawn['f000']} drawings for {state['count']} commits")
    expect(drawn["f000"] <= 5 * seconds + 2, f"{drawn['f000']} drawings in {seconds:.1f} s")
    same(drawn.get("f119", 0), 0, "drawings of a plot out of view")


# Details.

def test_a_malformed_address_keeps_the_list_and_back_shows_the_previous_model(stand: Stand) -> None:
    stand.serve()
    stand.set("a.x=1", "b.x=2")
    stand.set("c.x=3")
    tab = stand.tab("/#%E0%A4%A").live()
    tab.until("all models", "() => document.querySelectorAll('[data-id]').length === 3")
    same(tab.complaints, [])
    title = "(id) => document.getElementById('model-title').textContent === id"
    for model in ("b", "c"):
        tab.page.locator(f"[data-id={model}]").click()
        tab.until(model, title, model)
    tab.page.go_back()
    tab.until("the model before", title, "b")
    # The fields of the model before are still to be drawn.
    tab.eval("""async () => {
        document.querySelector('[data-id=c]').click()
        history.pushState(null, '', '#nowhere')
        dispatchEvent(new Event('hashchange'))
        for (const _ of [1, 2]) await new Promise(requestAnimationFrame)
    }""")
    tab.page.get_by_text("This model does not exist yet").wait_for()
    stand.set("nowhere.x=1")
    tab.until("the created field", "() => document.querySelector('#rows output')?.textContent === '1'")


def test_fields_are_ordered_as_described(stand: Stand) -> None:
    stand.serve()
    fields = ["zone", "open", "opensAt", "closesAt", "accent"]
    stand.set("kiosk.@description:=" + json.dumps({"fields": {name: {"type": "string"} for name in fields}}),
              *[f"kiosk.{name}=x" for name in [*fields, "aaa"]])
    tab = opened(stand, "kiosk")
    names = "() => [...document.querySelectorAll('#rows th')].map((one) => one.textContent.trim().split(' ')[0])"
    same(tab.eval(names), [*fields, "aaa"])
    form = stand.tab("/form/kiosk").live()
    same(form.eval("() => [...document.querySelectorAll('#fields label')].map((one) => one.textContent.split(' ')[0])"),
         [*fields, "aaa"])


def test_the_figures_of_the_hub_fit(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.on=true")
    tab = opened(stand, "lamp", viewport={"width": 1440, "height": 900})
    tab.until("the counters", "() => document.querySelectorAll('#counters dd').length === 10")
    tab.eval("() => { for (const one of document.querySelectorAll('#counters dd')) one.textContent = '1 234 567 890' }")
    cut = tab.eval("""() => [...document.querySelectorAll('#counters dd')].filter((one) =>
        one.getBoundingClientRect().right > one.closest('aside').getBoundingClientRect().right - 8).length""")
    same(cut, 0, "numbers beyond the edge")


def test_a_model_with_a_reserved_name_becomes_another_swift_type(stand: Stand) -> None:
    stand.serve()
    stand.set("shop/model.on=true", "model.on=true")
    for model, name in (("shop/model", "ShopModel"), ("model", "MyModel")):
        tab = opened(stand, model)
        tab.page.get_by_role("button", name="Copy as Swift").click()
        tab.until("the type", "(words) => document.getElementById('copied-words').textContent.includes(words)",
                  f"struct {name}: Model {{")
        tab.page.get_by_role("button", name="Close the copied text").click()
        expect(not tab.page.locator("#copied").is_visible(), "the copied text cannot be closed")


def test_a_model_copied_as_a_command_has_only_written_values(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level={"type": "number", "default": 0.3}, name={"type": "string", "default": "desk"})
    stand.set("lamp.level=0.5", "lamp.extra=1")
    tab = opened(stand, "lamp")
    tab.page.get_by_role("button", name="Copy as CLI", exact=True).click()
    tab.until("the command", "() => document.getElementById('copied-words').textContent")
    same(tab.page.locator("#copied-words").inner_text(), "bindpeer set lamp.level=0.5 lamp.extra=1")


def test_the_plot_of_a_history_has_range_unit_and_times(stand: Stand) -> None:
    stand.serve()
    stand.describe("oven", heat={"type": "number", "unit": "°C", "help": "Measured at the door."})
    stand.set("oven.heat=20")
    tab = opened(stand, "oven")
    tab.page.get_by_role("button", name="History of heat").click()
    stand.set("oven.heat=180.5")
    tab.until("the plot", """() => {
        const plot = document.querySelector('.history figure canvas')
        return plot?.getAttribute('aria-label') === 'heat, °C, in two minutes: 20 to 180.5' && plot.width > 100
    }""")
    words = tab.eval("() => [...document.querySelectorAll('.history figure span')].map((one) => one.textContent)")
    same(words, ["180.5", "20", "2 min ago", "1 min ago", "now"])
    same(tab.eval("() => document.querySelector('#rows th span').title"), "Measured at the door.")
    same(tab.complaints, [])


def test_a_form_shows_titles_and_help_of_the_description(stand: Stand) -> None:
    stand.serve()
    stand.describe("kiosk", opensAt={"type": "string", "title": "Opens at", "help": "Local time, as 08:30."},
                   note={"type": "string", "title": 7})
    stand.set("kiosk.opensAt=08:30", "kiosk.note=x")
    tab = stand.tab("/form/kiosk").live()
    box = tab.page.get_by_label("Opens at")
    same(box.input_value(), "08:30")
    tab.page.get_by_text("Local time, as 08:30.").wait_for()
    same(tab.eval("(id) => document.getElementById(id).textContent", box.get_attribute("aria-describedby").split()[0]),
         "Local time, as 08:30.")
    expect(tab.page.get_by_label("note").is_visible(), "a field without a title has no label")


def test_undeclarable_parts_of_a_description_are_comments_in_swift(stand: Stand) -> None:
    stand.serve()
    stand.describe("oven", heat={"type": "number", "min": 0, "step": 0.5, "default": 20},
                   mode={"type": "string", "default": {"a": 1}, "pattern": "a+"},
                   fan={"type": "integer", "min": 1, "max": 5, "default": 9})
    stand.set("oven.heat=21")
    tab = opened(stand, "oven")
    tab.page.get_by_role("button", name="Copy as Swift").click()
    tab.until("the type", "() => document.getElementById('copied-words').textContent")
    lines = tab.eval("() => document.getElementById('copied-words').textContent.split('\\n').slice(1, 4)")
    same(lines, ["  @Field(step: 0.5) var heat: Double = 20  // described: min 0",
                 '  @Field var mode = ""  // described: pattern a+', "  @Field(1...5) var fan = 1"])
