"""Which values fields accept, how users type them, and which values no hub can read."""

from __future__ import annotations

from stand import Stand, same


def test_rule_8_letters_are_counted_as_grapheme_clusters(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", name={"type": "string", "maxLength": 5})
    tab = stand.tab().live()
    tab.until("the rule", "() => bind.model('lamp').describe('name')")
    family = "👨‍👩‍👧‍👦"
    tab.page.fill("#name", family * 5)
    stand.committed("lamp", "name", family * 5)
    tab.page.fill("#name", family * 6)
    tab.state("#name", "refused")
    same(tab.eval("() => document.getElementById('name').value"), family * 6)
    same(tab.eval("() => document.getElementById('name').title"), "6 of 5 characters")
    same(len(tab.proposals("name")), 1, "proposals")


def test_rule_8_a_pattern_cannot_keep_the_page_busy(stand: Stand) -> None:
    stand.serve()
    tab = stand.tab().live()
    for pattern in ("(a+)+", "(a|a)*", "(a|a)" * 30, "(?:a*)*", "((a)+b?){2,}", "a*" * 12):
        stand.describe("lamp", code={"type": "string", "pattern": pattern})
        tab.until("the pattern", "(pattern) => bind.model('lamp').describe('code')?.pattern === pattern", pattern)
        tab.page.fill("#code", "a" * 40 + "!")
        tab.page.fill("#name", pattern)
        stand.committed("lamp", "name", pattern)


def test_a_field_of_any_type_takes_json_and_text(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", settings={"type": "any"})
    tab = stand.tab().live()
    tab.until("the rule", "() => bind.model('lamp').describe('settings')")
    rows = {"42": 42, "two words": "two words", "true": True, '"42"': "42", "null": None, '{"a":[1]}': {"a": [1]},
            '"[x"': "[x", "12345678901234567890": {"$int": "12345678901234567890"}}
    for words, value in rows.items():
        tab.page.fill("#settings", words)
        tab.page.keyboard.press("Tab")
        tab.shows("lamp", "settings", value)
        tab.state("#settings", None)
        same(tab.proposals("settings")[-1]["operations"][0][2], value, words)
        same(tab.eval("() => document.getElementById('settings').value"), words, "what shows")
    tab.page.fill("#settings", "[x")
    tab.state("#settings", "refused")


def test_only_a_malformed_write_is_refused(stand: Stand) -> None:
    tab = stand.tab().live()
    outcomes = tab.eval("""async () => {
        window.states = [];
        bind.link().on((what) => { if (what === "state") window.states.push(bind.link().isLive) });
        const lamp = bind.model("lamp"), deep = (levels) => { let all = 1; while (levels--) all = [all]; return all };
        const sets = [["note", "\\ud83d"], ["no name", 1], ["deep", deep(127)], ["tags", [{ "\\ud83d": 1 }]],
          ["count", NaN], ["mail", new Set([1])], ["fine", deep(120)], ["name", "x"]];
        const others = [[["double", "level", 2]], [["set", "level"]], [["delete", "level", 1]], []];
        const condition = [["a b", "0", 1]], many = Array.from({ length: 256 }, (_, n) => [`f${n}`, "0", 0]);
        const outcomes = await Promise.all([...sets.map(([field, value]) => lamp.set(field, value)),
          ...others.map((operations) => lamp.propose(operations)),
          ...[condition, many].map((conditions) => lamp.propose([["set", "on", true]], conditions))]);
        return outcomes.map(({ kind, code }) => code ?? kind);
    }""")
    bad = "malformedValue"
    same(outcomes, [bad, "badName", bad, bad, bad, bad, "committed", "committed",
                    bad, bad, bad, "unchanged", "badName", "proposalTooLarge"])
    same(tab.eval("() => window.states"), [], "changes of the link")


def test_a_module_imports_the_functions_of_the_script(stand: Stand) -> None:
    tab = stand.tab("/pages/module.html")
    stand.committed("lamp", "name", "from a module")
    tab.until("the bound value", "() => document.getElementById('name').textContent === 'from a module'")
    same(tab.complaints, [])
