"""The test vectors of the protocol, and how their content compares with what the codec reads."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Tuple

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "vectors"


def each(kind: str, direction: Optional[str] = None) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """The files of one kind, with their names; of frames those of one direction, if it is given."""
    for path in sorted((FOLDER / kind).glob("*.json")):
        vector = json.loads(path.read_text())
        if direction is None or vector["direction"] == direction:
            yield path.stem, vector


def shown(name: str, value: Any, of: Any) -> Any:
    """A value that the codec has read, in the notation of the vector `of`."""
    if isinstance(value, dict) and isinstance(of, dict):
        return {key: shown(key, each, of.get(key)) for key, each in value.items()}
    if isinstance(value, list) and isinstance(of, list):
        return [shown(name, each, of[at] if at < len(of) else None) for at, each in enumerate(value)]
    if isinstance(value, bytes):
        return value.hex() if name in ("tag", "secret", "present", "key") else value.decode()
    return str(value) if isinstance(of, str) and isinstance(value, int) else value


def meant(name: str, of: Any, like: Any) -> Any:
    """What the vector `of` means, in the types of `like`, which the codec has read."""
    if isinstance(of, dict):
        return {key: meant(key, each, like[key]) for key, each in of.items()}
    if isinstance(of, list):
        return [meant(name, each, like[at]) for at, each in enumerate(of)]
    if isinstance(of, str) and isinstance(like, bytes):
        return bytes.fromhex(of) if name in ("tag", "secret", "present", "key") else of.encode()
    return int(of) if isinstance(of, str) and isinstance(like, int) else of
