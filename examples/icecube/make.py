"""Invents IceCube events in the layout of the set on Kaggle.

    python3 make.py FOLDER [--events 2000] [--batches 4] [--format parquet|npz]

FOLDER/train/batch_N has a row for each pulse: sensor_id, time, charge, auxiliary, event_id.
FOLDER/train_meta has a row for each event: azimuth, zenith and others. FOLDER/sensor_geometry
has a row for each sensor: x, y, z. Light comes from a straight track, so that a direction can
be learned.
"""

import argparse
import os

import numpy as np


def write(path, columns, form):
    if form == "npz":
        np.savez(path + ".npz", **columns)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path + ".parquet")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--events", type=int, default=2000)
    p.add_argument("--batches", type=int, default=4)
    p.add_argument("--format", choices=["parquet", "npz"], default="parquet")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    os.makedirs(os.path.join(a.folder, "train"), exist_ok=True)
    rng = np.random.default_rng(a.seed)

    string = rng.uniform(-500, 500, (86, 2))
    place = np.array([[x, y, 500 - 17 * k] for x, y in string for k in range(60)])
    write(os.path.join(a.folder, "sensor_geometry"), {"sensor_id": np.arange(len(place), dtype=np.int16), "x": place[:, 0], "y": place[:, 1], "z": place[:, 2]}, a.format)

    ids = np.sort(rng.choice(10**7, a.events, replace=False)).astype(np.int64)
    azimuth, zenith = rng.uniform(0, 2 * np.pi, a.events), np.arccos(rng.uniform(-1, 1, a.events))
    batch = np.arange(a.events) * a.batches // a.events
    first, last = np.zeros(a.events, np.int64), np.zeros(a.events, np.int64)
    for b in range(a.batches):
        out = {k: [] for k in ("sensor_id", "time", "charge", "auxiliary", "event_id")}
        at = 0
        for e in np.flatnonzero(batch == b):
            n = int(np.exp(rng.normal(4, 0.8))) + 3
            d = -np.array([np.sin(zenith[e]) * np.cos(azimuth[e]), np.sin(zenith[e]) * np.sin(azimuth[e]), np.cos(zenith[e])])
            along = rng.uniform(-450, 450, n)
            hit = rng.uniform(-150, 150, 3) + along[:, None] * d
            near = rng.integers(0, len(place), (n, 96))  # of some sensors the nearest one
            sensor = near[np.arange(n), np.argmin(((place[near] - hit[:, None]) ** 2).sum(2), 1)]
            noise = rng.random(n) < 0.4
            sensor[noise] = rng.integers(0, len(place), noise.sum())
            time = np.where(noise, rng.uniform(6000, 16000, n), 10000 + along / 0.3 + rng.normal(0, 20, n)).astype(np.int64)
            order = np.argsort(time, kind="stable")
            out["sensor_id"].append(sensor[order].astype(np.int16))
            out["time"].append(time[order])
            out["charge"].append(np.round(rng.exponential(1, n) + 0.025, 3))
            out["auxiliary"].append(noise[order] | (rng.random(n) < 0.1))
            out["event_id"].append(np.full(n, ids[e]))
            first[e], last[e] = at, at + n - 1
            at += n
        write(os.path.join(a.folder, "train", f"batch_{b + 1}"), {k: np.concatenate(v) for k, v in out.items()}, a.format)
    write(os.path.join(a.folder, "train_meta"), {"batch_id": (batch + 1).astype(np.int64), "event_id": ids, "first_pulse_index": first, "last_pulse_index": last, "azimuth": azimuth, "zenith": zenith}, a.format)


if __name__ == "__main__":
    main()
