#!/usr/bin/env python3
"""Draws the terminal at the top of README.md from a real run: docs/terminal-light.svg and docs/terminal-dark.svg.

    cargo build --release -p treewide-cli && scripts/terminal.py

It needs root, because a byte that changes below the file system takes a file system in a file, mounted by a loop device.
"""

import os
import pty
import re
import subprocess
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
MARK = b"a photograph of the moon"
COLUMNS, SIZE, CHARACTER, LINE, PAD = 106, 14, 8.43, 21, 18

# The colours of a terminal by their number, and of text without one.
THEMES = {
    "light": {"": "#1f2328", "back": "#f6f8fa", "edge": "#d1d9e0", "dim": "#59636e",
              "31": "#cf222e", "32": "#116329", "33": "#7d4e00", "34": "#0550ae", "35": "#8250df", "36": "#1b7c83"},
    "dark": {"": "#e6edf3", "back": "#0d1117", "edge": "#30363d", "dim": "#9198a1",
             "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd"},
}  # fmt: skip


def on_terminal(command: str, folder: Path) -> str:
    """Return what a command prints on a terminal of COLUMNS columns."""
    environment = {**os.environ, "PATH": f"{PROGRAM}:{os.environ['PATH']}", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    mine, its = pty.openpty()
    subprocess.run(["stty", "cols", str(COLUMNS)], stdin=its, check=True)
    with subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdin=its, stdout=its, stderr=its):
        os.close(its)
        text = b""
        while True:
            try:
                text += os.read(mine, 4096)
            except OSError:  # the other end was closed
                break
    os.close(mine)
    # What progress drew and wiped again is not in the picture.
    lines = text.decode().replace("\r\n", "\n").split("\n")
    return "\n".join(re.sub(r"\x1b\[[0-9;?]*[A-HJKlh]", "", line.rsplit("\r", 1)[-1]) for line in lines)


def session(work: Path) -> list[str]:
    """The lines of the terminal: a directory is recorded, one file is edited, and one byte of another is damaged."""
    image, home = work / "disk", work / "home"
    home.mkdir()
    run = lambda *command: subprocess.run(command, check=True)  # noqa: E731
    run("truncate", "-s", "32M", image)
    run("mkfs.ext4", "-qF", image)
    mount, umount = ("mount", "-o", "loop", image, home), ("umount", home)
    run(*mount)
    try:
        for name, length in {"2024/hill.jpg": 3_000_000, "2025/lake.jpg": 4_000_000, "2025/moon.jpg": 277_100, "notes.txt": 40}.items():
            file = home / "photos" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(MARK * (length // len(MARK)) if "moon" in name else name.encode() * (length // len(name)))
        # So old that nothing is still being written.
        run("find", home / "photos", "-exec", "touch", "-d", "2026-01-01", "{}", "+")
        run("sleep", "3")
        lines = list[str]()

        def shown(command: str) -> None:
            lines.append(f"\x1b[2m$\x1b[0m {command}")
            lines.extend(on_terminal(command, home).rstrip("\n").split("\n"))

        shown("treewide snapshot photos")
        lines.append("\x1b[2m$\x1b[0m echo 'Lake, at dawn' >> photos/notes.txt")
        on_terminal("echo 'Lake, at dawn' >> photos/notes.txt", home)
        run(*umount)
        data = bytearray(image.read_bytes())
        data[data.index(MARK) + 100] ^= 1
        image.write_bytes(data)
        run(*mount)
        lines.append("\x1b[2m# a month later, the disk has flipped one bit of moon.jpg\x1b[0m")
        shown("treewide verify photos.b3")
    finally:
        subprocess.run(umount, check=False)
    return lines


def draw(lines: list[str], theme: dict[str, str]) -> str:
    width, height = round(COLUMNS * CHARACTER + 2 * PAD), LINE * len(lines) + 2 * PAD
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{SIZE}">',
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{theme["back"]}" stroke="{theme["edge"]}"/>',
    ]
    for row, line in enumerate(lines):
        spans, colour, bold = list[str](), theme[""], False
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b"):
                for code in part[2:-1].split(";"):
                    if code in ("", "0", "39", "22"):
                        colour, bold = theme[""], False
                    elif code == "1":
                        bold = True
                    elif code == "2":
                        colour = theme["dim"]
                    else:
                        colour = theme.get(code.replace("9", "3", 1) if len(code) == 2 else code, colour)
            elif part:
                weight = ' font-weight="bold"' if bold else ""
                spans.append(f'<tspan fill="{colour}"{weight}>{escape(part)}</tspan>')
        svg.append(f'<text xml:space="preserve" x="{PAD}" y="{PAD + LINE * row + 15}">{"".join(spans)}</text>')
    return "\n".join([*svg, "</svg>", ""])


def main() -> None:
    with tempfile.TemporaryDirectory() as work:
        lines = session(Path(work))
    for name, theme in THEMES.items():
        (ROOT / "docs" / f"terminal-{name}.svg").write_text(draw(lines, theme))
    print(*(re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines), sep="\n")


if __name__ == "__main__":
    main()
