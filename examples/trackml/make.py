"""Invents events in the layout of the TrackML challenge: python3 make.py FOLDER [--events 20]

FOLDER/eventNNNNNNNNN-hits.csv has a row for each hit, -truth.csv the particle of each hit, and
-particles.csv a row for each particle. Numbers of hits and particles start again in each event;
particle 0 is noise, which has no row.
"""

import argparse
import csv
import os

import numpy as np

RADII = np.array([32.0, 72, 116, 172, 260, 360, 500, 660, 820, 1020])  # mm


def write(path, head, rows):
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(head)
        out.writerows(rows)


def track(rng, p, q):
    """Hits of a particle from the origin in a field of 2 T along z."""
    pt = np.hypot(p[0], p[1])
    bend = 1000 * pt / (0.3 * 2)  # radius in mm, of GeV
    reach = RADII[RADII < 1.9 * bend]
    turn = 2 * np.arcsin(reach / (2 * bend))
    angle = np.arctan2(p[1], p[0]) - q * turn / 2
    xyz = np.stack([reach * np.cos(angle), reach * np.sin(angle), p[2] / pt * bend * turn], 1)
    keep = (np.abs(xyz[:, 2]) < 3000) & (rng.random(len(reach)) < 0.97)
    return xyz[keep] + rng.normal(0, 0.05, (keep.sum(), 3)), np.flatnonzero(keep)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("folder")
    a.add_argument("--events", type=int, default=20)
    a.add_argument("--seed", type=int, default=1)
    a = a.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    rng = np.random.default_rng(a.seed)
    hits_in_all = tracks_in_all = 0
    for event in range(1000, 1000 + a.events):
        hits, particles = [], []
        for k in range(int(rng.integers(20, 60))):
            name = (k + 1) << 52 | int(rng.integers(1, 10**6))  # beyond 2^53, as they are there
            pt, eta, phi = rng.exponential(1.0) + 0.3, rng.uniform(-2, 2), rng.uniform(-np.pi, np.pi)
            p, q = (pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)), int(rng.choice([-1, 1]))
            xyz, layers = track(rng, p, q)
            hits += [(*h, layer, name) for h, layer in zip(xyz, layers)]
            particles.append((name, 0, 0, 0, *p, q, len(xyz)))
            tracks_in_all += len(xyz) >= 3
        for _ in range(int(rng.integers(10, 100))):
            layer, angle = int(rng.integers(len(RADII))), rng.uniform(0, 2 * np.pi)
            hits.append((RADII[layer] * np.cos(angle), RADII[layer] * np.sin(angle), rng.uniform(-3000, 3000), layer, 0))
        hits = [hits[i] for i in rng.permutation(len(hits))]
        hits_in_all += len(hits)
        at = os.path.join(a.folder, "event%09d-" % event)
        number = {0: 0, **{row[0]: row[-1] for row in particles}}
        write(at + "hits.csv", ["hit_id", "x", "y", "z", "volume_id", "layer_id"], [(i + 1, *("%.4f" % v for v in h[:3]), 8 + 5 * (h[3] > 3) + 4 * (h[3] > 7), 2 * h[3] + 2) for i, h in enumerate(hits)])
        write(at + "truth.csv", ["hit_id", "particle_id", "weight"], [(i + 1, h[4], "%.6g" % (h[4] > 0 and 1 / (len(hits) * number[h[4]]))) for i, h in enumerate(hits)])
        write(at + "particles.csv", ["particle_id", "vx", "vy", "vz", "px", "py", "pz", "q", "nhits"], [(r[0], *r[1:4], *("%.6g" % v for v in r[4:7]), *r[7:]) for r in particles])
    print("%d events, %d hits, %d tracks of 3 hits and more" % (a.events, hits_in_all, tracks_in_all))


main()
