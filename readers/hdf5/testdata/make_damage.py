"""Makes the files that damage_test.go damages, and one with a type that is not read.

    python make_damage.py
"""
import h5py
import numpy as np

for libver in ("earliest", "latest"):
    with h5py.File(f"damage_{libver}.h5", "w", libver=libver) as f:
        f["x"] = np.arange(12, dtype="<f4").reshape(6, 2)
        f["label"] = np.arange(6, dtype="<i2")
        f["Info/run"] = np.arange(6, dtype="<i4")
        f["label"].attrs["units"] = "counts"
    with h5py.File(f"damage_groups_{libver}.h5", "w", libver=libver) as f:
        for i in (0, 1, 2, 9, 10):
            f[f"data/demo_{i}/actions"] = np.full((2, 3), i, "<f4")
            f[f"data/demo_{i}/obs/state"] = np.full(4, i, "<f8")
        f["mask"] = np.arange(3, dtype="<i4")
with h5py.File("longdouble.h5", "w", libver="latest") as f:
    f["x"] = np.arange(12, dtype="<f4").reshape(6, 2)
    f["label"] = np.arange(6, dtype=np.longdouble)
    f["Info/run"] = np.arange(6, dtype="<i4")

for name, bad, path in (("damage_latest.h5", "bad_label.h5", "label"), ("damage_groups_latest.h5", "bad_group.h5", "data/demo_9")):
    with h5py.File(name) as f:
        at = h5py.h5o.get_info(f[path].id).addr
    b = bytearray(open(name, "rb").read())
    b[at + 9] ^= 1  # in the object header, under its checksum
    open(bad, "wb").write(b)
