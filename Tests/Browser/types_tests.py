"""The types of the script interface, /bind.d.ts, against what a page finds at run time."""

from __future__ import annotations

import re

from stand import ROOT, Stand, expect, same

FILE = ROOT / "Sources/BindingWeb/Pages/pages/bind.d.ts"

# Members that the pages' own files use, and no others.
OWN = {
    "Bind": {"edits"},
    "Model": {"acknowledge", "apply", "block", "call", "catchup", "changeLog", "commit", "commits", "end", "forget",
              "hide", "isSecret", "join", "lists", "named", "noteOwn", "notify", "pending", "policy", "release", "send",
              "sendAgain", "stored", "take", "touch", "touchPending", "unacknowledged", "undescribed", "unhide"},
    "Link": {"answer", "begin", "check", "lost", "notify", "open", "receive", "send", "sendJSON", "touch"},
}
# What there is only at times.
ABSENT = {"Bind": {"isKept"}}
FOUND = """async () => {
    // What is written before the model is here may come with its values, and not as a commit.
    const lamp = await bind.model('lamp').ready;
    const change = await new Promise(resolve => {
        lamp.on(null, (_, change) => { if (change.commits?.length) resolve(change) });
        lamp.set('level', 2);
    });
    const steps = await bind.undoing('lamp');
    const namesOf = (one) => Object.getOwnPropertyNames(one).filter((name) => name !== 'constructor');
    const all = (one) => one === Object.prototype ? []
        : [...namesOf(one), ...all(Object.getPrototypeOf(one))];
    const methods = (one) => namesOf(Object.getPrototypeOf(one));
    return {
        Bind: all(bind), Undoing: all(steps), UndoStatus: all(steps.status), List: all(lamp.list('cues')),
        FieldInfo: all(lamp.info('level')), ModelChange: Reflect.ownKeys(change),
        Commit: all(change.commits[0]), Model: methods(lamp), Link: methods(bind.link()),
        'properties of Model': Object.keys(lamp), 'properties of Link': Object.keys(bind.link()),
    };
}"""


def declared() -> dict[str, set[str]]:
    """The members of each interface of the file."""
    text = re.sub(r"/\*.*?\*/", "", FILE.read_text(encoding="utf-8"), flags=re.DOTALL).replace("=>", "")
    found: dict[str, set[str]] = {}
    for name, line, lines in re.findall(r"^export interface (\w+)[^{\n]*\{(?:([^\n]+)\}$|(.*?)^\})", text,
                                        re.MULTILINE | re.DOTALL):
        depth, flat = 0, ""
        for letter in line or lines:
            depth -= letter in ")>}]"
            flat += letter if depth == 0 else ""
            depth += letter in "(<{["
        found[name] = set(re.findall(r"(?:^ {1,2}|, )(?:readonly )?(\w+)\??(?=[:()<>])", flat, re.MULTILINE))
    return found


def test_the_types_declare_what_scripts_find_and_no_more(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=1")
    tab = stand.tab().live()
    found, types = tab.eval(FOUND), declared()
    for name in ("Bind", "Undoing", "UndoStatus", "List", "FieldInfo", "ModelChange", "Commit"):
        same(sorted(types[name] - ABSENT.get(name, set())), sorted(set(found[name]) - OWN.get(name, set())), name)
    for name in ("Model", "Link"):
        properties = set(found[f"properties of {name}"])
        same(sorted(types[name] - properties), sorted(set(found[name]) - OWN[name] - properties), name)
        same(sorted(OWN[name] - set(found[name])), [], f"what the test takes for a member of {name}")
    # Proves that members are read at all.
    expect({"get", "update", "ready", "epoch"} <= types["Model"] and {"tag", "name", "age"} <= types["Conflict"], types)


def test_the_types_are_served_as_text(stand: Stand) -> None:
    tab = stand.tab().live()
    answer = tab.eval("""async () => {
        const answer = await fetch('/bind.d.ts');
        return [answer.status, answer.headers.get('content-type'), await answer.text()];
    }""")
    same(answer, [200, "text/plain; charset=utf-8", FILE.read_text(encoding="utf-8")])
