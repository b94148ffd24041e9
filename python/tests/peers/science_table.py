"""The table of files of other libraries' tests: equal, refused, wrong.

python3 science_table.py WORK PAGE     SHARDIFY names the program, MRC_FILES the test files of mrcfile, ROUNDS the random files of each format
"""

from __future__ import annotations

import collections
import os
import subprocess
import sys
from importlib.metadata import version
from typing import Counter, List

import peer_science
import peer_science_fdm as fdm

TITLES = {"nifti": ("NIfTI", "nibabel"), "mrc": ("MRC", "mrcfile"), "wav": ("WAV", "scipy"), "fits": ("FITS", "astropy"), "dicom": ("DICOM", "pydicom"), "mat": ("MATLAB", "scipy")}
COLUMNS = ["equal", "equal but for", "read here alone", "refused by both", "refused", fdm.NOTHING]


def row(kind: str, found: Counter[str]) -> List[str]:
    by: Counter[str] = collections.Counter()
    for what, n in found.items():
        by[what.split(":")[0]] += n
    return ["%s, %s %s" % (*TITLES[kind], version(TITLES[kind][1])), str(sum(by.values())), *(str(by[c]) for c in COLUMNS), "0"]


def main() -> None:
    os.makedirs(fdm.WORK, exist_ok=True)
    tallies = {k: collections.Counter(peer_science.one(s, f) for f in s.files()) for k, s in peer_science.FORMATS.items()}
    tallies.update({title: fdm.tally(title, k) for title, k in fdm.KINDS.items()})
    here = os.path.dirname(os.path.abspath(__file__))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, cwd=here).stdout.strip()
    lines = [
        "# Files of other libraries' tests",
        "",
        "Made by `make science-table` at commit %s. Each file of the tests of a library is converted and compared with what the library reads: values bit for bit, NaN as NaN. A file with other values ends the program, so that the last column is 0." % commit,
        "",
        "| format, library | files | equal | equal, some arrays refused | only read here | both refuse | refused here | nothing to compare | wrong |",
        "|---|---|---|---|---|---|---|---|---|",
        *("| %s |" % " | ".join(row(k, found)) for k, found in tallies.items() if found),
        "",
        "Why, in the words of the program, without numbers of the file:",
        "",
    ]
    for kind, found in tallies.items():
        for what, n in sorted(found.items(), key=lambda x: (-x[1], x[0])):
            if ":" in what:
                lines.append("- %s, %d: %s" % (TITLES[kind][0], n, what))
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
