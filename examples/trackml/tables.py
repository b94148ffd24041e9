"""Makes three tables of the files of all events: python3 tables.py FOLDER

FOLDER/hits.csv, truth.csv and particles.csv say which event a row is of, and have numbers of
hits and particles that are unique over all events.
"""

import csv
import glob
import os
import sys


def rows(folder):
    for path in sorted(glob.glob(os.path.join(folder, "event*-%s.csv" % kind))):
        event = int(os.path.basename(path)[5:14])
        with open(path, newline="") as f:
            for row in csv.DictReader(f):
                yield event, row


for kind in ("hits", "truth", "particles"):
    out = None
    with open(os.path.join(sys.argv[1], kind + ".csv"), "w", newline="") as f:
        for event, row in rows(sys.argv[1]):
            if "hit_id" in row:
                row["hit_id"] = event * 10**6 + int(row["hit_id"])
            if "particle_id" in row:
                row["particle_id"] = "%d-%s" % (event, row["particle_id"])
            if kind == "hits":
                row = {"event_id": event, **row}
            if out is None:
                out = csv.DictWriter(f, list(row))
                out.writeheader()
            out.writerow(row)
