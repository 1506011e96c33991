"""Runs the tests of this folder in one browser: a fresh hub and fresh contexts for each test. See Tests/Browser/run."""

from __future__ import annotations

import argparse
import importlib
import re
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable, NamedTuple

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from playwright.sync_api import Error, sync_playwright  # noqa: E402

from stand import Failed, Stand  # noqa: E402

# Switches off background work of a fresh profile: it costs time, and requests other origins.
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run",
         "--disable-sync",
         "--disable-features=Translate,OptimizationHints,MediaRouter,AutofillServerCommunication"]
LONGEST_SECONDS = 60


class Test(NamedTuple):
    name: str
    run: Callable[[Stand], Any]


def collect(pattern: str | None) -> list[Test]:
    """Every function `test_…` of every file `…_tests.py`, in source order, and the tests that these files generate."""
    tests: list[Test] = []
    for path in sorted(HERE.glob("*_tests.py")):
        module = importlib.import_module(path.stem)
        group = path.stem.removesuffix("_tests")
        tests += [Test(f"{group}.{name.removeprefix('test_').replace('_', ' ')}", run)
                  for name, run in vars(module).items() if name.startswith("test_")]
        tests += [Test(f"{group}.{name}", run) for name, run in getattr(module, "made", dict)().items()]
    return [test for test in tests if pattern is None or re.search(pattern, test.name)]


def late(*_: Any) -> None:
    raise Failed(f"the test did not end within {LONGEST_SECONDS} s")


def play(test: Test, stand: Stand) -> str | None:
    """Returns nothing, or why the test failed, with all messages of the test."""
    try:
        signal.alarm(LONGEST_SECONDS)
        test.run(stand)
        return None
    except (Failed, Error, AssertionError, KeyError, IndexError, TypeError, ValueError, OSError) as error:
        last = traceback.extract_tb(error.__traceback__)
        place = next((frame for frame in last if frame.filename.endswith("_tests.py")), last[-1])
        lines = [f"{Path(place.filename).name}:{place.lineno}: {str(error) or repr(error)}"]
        lines += [f"    {line}" for line in stand.shown[-12:]]
        for number, tab in enumerate(stand.tabs):
            lines += [f"    tab {number + 1} complained: {words}" for words in tab.complaints[:5]]
        for actor in stand.actors:
            output = (stand.folder / f"{actor.name}.err").read_text(encoding="utf-8", errors="replace").splitlines()
            lines += [f"    {actor.name} said: {line}" for line in output[-5:]]
        return "\n".join(lines)
    finally:
        signal.alarm(0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="Tests/Browser/run")
    parser.add_argument("bin")
    parser.add_argument("browser")
    parser.add_argument("--filter")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    tests = collect(arguments.filter)
    if arguments.list:
        print("\n".join(test.name for test in tests))
        return 0
    if not tests:
        print("browser: no test matches", file=sys.stderr)
        return 1
    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began, failed = time.monotonic(), []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.browser, args=FLAGS)
        print(f"{browser.browser_type.name} {browser.version}", flush=True)
        for test in tests:
            start, stand = time.monotonic(), Stand(arguments.bin, browser)
            try:
                wrong = play(test, stand)
            finally:
                stand.end()
            word, spent = "FAILED" if wrong else "ok    ", time.monotonic() - start
            print(f"{word} {spent:5.1f} s  {test.name}", flush=True)
            for words in stand.words:
                print(f"                {words}", flush=True)
            if wrong is not None:
                failed.append(test.name)
                print(f"  {wrong}", flush=True)
        browser.close()
    shutil.rmtree(HERE / "__pycache__", ignore_errors=True)
    spent, passed = time.monotonic() - began, len(tests) - len(failed)
    print(f"browser: {passed} of {len(tests)} tests passed, {spent:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
