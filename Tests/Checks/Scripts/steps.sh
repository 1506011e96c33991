#!/usr/bin/env bash
# How scripts/test and scripts/demo show their steps: one line each, which counts the time on a terminal; the output
# of a step is shown only where it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

python3 - <<'PYTHON'
import os
import pty
import re
import signal
import subprocess
import tempfile
import time

LIMIT_SECONDS = 30
SCRIPT = """
set -euo pipefail
source scripts/support/prerequisites.sh
source scripts/support/steps.sh
trap 'steps_quiet; exit 130' INT TERM
steps_folder=$1 steps_total=3
noisy() { for line in $(seq 100); do echo "noise $line"; done; echo 'x recorded an issue' ; seq 200 300; }
held() { until [[ -e $steps_folder/go ]]; do sleep 0.05; done; told=yes; }
step one noisy
step 'the second/one' held
echo "told=$told" >&2
code=0
step three eval 'noisy; false' || code=$?
echo "code=$code failed=${steps_failed[*]}" >&2
"""


def piped(folder: str) -> None:
    open(f"{folder}/go", "w").close()
    done = subprocess.run(
        ["bash", "-c", SCRIPT, "bash", folder], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True)
    lines = [re.sub(r"\d+:\d\d$", "T", line) for line in done.stderr.splitlines()]
    assert lines[:5] == [
        "step 1 of 3  one", "step 1 of 3  one: ok, T", "step 2 of 3  the second/one",
        "step 2 of 3  the second/one: ok, T", "told=yes"], lines
    assert lines[5:10] == [
        "step 3 of 3  three", "step 3 of 3  three: FAILED with 1, T", "x recorded an issue", "200", "…"], lines
    assert lines[-3:] == ["300", f"   complete output: {folder}/three.log", "code=1 failed=three"], lines
    assert not any(line.startswith("noise") for line in lines) and done.stdout == "", done
    assert open(f"{folder}/one.log").read().startswith("noise 1\n")
    assert os.path.exists(f"{folder}/the-second-one.log")


def started(folder: str) -> tuple:
    """The script on a terminal of its own, and all that it prints until the clock of the second step runs."""
    process, terminal = pty.fork()
    if process == 0:
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        os.execvpe("bash", ["bash", "-c", SCRIPT, "bash", folder], {**environment, "TERM": "xterm"})
    shown, deadline = b"", time.monotonic() + LIMIT_SECONDS
    while not re.search(rb"the second/one  0:0[1-9]", shown):
        assert time.monotonic() < deadline, shown
        shown += os.read(terminal, 65536)
    return process, terminal, shown


def rest(process: int, terminal: int) -> tuple:
    shown = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break  # No process has the terminal open any longer.
        if not chunk:
            break
        shown += chunk
    return shown, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def on_a_terminal(folder: str) -> None:
    process, terminal, shown = started(folder)
    open(f"{folder}/go", "w").close()
    more, code = rest(process, terminal)
    text = (shown + more).decode()
    assert code == 0, text
    assert "\rstep 2 of 3  the second/one  0:00\x1b[K" in text, text
    assert re.search(r"\r\x1b\[Kstep 2 of 3  the second/one: ok, \d+:\d\d\r\n", text), text
    assert "noise" not in text and "step 1 of 3  one\r\n" not in text, text


def interrupted(folder: str) -> None:
    process, terminal, _ = started(folder)
    os.kill(process, signal.SIGTERM)
    open(f"{folder}/go", "w").close()
    _, code = rest(process, terminal)
    assert code == 130, code


for look in (piped, on_a_terminal, interrupted):
    with tempfile.TemporaryDirectory() as folder:
        look(folder)
PYTHON
