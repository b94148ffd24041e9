"""Makes the HDF5 files of layouts beside it that make.py does not: splits in one file, a data
set for each sample, lists by offsets. h5py 3.16, PyTables of the day.

    python make_layouts.py

Numbers count up from 0 in C order in every data set.
"""
import h5py
import numpy as np


def count(shape, dtype):
    return np.arange(int(np.prod(shape, dtype=int))).reshape(shape).astype(dtype)


def new(name):
    return h5py.File(name, "w", libver="latest")


def splits():
    with new("splits_groups.h5") as f:
        for split, n in {"train": 8, "test": 3}.items():
            f[split + "/x"] = count((n, 2, 2), "<f4")
            f[split + "/y"] = count((n,), "<i8")
        f["gain"] = np.float32(2.5)
    with new("splits_names.h5") as f:
        for split, n in {"train": 8, "valid": 2, "test": 3}.items():
            f["x_" + split] = count((n, 2, 2), "<f4")
            f["y_" + split] = count((n,), "<i8")
    with new("splits_equal.h5") as f:  # as many samples in both
        for split in ("train", "test"):
            f[split + "_set_x"] = count((6, 2), "<f4")
            f[split + "_set_y"] = count((6,), "<i8")
        f["list_classes"] = np.array([b"non-cat", b"cat"])
    with new("splits_unlabelled.h5") as f:
        f["train/x"], f["train/y"], f["test/x"] = count((8, 2), "<f4"), count((8,), "<i8"), count((3, 2), "<f4")
    with new("splits_masks.h5") as f:  # no splits: masks of the same nodes
        f["x"], f["y"] = count((6, 2), "<f4"), count((6,), "<i8")
        f["train_mask"], f["test_mask"] = np.arange(6) < 4, np.arange(6) >= 4
    with new("splits_types.h5") as f:
        f["train/x"], f["test/x"] = count((4, 2), "<f4"), count((3, 2), "<f8")


if __name__ == "__main__":
    splits()
