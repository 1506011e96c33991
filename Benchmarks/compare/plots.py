"""Plots as SVG, readable on white and on black, with a unit on every axis."""

from __future__ import annotations

import math
from html import escape
from dataclasses import dataclass

WIDTH, HEIGHT = 860, 460
LEFT, RIGHT, TOP, BOTTOM = 74, 660, 56, 400
LABEL_HEIGHT = 17
# Lines differ not only in color: each also has its own marker, and its name at its end.
COLOURS = {
    "bindhub": "#f08c00", "forwarder": "#868e96", "NATS": "#1c7ed6", "Redis": "#d6336c", "mosquitto": "#2f9e44",
    "JetStream": "#7048e8", "etcd": "#0c8599",
}
STYLE = """
  .page { fill: #ffffff; } text { font: 13px system-ui, sans-serif; fill: #212529; }
  .title { font-size: 16px; font-weight: 600; } .note { fill: #5c636a; }
  .grid { stroke: #dee2e6; } .axis { stroke: #868e96; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } text { fill: #e6edf3; } .note { fill: #9aa4ae; }
    .grid { stroke: #2b323b; } .axis { stroke: #767f89; }
  }
"""


@dataclass
class Line:
    name: str
    # For each position on the horizontal axis: median, minimum, maximum; None without a figure.
    points: list[tuple[float, float, float] | None]


def plot(title: str, horizontal: str, vertical: str, places: list[str], lines: list[Line]) -> str:
    """Equidistant positions on the horizontal axis, a logarithmic scale on the vertical axis."""
    lines = [line for line in lines if any(line.points)]
    values = [value for line in lines for point in line.points if point for value in point if value > 0]
    if not values:
        return ""
    low, high = math.floor(math.log10(min(values)) * 2) / 2, math.ceil(math.log10(max(values)) * 2) / 2
    high = high if high > low else low + 1

    def x(place: int) -> float:
        return LEFT + 24 + place * (RIGHT - LEFT - 48) / max(len(places) - 1, 1)

    def y(value: float) -> float:
        return BOTTOM - (math.log10(max(value, 10**low)) - low) / (high - low) * (BOTTOM - TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="title" x="{LEFT}" y="26">{escape(title)}</text>',
        f'<text class="note" x="{LEFT}" y="{TOP - 10}">{escape(vertical)}</text>',
        f'<text class="note" x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 42}" text-anchor="middle">'
        f'{escape(horizontal)}</text>',
    ]
    parts += _grid(low, high, y)
    parts += [f'<text x="{x(index):.1f}" y="{BOTTOM + 20}" text-anchor="middle">{escape(place)}</text>'
              for index, place in enumerate(places)]
    for number, line in enumerate(lines):
        parts += _draw(line, number, x, y)
    parts += _names(lines, x, y)
    return "\n".join([*parts, "</svg>", ""])


def _grid(low: float, high: float, y) -> list[str]:
    parts = [f'<line class="axis" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}"/>']
    for decade in range(math.floor(low), math.ceil(high) + 1):
        for step in (1, 2, 5) if high - low <= 3 else (1,):
            value = step * 10.0**decade
            if low - 1e-9 <= math.log10(value) <= high + 1e-9:
                parts.append(f'<line class="grid" x1="{LEFT}" y1="{y(value):.1f}" x2="{RIGHT}" y2="{y(value):.1f}"/>')
                parts.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{_count(value)}</text>')
    return parts


def _count(value: float) -> str:
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _colour(name: str) -> str:
    return next((colour for start, colour in COLOURS.items() if name.startswith(start)), "#868e96")


def _draw(line: Line, number: int, x, y) -> list[str]:
    colour, dashes = _colour(line.name), ("", "6 3", "2 3")[_place_in_family(line.name)]
    known = [(index, point) for index, point in enumerate(line.points) if point]
    path = " ".join(f"{'ML'[at > 0]}{x(index):.1f} {y(point[0]):.1f}" for at, (index, point) in enumerate(known))
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    parts = [f'<path d="{path}" fill="none" stroke="{colour}" '
             f'stroke-width="{3 if line.name.startswith("bindhub") else 2}"{dash}/>']
    for index, (middle, least, most) in known:
        place = x(index)
        parts.append(f'<line x1="{place:.1f}" y1="{y(least):.1f}" x2="{place:.1f}" y2="{y(most):.1f}" '
                     f'stroke="{colour}" stroke-width="1" opacity="0.7"/>')
        parts.append(_mark(number, place, y(middle), colour))
    return parts


def _place_in_family(name: str) -> int:
    """Contenders of one family have one color; durability determines the dashes."""
    if name.endswith(("QoS 1", "file", "everysec", "process", ", ipc")) and not name.startswith("forwarder"):
        return 1
    return 2 if name.endswith(("always", "disk")) else 0


def _mark(number: int, x: float, y: float, colour: str) -> str:
    shape = number % 3
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    if shape == 1:
        return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{colour}"/>'
    corners = f"{x:.1f},{y - 5:.1f} {x - 5:.1f},{y + 4:.1f} {x + 5:.1f},{y + 4:.1f}"
    return f'<polygon points="{corners}" fill="{colour}"/>'


def _names(lines: list[Line], x, y) -> list[str]:
    """The names at the ends of the lines, moved apart if they would overlap."""
    ends = []
    for number, line in enumerate(lines):
        last = max(index for index, point in enumerate(line.points) if point)
        ends.append((y(line.points[last][0]), number, line.name))
    places: list[float] = []
    for height, _, _ in sorted(ends):
        places.append(max(height, places[-1] + LABEL_HEIGHT) if places else max(height, TOP))
    room = BOTTOM
    for index in reversed(range(len(places))):
        places[index] = min(places[index], room)
        room = places[index] - LABEL_HEIGHT
    parts = []
    for place, (height, number, name) in zip(places, sorted(ends)):
        colour = _colour(name)
        parts.append(f'<path d="M{RIGHT - 18} {height:.1f} L{RIGHT + 8} {place:.1f}" fill="none" stroke="{colour}" '
                     'stroke-width="1" opacity="0.6"/>')
        parts.append(_mark(number, RIGHT + 14, place, colour))
        parts.append(f'<text x="{RIGHT + 24}" y="{place + 4:.1f}">{escape(name)}</text>')
    return parts
