"""Draws docs/pictures/: the way of the data, and a terminal with what the commands of README.md print.

    make pictures      needs bin/shardify, python/shardify/_shardify.so and a Python with torch

The commands and train.py are those of README.md. They run in a terminal of 104 columns in build/pictures.
"""
import fcntl
import html
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "docs", "pictures")
COLUMNS = 104
THEMES = {
    "light": {"back": "#f6f8fa", "edge": "#d0d7de", "text": "#1f2328", "quiet": "#59636e", "accent": "#0550ae", "box": "#ffffff"},
    "dark": {"back": "#0d1117", "edge": "#3d444d", "text": "#e6edf3", "quiet": "#9198a1", "accent": "#79c0ff", "box": "#161b22"},
}
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def blocks(language):
    with open(os.path.join(ROOT, "README.md")) as f:
        return re.findall(rf"```{language}\n(.*?)```", f.read(), re.S)


def run(command, folder, env):
    """What a command writes to a terminal."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    child = subprocess.Popen(["sh", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=its, stderr=its)
    os.close(its)
    out = b""
    while True:
        try:
            some = os.read(ours, 1 << 16)
        except OSError:
            break
        if not some:
            break
        out += some
    os.close(ours)
    if child.wait() != 0:
        sys.exit(f"{command}: exit code {child.returncode}\n{out.decode()}")
    return screen(out.decode())


def screen(text):
    """The lines that are left when a terminal has shown a text."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", text):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        elif part.startswith("\x1b["):
            if part.endswith("K"):
                lines[row] = "" if part == "\x1b[2K" else lines[row][:column]
        else:
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + len(part):]
            column += len(part)
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines]


def fold(line):
    """A line as a terminal breaks it."""
    return [line[i : i + COLUMNS] for i in range(0, max(len(line), 1), COLUMNS)]


def recording():
    work = os.path.join(ROOT, "build", "pictures")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    subprocess.run(["go", "run", "./testdata/demo", "testdata/demo/digits.npz", os.path.join(work, "photos")], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(work, "train.py"), "w") as f:
        f.write(next(b for b in blocks("python") if b.startswith("# train.py")))
    os.makedirs(os.path.join(work, "bin"))
    os.symlink(sys.executable, os.path.join(work, "bin", "python"))
    env = dict(os.environ, PATH=os.pathsep.join([os.path.join(ROOT, "bin"), os.path.join(work, "bin"), os.environ["PATH"]]), PYTHONPATH=os.path.join(ROOT, "python"), TERM="xterm-256color")
    out = []
    for command in next(b for b in blocks("sh") if b.startswith("shardify inspect photos\n")).splitlines():
        out.append(("command", "$ " + command))
        out += [("text", part) for line in run(command, work, env) for part in fold(line)]
        out.append(("text", ""))
    return out[:-1]


def terminal(lines, t):
    step, left, top = 17, 16, 44
    width, height = left * 2 + COLUMNS * 7.83, top + len(lines) * step + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" role="img" aria-label="A terminal with the five commands of README.md">',
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="8" fill="{t["back"]}" stroke="{t["edge"]}"/>',
        *(f'<circle cx="{18 + 16 * i}" cy="17" r="5" fill="{t["edge"]}"/>' for i in range(3)),
        f'<g font-family="{MONO}" font-size="13" fill="{t["text"]}" style="white-space:pre">',
    ]
    for i, (kind, text) in enumerate(lines):
        if text:
            style = f' fill="{t["accent"]}" font-weight="bold"' if kind == "command" else ""
            out.append(f'<text x="{left}" y="{top + i * step}" xml:space="preserve" textLength="{len(text) * 7.83:.1f}" lengthAdjust="spacingAndGlyphs"{style}>{html.escape(text, False)}</text>')
    return "\n".join([*out, "</g>", "</svg>"]) + "\n"


def flow(t):
    """The way of the data in five boxes."""
    boxes = [
        ("inputs", ["ROOT, HDF5", "NPZ, Parquet", "images, tars"]), ("plan", ["reads metadata", "fixes every byte", "splits, order"]),
        ("convert", ["any number of tasks", "label, select, shuffle", "augment, resume"]), ("shards", ["mmap, WebDataset", "MDS, Megatron", "verify: every byte"]),
        ("Loader", ["threads, no workers", "exact resume", "batches on the GPU"]),
    ]
    w, h, gap, pad = 166, 104, 34, 8
    width, height = pad * 2 + len(boxes) * w + (len(boxes) - 1) * gap, h + pad * 2
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{", then ".join(b[0] for b in boxes)}">']
    for i, (name, lines) in enumerate(boxes):
        x = pad + i * (w + gap)
        if i:
            y, end = pad + h / 2, x - 5
            out.append(f'<path d="M{x - gap + 5} {y}H{end - 7}M{end - 9} {y - 5}L{end} {y}L{end - 9} {y + 5}" fill="none" stroke="{t["quiet"]}" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/>')
        out.append(f'<rect x="{x}" y="{pad}" width="{w}" height="{h}" rx="8" fill="{t["box"]}" stroke="{t["edge"]}" stroke-width="1.5"/>')
        out.append(f'<text x="{x + w / 2}" y="{pad + 27}" text-anchor="middle" font-family="{SANS}" font-size="17" font-weight="600" fill="{t["accent"]}">{name}</text>')
        for k, line in enumerate(lines):
            out.append(f'<text x="{x + w / 2}" y="{pad + 51 + 19 * k}" text-anchor="middle" font-family="{SANS}" font-size="14" fill="{t["text"]}">{line}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    os.makedirs(OUT, exist_ok=True)
    lines = recording()
    for name, t in THEMES.items():
        for what, text in (("flow", flow(t)), ("terminal", terminal(lines, t))):
            with open(os.path.join(OUT, f"{what}-{name}.svg"), "w") as f:
                f.write(text)


main()
