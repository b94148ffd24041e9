"""Makes the HDF5 files of layouts beside it that make.py does not: splits in one file, a data
set for each sample, lists by offsets. h5py 3.16, PyTables of the day.

    python make_layouts.py

Numbers count up from 0 in C order in every data set.
"""
import h5py
import numpy as np
import tables


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


PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010800000000" "3a7e9b55" "0000000a49444154789c6360000000020001" "48afa471" "0000000049454e44ae426082")


def items():
    """A data set for each sample: 12 of them, named without zeros in front."""
    names = ["img_%d" % i for i in range(12)]
    with new("items.h5") as f:
        for i, n in enumerate(names):
            f["images/" + n] = count((4, 3), "<f4") + 100 * i
            f["masks/" + n] = count((2 + i % 3, 2), "<u1")
            f["about/" + n] = "text %d" % i
        f["labels"], f["classes"], f["scale"] = count((12,), "<i8"), np.array([b"a", b"b"]), 0.5
    with new("items_void.h5") as f:  # encoded images, as h5py keeps bytes
        for i, n in enumerate(names[:5]):
            f["images/" + n] = np.void(PNG + b"\0" * i)
            f["raw/" + n] = np.frombuffer(PNG + b"\1" * i, "u1")
        f["labels"] = count((5,), "<i8")
    ids = ["Q9", "P12", "A0B1", "P2", "Q10"]
    with new("items_ids.h5") as f:  # accessions, and the list of them
        for i, n in enumerate(ids):
            f[n] = (count((6,), "<f4") + 10 * i).astype("<f2")
        f["ids"], f["labels"] = np.array(ids, "S"), count((5,), "<i8")
    sizes = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    sizes.set_sizes(4, 4)
    # the list is of 12 bytes an element, an address of 4 bytes in each
    with h5py.File(h5py.h5f.create(b"items_short.h5", h5py.h5f.ACC_TRUNC, sizes)) as f:
        for i, n in enumerate(ids):
            f[n] = count((6,), "<f4") + 10 * i
        f.create_dataset("ids", data=ids, dtype=h5py.string_dtype(), track_times=False)
    with new("items_order.h5") as f:  # no list: which label is whose?
        for i, n in enumerate(ids):
            f["x/" + n] = count((6,), "<f4")
        f["labels"] = count((5,), "<i8")
    with new("items_kinds.h5") as f:
        for i in range(4):
            f["img_%d" % i], f["mask_%d" % i] = count((3, 3), "<u1"), count((3, 3), "<u1")
    with new("items_columns.h5") as f:  # no samples: columns with numbers
        for i in range(10):
            f["feat_%d" % i] = count((700,), "<f4")
        f["y"] = count((700,), "<i8")


def twice():
    """A virtual data set, and links, beside the files that they lead to."""
    layout = h5py.VirtualLayout((8, 2), "<f4")
    for k in range(2):
        with new("twice_%d.h5" % k) as f:
            f["data"] = count((4, 2), "<f4")
        layout[4 * k:4 * k + 4] = h5py.VirtualSource("twice_%d.h5" % k, "data", (4, 2))
    with new("twice_virtual.h5") as f:
        f.create_virtual_dataset("data", layout)
    with new("twice_links.h5") as f:
        f["flat"] = count((4, 2), "<f4")
        f["parts/data_0"], f["parts/data_1"] = h5py.ExternalLink("twice_0.h5", "data"), h5py.ExternalLink("twice_1.h5", "/data")


LENGTHS = [3, 0, 5, 1, 0, 4]  # of the lists in every file


def lists():
    """Flat arrays beside an array that says where lists begin."""
    ends = np.concatenate([[0], np.cumsum(LENGTHS)]).astype("<i8")
    n, m = len(LENGTHS), int(ends[-1])
    with new("lists.h5") as f:
        f["offsets"], f["energy"] = ends, count((n,), "<f8")
        f["hits/q"], f["hits/x"] = count((m,), "<f4"), count((m, 3), "<i2")
        t = np.zeros(m, [("a", "<i4"), ("b", "<f8", 2)])
        t["a"], t["b"] = np.arange(m), count((m, 2), "<f8")
        f["table"] = t
    with new("lists_names.h5") as f:  # two kinds of lists
        f["jets_offsets"], f["jets/pt"], f["jets/eta"] = ends, count((m,), "<f4"), count((m,), "<f4")
        f["tracks_row_splits"], f["tracks_d0"] = (2 * ends).astype("<u4"), count((2 * m,), "<f4")
        f["weight"] = count((n,), "<f8")
    with new("lists_short.h5") as f:  # the last offset is not the end
        f["offsets"], f["energy"], f["hits/q"] = np.append(ends[:-1], m - 1), count((n,), "<f8"), count((m,), "<f4")
    with new("lists_fall.h5") as f:  # offsets that fall
        f["offsets"], f["energy"], f["q"] = ends[[0, 1, 3, 2, 4, 5, 6]], count((n,), "<f8"), count((m,), "<f4")
    with new("lists_equal.h5") as f:  # as many values as lists
        f["offsets"], f["energy"], f["q"] = np.array([0, 2, 2, 3], "<i8"), count((3,), "<f8"), count((3,), "<f4")
    with new("lists_none.h5") as f:  # offsets of another kind
        f["offset"], f["x"], f["y"] = count((n,), "<f4"), count((n, 2), "<f4"), count((n,), "<i8")

    def table(name, t, group="/"):
        f.create_table(group, name, t, chunkshape=(8,))

    key = [("Run", "<u4"), ("Event", "<u4"), ("exists", "u1")]
    for name in ("lists_index.h5", "lists_index_gap.h5"):
        with tables.open_file(name, "w") as f:
            for t, rows in {"Pulses": LENGTHS, "Primary": [1] * n}.items():
                data = np.zeros(sum(rows), key + [("charge", "<f8")])
                data["charge"], data["Event"] = np.arange(len(data)), np.repeat(np.arange(n), rows)
                index = np.zeros(n, key + [("start", "<u8"), ("stop", "<u8")])
                index["Event"], index["exists"], index["stop"] = np.arange(n), np.array(rows) > 0, np.cumsum(rows)
                index["start"] = index["stop"] - rows
                if name == "lists_index_gap.h5" and t == "Pulses":
                    index["start"][2] += 1
                table(t, data)
                if "/__I3Index__" not in f:
                    f.create_group("/", "__I3Index__")
                table(t, index, "/__I3Index__")


def wanted():
    for name, fields in {"wanted_both.h5": "xw", "wanted_one.h5": "x"}.items():
        with new(name) as f:
            for field in fields:
                f[field] = count((3,), "<f8")


def halves():
    """Files in which a part that may look like the samples has less than half of the bytes."""
    with new("half_monitors.h5") as f:  # NeXus: frames of a detector beside a monitor that can grow
        f["entry/data/data"] = count((20, 8, 8), "<u2")
        f["entry/data/x"] = count((8,), "<f4")
        f.create_dataset("entry/control/counts", data=count((50,), "<i4"), maxshape=(None,))
        f.create_dataset("entry/control/time", data=count((50,), "<f4"), maxshape=(None,))
    with new("half_groups.h5") as f:  # numbered monitors, each of 3 values
        f["entry/data/data"] = count((20, 8, 8), "<u2")
        for k in range(3):
            f["entry/monitor_%d/counts" % k] = count((9,), "<i4")
    with new("half_nwb.h5") as f:
        f["acquisition/raw/data"] = count((200, 4), "<f4")
        f["acquisition/pos/data"], f["acquisition/pos/timestamps"] = count((50, 2), "<f8"), count((50,), "<f8")
        f["intervals/trials/start"] = count((10,), "<f8")
        f["units/quality"] = np.array([b"good"] * 7)
        f["units/spike_times"], f["units/spike_times_index"] = count((63,), "<f8"), np.array([3, 3, 10, 20, 40, 41, 63], "u1")
        for k in range(3):
            f["specifications/core/nwb.%d" % k] = "{}" * 4000


def ruled():
    """Lists that the names in the file do not show, and numbers that are no lists."""
    first = np.cumsum(LENGTHS) - LENGTHS
    n, m = len(LENGTHS), sum(LENGTHS)
    with new("ruled.h5") as f:
        f["id"], f["hits/q"], f["hits/x"], f["points"] = count((n,), "<i8"), count((m,), "<f4"), count((m, 3), "<i2"), count((2 * m,), "<f8")
        f.create_dataset("n_hits", data=np.array(LENGTHS, "u1"), chunks=(2,))
        f["first_hit"], f["end_hit"] = first.astype("<u4"), np.cumsum(LENGTHS)
        t = np.zeros(n, [("energy", "<f8"), ("first", "<i4"), ("number", ">u2")])
        t["energy"], t["first"], t["number"] = np.arange(n), 2 * first, 2 * np.array(LENGTHS)
        t["first"][1] = 9  # an empty list starts anywhere
        f["events"] = t
        f["negative"], f["beyond"], f["fewer"] = np.array([3, -1, 6, 1, 0, 4]), np.array([3, 0, 5, 1, 0, 1 << 62]), np.array([3, 0, 5, 1, 0, 3])
        f["outside"], f["shuffled"], f["overlap"] = np.array([0, 3, 3, 8, 9, 14]), np.array([8, 3, 3, 0, 9, 9]), np.array([0, 3, 2, 7, 9, 9])
        f["longer"] = np.array(LENGTHS + [0])


def ends():
    """Lists by their ends, and columns that are named alike."""
    with new("ends.h5") as f:
        f["id"], f["x"], f["x_index"] = count((4,), "<i8"), count((10,), "<f8"), np.array([3, 3, 7, 10], "u1")
        f["note"] = np.arange(4)
    with new("ends_columns.h5") as f:  # places in another table, and numbers from 1 on
        f["particle"], f["particle_index"] = count((6,), "<f4"), np.array([5, 2, 6, 1, 0, 6])
        f["frame"], f["frame_index"] = count((6,), "<f4"), np.arange(1, 7)
    with new("ends_bad.h5") as f:  # says that it is an index, and ends elsewhere
        f["id"], f["x"], f["x_index"] = count((4,), "<i8"), count((10,), "<f8"), np.array([3, 3, 7, 9], "u1")
        f["x_index"].attrs["neurodata_type"] = "VectorIndex"
    with new("ends_falling.h5") as f:
        f["id"], f["x"], f["x_index"] = count((4,), "<i8"), count((10,), "<f8"), np.array([3, 8, 7, 10], "u1")
        f["x_index"].attrs["neurodata_type"] = "VectorIndex"
    # NWB's doubly jagged columns: lists of lists. In "equal", both levels have as many lists.
    for name, outer, said in (("ends_twice.h5", [2, 2, 5, 6], False), ("ends_twice_said.h5", [2, 2, 5, 6], True),
                              ("ends_twice_equal.h5", [1, 2, 4, 6, 6, 6], False)):
        with new(name) as f:
            f["id"], f["x"], f["x_index"] = count((len(outer),), "<i8"), count((12,), "<f8"), np.array([3, 3, 5, 8, 9, 12], "u1")
            f["x_index_index"] = np.array(outer, "u1")
            for index in ("x_index", "x_index_index") if said else ():
                f[index].attrs["neurodata_type"] = "VectorIndex"
    with new("offsets_twice.h5") as f:
        f["id"], f["x"] = count((6,), "<i8"), count((12,), "<f8")
        f["x_offsets"], f["x_offsets_offsets"] = np.array([0, 3, 3, 5, 8, 9, 12]), np.array([0, 1, 2, 4, 6, 6, 6])


if __name__ == "__main__":
    halves()
    ends()
    ruled()
    wanted()
    lists()
    twice()
    items()
    splits()
