#!/usr/bin/env python3
"""Draws the chart of README.md from the records: docs/speed-light.svg and docs/speed-dark.svg.

    scripts/chart.py               writes both files
    scripts/chart.py --check       compares them with its own output; exit code 1 if they differ

One panel for each machine: the throughput of one thread by the length of the input, treewide and `blake3`. All panels
have the same axes, so that machines can be compared too.
"""

import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Records, and the title and the subtitle of their panels.
PANELS = [
    ("zen5-2vcpu", "AMD Zen 5", "AVX-512"),
    ("gnr-2vcpu", "Intel Granite Rapids", "AVX-512"),
    ("zen4-2vcpu", "AMD Zen 4", "AVX-512"),
    ("zen3-2vcpu", "AMD Zen 3", "AVX2"),
]

THEMES = {
    "light": {"text": "#1f2328", "muted": "#59636e", "grid": "#d8dee4", "treewide": "#0b62c4", "blake3": "#b35900"},
    "dark": {"text": "#e6edf3", "muted": "#9198a1", "grid": "#30363d", "treewide": "#58a6ff", "blake3": "#e3a34f"},
}

LEAST, MOST = 64, 64 << 20  # bytes, the x axis
TOP = 15  # GB/s, the y axis
TICKS = [(64, "64 B"), (1 << 10, "1 KiB"), (16 << 10, "16 KiB"), (256 << 10, "256 KiB"), (4 << 20, "4 MiB"), (64 << 20, "64 MiB")]
WIDTH, LEFT, RIGHT, HEAD, GAP, PANEL, FOOT = 880, 44, 14, 92, 20, 190, 44


def points(machine, engine):
    """(bytes, GB/s) of one engine."""
    record = json.loads((ROOT / "results" / machine / "lengths.json").read_text())
    for row in record["rows"]:
        if row["bytes"] >= LEAST:
            side = next(side for side in row["sides"] if side["name"] == engine)
            yield row["bytes"], row["bytes"] / side["stats"]["median"]


def draw(theme):
    color = THEMES[theme]
    width = (WIDTH - LEFT - RIGHT - GAP * (len(PANELS) - 1)) / len(PANELS)
    height = HEAD + PANEL + FOOT
    svg = []

    def text(x, y, words, size=12, fill="muted", anchor="start", weight="normal"):
        svg.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color.get(fill, fill)}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{words}</text>'
        )

    def y_of(speed):
        return HEAD + PANEL * (1 - speed / TOP)

    text(0, 18, "Throughput of one thread by length of input, GB/s (higher is better)", 15, "text", weight="600")
    for x, engine in [(0, "treewide"), (112, "blake3")]:
        svg.append(f'<line x1="{x}" y1="37" x2="{x + 18}" y2="37" stroke="{color[engine]}" stroke-width="3"/>')
        text(x + 24, 41, engine, 13, engine, weight="600")
    for index, (machine, title, subtitle) in enumerate(PANELS):
        left = LEFT + index * (width + GAP)

        def x_of(size):
            return left + width * math.log(size / LEAST) / math.log(MOST / LEAST)

        text(left, HEAD - 22, title, 13, "text", weight="600")
        text(left, HEAD - 7, subtitle)
        for speed in range(0, TOP + 1, 5):
            svg.append(
                f'<line x1="{left:.1f}" y1="{y_of(speed):.1f}" x2="{left + width:.1f}" y2="{y_of(speed):.1f}" '
                f'stroke="{color["grid"]}"/>'
            )
            if index == 0:
                text(left - 8, y_of(speed) + 4, speed, anchor="end")
        for size, name in TICKS[::2] if width < 230 else TICKS:
            anchor = "start" if size == LEAST else "end" if size == MOST else "middle"
            text(x_of(size), HEAD + PANEL + 18, name, 11, anchor=anchor)
        for engine in ["blake3", "treewide"]:
            line = [(x_of(size), y_of(speed)) for size, speed in points(machine, engine)]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
            svg.append(
                f'<polyline points="{path}" fill="none" stroke="{color[engine]}" stroke-width="2" '
                f'stroke-linejoin="round"/>'
            )
            svg.extend(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{color[engine]}"/>' for x, y in line)
    text(0, height - 6, "Records: results/*/lengths.json. Drawn by scripts/chart.py.", 11)
    about = "Throughput of treewide and blake3 by length of input on four CPUs; the numbers are in docs/performance.md"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="-apple-system, BlinkMacSystemFont, Segoe UI, Noto Sans, Helvetica, Arial, sans-serif" role="img">',
        f"<title>{about}</title>",
        *svg,
        "</svg>",
        "",
    ])


def main():
    stale = 0
    for theme in THEMES:
        path, drawn = ROOT / "docs" / f"speed-{theme}.svg", draw(theme)
        if sys.argv[1:] != ["--check"]:
            path.write_text(drawn)
        elif not path.exists() or path.read_text() != drawn:
            print(f"{path.relative_to(ROOT)} differs from the records: run scripts/chart.py")
            stale += 1
    return stale > 0


if __name__ == "__main__":
    sys.exit(main())
