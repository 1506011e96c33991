"""What a description says of a field, shown by data-describe."""

from __future__ import annotations

from slips_tests import ADD
from stand import Stand, eventually, same

SHOWN = "() => [...document.querySelectorAll('section [data-describe]')].map((one) => one.textContent)"
LEVEL = {"type": "number", "min": 0, "max": 80, "step": 0.5, "default": 20, "unit": "°C", "title": "Temperature",
         "help": "Of the <b>water</b>"}


def shows(tab, *wanted: str) -> None:
    tab.until(f"the texts {wanted}", f"(wanted) => JSON.stringify(({SHOWN})()) === JSON.stringify(wanted)",
              list(wanted))


def test_parts_of_a_description_are_shown_as_text_and_follow_it(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level=LEVEL, least={"type": "integer", "min": 1}, most={"max": 9, "unit": "m"},
                   colour={"type": "string", "choices": ["red", "green"]}, code={"default": "x1", "secret": True})
    tab = stand.tab().live()
    tab.eval(ADD, """<p data-describe="level"></p><b data-describe="level.title"></b><i data-describe="level.unit"></i>
        <i data-describe="level.range"></i><i data-describe="level.step"></i><i data-describe="level.default"></i>
        <i data-describe="least.range"></i><i data-describe="most.range"></i><i data-describe="colour.choices"></i>
        <i data-describe="level.type"></i><i data-describe="code.default"></i>""")
    shows(tab, "Of the <b>water</b>", "Temperature", "°C", "0 to 80 °C", "0.5", "20", "at least 1", "at most 9 m",
          "red, green", "number", "")
    stand.describe("lamp", level={**LEVEL, "help": "Of the air", "min": -20})
    tab.until("the new help", "() => document.querySelector('section p').textContent === 'Of the air'")
    same(tab.eval(SHOWN)[3], "-20 to 80 °C")
    same(tab.complaints, [])


def test_where_nothing_is_described_the_text_of_the_page_stands(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level={"type": "number"}, **{"free": {"type": "any", "title": "Free"}})
    stand.set("lamp.note=desk")
    tab = stand.tab().live()
    tab.eval(ADD, """<p data-describe="level">Own help</p><b data-describe="level.title">Own title</b>
        <b data-describe="note.title"></b><i data-describe="level.range">any</i><b data-describe="free.title">x</b>
        <i data-describe="free.unit"></i>""")
    shows(tab, "Own help", "Own title", "note", "any", "Free", "")
    tab.eval("() => { document.querySelectorAll('section [data-describe]')[4].dataset.describe = 'level.title' }")
    shows(tab, "Own help", "Own title", "note", "any", "x", "")
    same(tab.complaints, [])


def test_the_console_warns_of_mistyped_descriptions(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level=LEVEL)
    tab = stand.tab().live()
    tab.eval(ADD, """<i data-describe="lvel">own</i><i data-describe="level.unti">own</i><i data-describe="">own</i>
        <label data-describe="level.title">own <input></label><textarea data-describe="level">own</textarea>
        <output data-describe="level.help" data-bind="note"></output>
        <output data-describe="level" data-bind="note" data-bind-attr="title"></output>""")
    wanted = ["describes no field 'lvel'; did you mean 'level'?",
              "level.unti\": the parts are title, help, unit, range", "it names no field",
              "level.title\": it shows text", "level\": it shows text", "data-bind shows its own"]
    for words in wanted:
        eventually(words, lambda: sum(words in one for one in tab.complaints) == 1, stand.breathe)
    shows(tab, "own", "own", "own", "own ", "own", "", "Of the <b>water</b>")
    same(tab.eval("() => document.querySelectorAll('section input').length"), 1)
    same(len(tab.complaints), len(wanted), str(tab.complaints))
