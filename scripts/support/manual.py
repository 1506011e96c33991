#!/usr/bin/env python3
"""Writes manual pages: one for a program and one for each of its commands.

usage: PROGRAM --experimental-dump-help | manual.py --version VERSION --date DATE FOLDER

Everything in them is what the program says of itself.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Iterator

Command = dict


def escaped(text: str) -> str:
    """Text as roff reads it: a backslash, a minus, and a line that begins like a request are protected."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def prose(text: str) -> Iterator[str]:
    """Paragraphs; lines that are set in by the author, or are close to such, stay as they are."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        yield ".PP"
        if re.search(r"^\s", paragraph, flags=re.MULTILINE):
            yield ".nf"
            yield escaped(paragraph)
            yield ".fi"
        else:
            yield escaped(paragraph)


def names(argument: dict) -> list[str]:
    dashes = {"long": "--", "short": "-", "longWithSingleDash": "-"}
    return [dashes[name["kind"]] + name["name"] for name in argument.get("names") or []]


def shown(command: Command) -> list[dict]:
    return [argument for argument in command.get("arguments") or [] if argument.get("shouldDisplay", True)]


def synopsis(title: str, command: Command) -> str:
    parts = [f"\\fB{escaped(title)}\\fR"]
    for argument in shown(command):
        value = f"\\fI{escaped(argument.get('valueName', 'value'))}\\fR"
        part = value
        if argument["kind"] != "positional":
            part = f"\\fB{escaped(max(names(argument), key=len))}\\fR"
            if argument["kind"] == "option":
                part += " " + value
        if argument.get("isRepeating"):
            part += " ..."
        parts.append(f"[{part}]" if argument.get("isOptional") else part)
    if subcommands(command):
        parts.append("\\fIcommand\\fR ...")
    return " ".join(parts)


def options(command: Command) -> Iterator[str]:
    arguments = shown(command)
    for heading, kinds in (("ARGUMENTS", ["positional"]), ("OPTIONS", ["option", "flag"])):
        chosen = [argument for argument in arguments if argument["kind"] in kinds]
        if chosen:
            yield f".SH {heading}"
        for argument in chosen:
            value = f"\\fI{escaped(argument.get('valueName', 'value'))}\\fR"
            words = ", ".join(f"\\fB{escaped(name)}\\fR" for name in names(argument)) or value
            yield ".TP"
            yield words + (f" {value}" if argument["kind"] == "option" else "")
            yield escaped(argument.get("abstract") or "")
            if argument.get("discussion"):
                yield escaped(argument["discussion"])
            if argument.get("allValues"):
                yield "One of " + escaped(", ".join(argument["allValues"])) + "."
            if argument.get("defaultValue"):
                yield f"Default: {escaped(argument['defaultValue'])}."


def subcommands(command: Command) -> list[Command]:
    all_of_them = command.get("subcommands") or []
    return [sub for sub in all_of_them if sub.get("shouldDisplay", True) and sub["commandName"] != "help"]


def page(path: list[str], command: Command, version: str, date: str) -> str:
    title, name = " ".join(path), "-".join(path)
    lines = [
        f'.TH "{escaped(name.upper())}" 1 "{date}" "Bindbus {version}" "Bindbus"', ".SH NAME",
        f"{escaped(name)} \\- {escaped((command.get('abstract') or '').rstrip('.'))}", ".SH SYNOPSIS",
        synopsis(title, command),
    ]
    if command.get("discussion"):
        lines += [".SH DESCRIPTION", *prose(command["discussion"])]
    lines += options(command)
    subs = subcommands(command)
    if subs:
        lines.append(".SH COMMANDS")
    for sub in subs:
        lines += [".TP", f"\\fB{escaped(name + '-' + sub['commandName'])}\\fR(1)", escaped(sub.get("abstract") or "")]
    others = ["bindhub", "bindpeer"] if len(path) == 1 else ["-".join(path[:-1])]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{escaped(other)}\\fR(1)" for other in others if other != name)]
    return "\n".join(lines) + "\n"


def write(path: list[str], command: Command, folder: Path, version: str, date: str) -> None:
    (folder / ("-".join(path) + ".1")).write_text(page(path, command, version, date), encoding="utf-8")
    for sub in subcommands(command):
        write([*path, sub["commandName"]], sub, folder, version, date)


def main() -> None:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("usage: ")[1].split("\n")[0])
    parser.add_argument("--version", required=True)
    parser.add_argument("--date", required=True)
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args()
    command = json.load(sys.stdin)["command"]
    chosen.folder.mkdir(parents=True, exist_ok=True)
    write([command["commandName"]], command, chosen.folder, chosen.version, chosen.date)


if __name__ == "__main__":
    main()
