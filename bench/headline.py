"""Puts ten rows of bench/RESULTS.md between the markers of README.md.

    python3 bench/headline.py            writes README.md; make bench runs it
    python3 bench/headline.py --check    exits with 1 if README.md has other figures
"""
import os
import sys

ROWS = [
    "files -> wds, 2 jobs", "files -> wds, 2 jobs, ShardWriter", "jpegs -> wds, 2 jobs", "npz stored -> mmap", "npz deflated -> mmap",
    "hdf5 gzip -> mmap, 2 jobs", "hdf5 contiguous -> mmap, 2 jobs", "root flat-zlib -> mmap, 2 jobs", "root nano -> mmap, 2 jobs", "parquet flat-snappy -> mmap, 2 jobs",
]
START, END = "<!-- bench -->\n", "<!-- /bench -->"


def table(results):
    """The rows, as a table of README.md. What is on each line comes from the line of the same name."""
    lines = results.splitlines()
    machine = lines[2].split(" Made by ")[0]
    cells = {}
    for line in lines:
        row = [c.strip() for c in line.strip("|").split("|")]
        if len(row) == 11:
            cells[row[0]] = row
    out = [machine, "", "| what | against | times faster [of all runs] | CPU | ours | theirs | peak memory, ours and theirs |", "|---|---|---|---|---|---|---|"]
    for name in ROWS:
        _, peer, wall, cpu, _, _, _, ours, theirs, us, them = cells[name]
        out.append(f"| {name} | {peer} | {wall} | {cpu} | {ours} | {theirs} | {us}, {them} |")
    return "\n".join(out) + "\n"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(os.path.dirname(here), "README.md")
    with open(os.path.join(here, "RESULTS.md")) as f:
        new = table(f.read())
    with open(path) as f:
        text = f.read()
    i, k = text.index(START) + len(START), text.index(END)
    if "--check" in sys.argv:
        if text[i:k] != new:
            sys.exit("README.md does not have the figures of bench/RESULTS.md: run python3 bench/headline.py")
        return
    with open(path, "w") as f:
        f.write(text[:i] + new + text[k:])


if __name__ == "__main__":
    main()
