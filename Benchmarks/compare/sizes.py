"""The size of a server's files during a measurement."""

from __future__ import annotations

import threading
import time
from pathlib import Path

_STEP_SECONDS = 0.1
QUARTERS = 4


class Sizes:
    """Measures a folder repeatedly until it is stopped, including files that exist at the start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: list[tuple[float, int, int]] = []
        self._ends = threading.Event()
        self._begun = time.monotonic()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ends.set()
        self._thread.join()

    def figures(self, seconds: float) -> dict[str, object]:
        """The sizes in the first `seconds`; nothing for a server without files.
        sizes    bytes of all files after each quarter of the time
        peaks    the most that they had within each quarter
        logs     the most that SQLite's write-ahead log had within each; it is part of the other two
        growth   the last peak by the one before
        """
        parts: list[list[tuple[int, int]]] = [[] for _ in range(QUARTERS)]
        for at, size, log in self._seen:
            if at <= seconds:
                parts[min(int(at / seconds * QUARTERS), QUARTERS - 1)].append((size, log))
        if not all(parts) or not all(size for size, _ in parts[-1]):
            return {}
        peaks = [max(size for size, _ in part) for part in parts]
        figures: dict[str, object] = {"sizes": [part[-1][0] for part in parts], "peaks": peaks}
        logs = [max(log for _, log in part) for part in parts]
        if any(logs):
            figures["logs"] = logs
        if peaks[-2]:
            figures["growth"] = peaks[-1] / peaks[-2]
        return figures

    def _look(self) -> None:
        while not self._ends.wait(_STEP_SECONDS):
            size = log = 0
            for path in self._folder.rglob("*"):
                try:
                    # Without the output of the processes.
                    if path.suffix != ".err" and path.is_file():
                        size += path.stat().st_size
                        log += path.stat().st_size if path.name.endswith("-wal") else 0
                except OSError:
                    pass  # It was removed meanwhile.
            self._seen.append((time.monotonic() - self._begun, size, log))
