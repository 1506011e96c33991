"""The generated form, and the dashboard's fields, as the description says: order, groups, widgets, steps, secrets."""

from __future__ import annotations

from dashboard_tests import opened
from stand import Stand, Tab, expect, same

# The groups and labels of the form, in their order.
LAYOUT = """() => [...document.querySelectorAll('#fields legend, #fields .field > :is(label, .label)')]
    .map((one) => (one.tagName === 'LEGEND' ? '# ' : one.closest('fieldset') ? '- ' : '') + one.innerText.trim())"""
# Everything that a person, or a program that reads pages aloud, can find in the document.
ALL_TEXT = "() => document.documentElement.outerHTML + document.body.innerText"


def opened_form(stand: Stand, *assignments: str, **fields: object) -> Tab:
    stand.serve()
    stand.describe("lamp", **fields)
    if assignments:
        stand.set(*assignments)
    return stand.tab("/form/lamp").live()


def has_layout(tab: Tab, *wanted: str) -> None:
    tab.until(f"the layout {wanted}", f"(wanted) => JSON.stringify(({LAYOUT})()) === JSON.stringify(wanted)",
              list(wanted))


def test_a_form_has_groups_and_the_order_of_the_description(stand: Stand) -> None:
    text = {"type": "string", "default": ""}
    fields = {
        "zeta": {**text, "order": 1}, "host": {**text, "order": 2, "group": "Network", "title": "Host name"},
        "alpha": {**text, "order": 3}, "port": {**text, "order": 4, "group": "Network"},
        "free": text, "basic": text, "late": {**text, "order": 9, "group": "Times"},
    }
    tab = opened_form(stand, **fields)
    has_layout(tab, "zeta", "# Network", "- Host name", "- port", "alpha", "# Times", "- late", "basic", "free")
    tab.page.get_by_role("group", name="Network").get_by_label("port").wait_for()
    board = opened(stand, "lamp")
    names = "() => [...document.querySelectorAll('#rows th > .mono')].map((one) => one.textContent)"
    same(board.eval(names), ["zeta", "host", "alpha", "port", "late", "basic", "free"])
    # A field that is being typed into stays where it is; the others follow the new description.
    tab.page.get_by_label("Host name").press_sequentially("own")
    fields["host"] = {**fields["host"], "group": "", "order": 20}
    fields["zeta"] = {**fields["zeta"], "group": "Times"}
    stand.describe("lamp", **fields)
    has_layout(tab, "# Times", "- zeta", "- late", "alpha", "# Network", "- port", "- Host name", "basic", "free")
    same(tab.eval("() => document.activeElement.value"), "own")
    tab.page.keyboard.type("er")
    stand.committed("lamp", "host", "owner")
    tab.page.get_by_label("port").press_sequentially("1")
    has_layout(tab, "# Times", "- zeta", "- late", "alpha", "# Network", "- port", "Host name", "basic", "free")
    same(tab.complaints + board.complaints, [])


def test_a_widget_chooses_the_control_where_it_fits(stand: Stand) -> None:
    choices = {"type": "string", "choices": [str(number) for number in range(7)]}
    wanted = {
        "tick": ({"type": "boolean", "widget": "checkbox"}, "checkbox"),
        "turn": ({"type": "boolean", "widget": "dial"}, "checkbox switch"),
        "size": ({"type": "number", "min": 0, "max": 9, "widget": "number"}, "number"),
        "slide": ({"type": "number", "min": 0, "widget": "slider"}, "number"),
        "pick": ({**choices, "widget": "radio"}, "radio"),
        "drop": ({**choices, "choices": ["a", "b"], "widget": "select"}, "select-one"),
        "words": ({"type": "string", "widget": "textarea"}, "textarea"),
        "line": ({"type": "string", "maxLength": 500, "widget": "text"}, "text"),
        "tint": ({"type": "string", "widget": "color"}, "color"),
        "hue": ({"type": "string", "widget": "color"}, "text"),
        "day": ({"type": "string", "widget": "date"}, "date"),
        "count": ({"type": "integer", "widget": "date"}, "number"),
    }
    values = ["tick=true", "turn=true", "size=3", "slide=3", "pick=2", "drop=a", "words=some", "line=some",
              "tint=#123456", "hue=red", "day=2026-11-26", "count=3"]
    rules = {name: rule for name, (rule, _) in wanted.items()}
    tab = opened_form(stand, *[f"lamp.{value}" for value in values], **rules)
    found = tab.until("the controls", """(count) => {
        const found = {}
        for (const one of document.querySelectorAll('#fields [data-bind]')) {
            found[one.dataset.bind] = [one.type, one.getAttribute('role')].filter(Boolean).join(' ')
        }
        return Object.keys(found).length === count && found
    }""", len(wanted))
    same(found, {name: kind for name, (_, kind) in wanted.items()})
    tab.page.get_by_label("tint").fill("#654321")
    stand.committed("lamp", "tint", "#654321")
    tab.page.get_by_label("day").fill("2026-12-01")
    stand.committed("lamp", "day", "2026-12-01")
    tab.page.get_by_label("tick").uncheck()
    stand.committed("lamp", "tick", False)
    tab.page.get_by_role("radio", name="5").check()
    stand.committed("lamp", "pick", "5")
    same(tab.complaints, [])


def test_controls_have_the_step_of_the_description(stand: Stand) -> None:
    tab = opened_form(stand, "lamp.level=0.5", "lamp.gain=10",
                      level={"type": "number", "min": 0, "max": 1, "step": 0.25},
                      gain={"type": "integer", "step": 5})
    tab.page.get_by_role("slider", name="level").press("ArrowRight")
    stand.committed("lamp", "level", 0.75)
    gain = tab.page.get_by_label("gain")
    gain.press("ArrowUp")
    stand.committed("lamp", "gain", 15)
    gain.fill("17")
    gain.press("Enter")
    tab.state("[data-bind=gain]", "refused")
    same(stand.get("lamp")["values"]["gain"], 15)


def test_a_read_only_field_is_shown_without_a_control(stand: Stand) -> None:
    tab = opened_form(stand, "lamp.heat=20", heat={"type": "number", "readOnly": True, "unit": "°C"},
                      name={"type": "string", "default": "desk"})
    same(tab.eval("() => document.querySelectorAll('#fields :is(input, select, textarea)').length"), 1)
    stand.set("lamp.heat=21.5")
    tab.until("the value", "() => document.querySelector('output[data-bind=heat]').textContent === '21.5'")
    expect(tab.page.get_by_label("heat °C").is_visible(), "the value has no label")


SECRETS = {
    "token": {"type": "string", "secret": True, "policy": "compareAndSet", "title": "Access token"},
    "pin": {"type": "integer", "min": 0, "max": 9999, "secret": True},
    "keys": {"type": "object", "secret": True}, "isArmed": {"type": "boolean", "secret": True},
    "seed": {"type": "string", "secret": True, "readOnly": True},
}
VALUES = ["lamp.token=hunter2", "lamp.pin=4711", 'lamp.keys:={"a":"swordfish"}', "lamp.isArmed=true",
          "lamp.seed=marzipan"]
WORDS = ("hunter", "4711", "swordfish", "marzipan", "opensesame", "123456", "abracadabra", "later9")


def shows_none(tab: Tab) -> None:
    text = tab.eval(ALL_TEXT)
    same([word for word in WORDS if word in text], [], "secret values in the document")


def test_a_secret_is_a_password_field_and_in_no_text_of_the_form(stand: Stand) -> None:
    tab = opened_form(stand, *VALUES, **SECRETS)
    token, pin, keys, armed = (tab.page.get_by_label(label) for label in ("Access token", "pin", "keys", "isArmed"))
    tab.until("the values", "() => [...document.querySelectorAll('[type=password]')].every((one) => one.value)")
    same([one.input_value() for one in (token, pin, keys, armed)], ["hunter2", "4711", '{"a":"swordfish"}', "true"])
    same(tab.eval("() => document.querySelectorAll('[type=password]').length"), 4)
    shows_none(tab)
    # It is written when it is whole, not at each key.
    token.fill("opensesame")
    same(tab.proposals("token"), [])
    token.press("Enter")
    stand.committed("lamp", "token", "opensesame")
    pin.fill("42")
    pin.press("Enter")
    stand.committed("lamp", "pin", 42)
    # What is refused, here or by the hub, is said without the value.
    pin.fill("123456")
    pin.press("Enter")
    tab.until("the hub's refusal", "() => document.getElementById('reason-pin').textContent.startsWith("
              "'the value does not fit the description')")
    keys.fill('{"a":abracadabra}')
    keys.press("Tab")
    tab.until("why it is not written", "() => document.getElementById('reason-keys').textContent.startsWith("
              "'the text is not JSON')")
    armed.fill("hunter")
    armed.press("Enter")
    tab.state("[data-bind=isArmed]", "refused")
    tab.eval("() => bind.link().cut()")
    token.fill("hunter3")
    token.press("Enter")
    stand.set("lamp.token=later9")
    tab.eval("() => bind.link().heal()")
    tab.until("the conflict", "() => document.getElementById('reason-token').textContent.includes(' set it, ')")
    shows_none(tab)
    same(stand.get("lamp")["values"], {"token": "later9", "pin": 42, "keys": {"a": "swordfish"}, "isArmed": True,
                                       "seed": "marzipan"})


def test_the_dashboard_shows_titles_and_help_and_hides_secrets(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level={"type": "number", "title": "Brightness", "help": "Of the big lamp."}, **SECRETS)
    stand.set("lamp.level=0.5", *VALUES)
    tab = opened(stand, "lamp")
    row = tab.page.locator("#rows tr", has_text="level")
    same(row.locator("th").inner_text().split(), ["level", "Brightness"])
    row.get_by_text("Of the big lamp.").wait_for()
    cells = "() => [...document.querySelectorAll('#rows .value')].map((one) => one.textContent).sort()"
    same(tab.eval(cells), [*["(secret)"] * 5, "0.5Of the big lamp."])
    shows_none(tab)
    copied = "(words) => document.getElementById('copied-words').textContent === words"
    tab.page.get_by_role("button", name="Copy as CLI", exact=True).click()
    tab.until("the command", copied, "bindpeer set lamp.level=0.5")
    tab.page.get_by_role("button", name="Copy token as CLI").click()
    tab.until("the command", copied, "bindpeer set lamp.token=-")
    tab.page.get_by_role("button", name="Copy as Swift").click()
    tab.until("the declaration", "(line) => document.getElementById('copied-words').textContent.includes(line)",
              '  @Field(title: "Access token", secret: true, policy: .compareAndSet) var token = ""\n')
    tab.page.get_by_label("Edit").first.click()
    token = tab.page.get_by_label("Access token, token")
    same(token.get_attribute("type"), "password")
    tab.until("its value", "() => [...document.querySelectorAll('#rows input')].some((one) => one.value === 'hunter2')")
    shows_none(tab)
    same(tab.complaints, [])
