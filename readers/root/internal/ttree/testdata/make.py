# Makes the files of this folder; needs uproot and numpy.
import awkward as ak
import numpy as np
import uproot

with uproot.recreate("flat.root", compression=uproot.ZLIB(1)) as f:
    f.mkdir("dir")
    for part in range(3):
        n = np.arange(part * 4, part * 4 + 4)
        data = {
            "i": n.astype("i4"),
            "d": n / 2,
            "flag": n % 2 == 0,
            "cov": np.zeros((4, 2, 3), "f4") + n[:, None, None],
            "jet": ak.zip({"pt": ak.Array([[1.5] * int(k % 3) for k in n]), "id": ak.Array([[int(k)] * int(k % 3) for k in n])}),
        }
        if part == 0:
            types = {k: "bool" if k == "flag" else ("f4", (2, 3)) if k == "cov" else ak.type(v).content if k == "jet" else v.dtype for k, v in data.items()}
            tree = f.mktree("dir/Events", types)
        tree.extend(data)
    f.mktree("one", {"x": "u2"}).extend({"x": np.zeros(3, "u2")})

with uproot.recreate("plain.root", compression=None) as f:
    data = {"a": np.arange(5, dtype="i8"), "b": ak.Array([[1, 2], [], [3], [], []])}
    f.mktree("t", {"a": "i8", "b": "var * int64"}).extend(data)
