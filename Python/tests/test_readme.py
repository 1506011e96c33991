"""Every code block of README.md, run from the first to the last."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any, Dict, List, Tuple

from tests.support import DEADLINE, ROOT, HubTestCase, binary, eventually, skip

README = ROOT / "Python" / "README.md"


def blocks(page: Path = README) -> List[Tuple[str, str]]:
    """The blocks in order, each with its language."""
    return re.findall(r"```(\w*)\n(.*?)```", page.read_text(), re.S)


def interpreter_with_pip() -> str:
    """One that builds and installs packages, which need not be the one of the tests."""
    python = os.environ.get("BINDBUS_PYTHON_TOOLS", sys.executable)
    if subprocess.run([python, "-c", "import setuptools, pip"], stderr=subprocess.DEVNULL).returncode:
        skip(f"{python} lacks pip or setuptools; install them with: scripts/setup --python")
    return python


class ReadmeTests(HubTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.installed = Path(self.folder) / "site"
        self.lines: Dict["subprocess.Popen[str]", List[str]] = {}
        tools = Path(self.folder) / "tools"
        tools.mkdir()
        python = (f'exec "{interpreter_with_pip()}" -m pip "$@" --quiet --no-deps --no-build-isolation --no-index '
                  f'--disable-pip-version-check --root-user-action=ignore --target "{self.installed}"')
        # The hub of this test runs already; the one that a block starts would be another one.
        for name, text in (("pip", python), ("bindhub", "exit 0"), ("python3", f'exec "{sys.executable}" "$@"')):
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
        path = f"{tools}:{os.path.dirname(binary('bindpeer'))}:{os.environ['PATH']}"
        self.environment = {**self.environment, "PATH": path, "PYTHONPATH": f"{self.installed}:{ROOT}/Python/src",
                            "BINDBUS_PYTHON": sys.executable}
        former = dict(os.environ)
        os.environ.update(BINDPEER_HUB=self.address)
        self.addCleanup(os.environ.update, former)
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)

    def test_every_block_runs(self) -> None:
        page = types.ModuleType("readme")
        sys.modules["readme"] = page
        self.addCleanup(sys.modules.pop, "readme")
        programs: List["subprocess.Popen[str]"] = []
        kinds = []
        for language, text in blocks():
            with self.subTest(text.splitlines()[0]):
                kinds.append(language)
                file = re.match(r"# (\w+\.py)\n", text)
                if language == "sh":
                    copy = self.copied(text) if "pip install" in text else str(ROOT)
                    done = subprocess.run(["sh", "-ec", text], cwd=copy, env=self.environment, capture_output=True,
                                          text=True, timeout=3 * DEADLINE)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                elif file:
                    programs.append(self.start(file[1], text))
                else:
                    exec(compile(text, str(README), "exec", dont_inherit=True), vars(page))
        self.assertEqual((kinds.count("sh"), kinds.count("python"), len(programs)), (3, 15, 2))
        lamp = programs[0]
        eventually(lambda: "0.5" in self.lines[lamp])
        assert lamp.stdin is not None
        lamp.stdin.write("\n")
        lamp.stdin.close()
        self.assertEqual(lamp.wait(DEADLINE), 0)
        self.assertTrue((self.installed / "bindbus" / "py.typed").exists())

    def test_the_block_on_the_first_page_of_the_project_runs(self) -> None:
        (text,) = [text for language, text in blocks(ROOT / "README.md") if language == "python"]
        names: Dict[str, Any] = {}
        exec(compile(text, "README.md", "exec", dont_inherit=True), names)
        self.addCleanup(names["lamp"]._runtime.close, 0)
        self.assertEqual(names["lamp"]["level"], 0.8)

    def copied(self, text: str) -> str:
        """A copy of the package, in which building leaves no traces in the sources."""
        subprocess.run(["cp", "-r", str(ROOT / "Python"), self.folder], check=True)
        return self.folder

    def start(self, name: str, text: str) -> "subprocess.Popen[str]":
        """A program of the page. Returns once it has printed what the page says of it."""
        Path(self.folder, name).write_text(text)
        program = subprocess.Popen([sys.executable, "-u", name], env=self.environment, cwd=self.folder, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        lines = self.lines[program] = []
        reader = threading.Thread(target=lambda: lines.extend(iter(lambda: self.line(program), "")))

        def end() -> None:
            program.kill()
            program.wait()
            reader.join()
            for stream in (program.stdin, program.stdout):
                assert stream is not None
                stream.close()

        reader.start()
        self.addCleanup(end)
        if name == "lamp.py":
            eventually(lambda: "0.3" in lines)
        else:
            eventually(lambda: any("committed at version" in line for line in lines))
            eventually(lambda: "0.8" in next(iter(self.lines.values())))
        return program

    def line(self, program: "subprocess.Popen[str]") -> str:
        assert program.stdout is not None
        line = program.stdout.readline()
        return line and line.strip() or line[:1]
