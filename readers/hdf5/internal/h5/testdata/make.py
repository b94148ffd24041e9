"""Makes the files of this folder: python3 make.py (h5py 3). They are small, and
between them hold every structure that a test changes on purpose."""
import h5py
import numpy as np


def old():
    """Old groups, v1 headers, v1 B-tree, links of every kind, behind a user block."""
    with h5py.File("old.h5", "w", libver="earliest", userblock_size=512) as f:
        g = f.create_group("train/a/b")
        g["x"] = np.arange(6, dtype=">i2").reshape(2, 3)
        f["train/again"] = f["train/a"]  # two paths, one object
        g["up"] = f["train"]  # a cycle
        f["soft"] = h5py.SoftLink("/train/a/b/x")
        f["train/relative"] = h5py.SoftLink("a/b/x")
        f["train/a/absolute"] = h5py.SoftLink("/soft")
        f["dangling"] = h5py.SoftLink("/nowhere")
        f["loop1"] = h5py.SoftLink("/loop2")
        f["loop2"] = h5py.SoftLink("/loop1")
        f["ext"] = h5py.ExternalLink("other.h5", "/far")
        c = f.create_dataset("chunked", (10, 6), "f4", chunks=(4, 3), maxshape=(None, 6), compression=4, shuffle=True, fillvalue=-1)
        c[0:4] = 1
        c[8:10, 3:6] = 2
        c.attrs["unit"] = "GeV"
        c.attrs["ids"] = np.arange(5, dtype="u8")
        f["text"] = np.array(["one", "", "three"], dtype=h5py.string_dtype())
        f["ragged"] = h5py.Empty("f8")
        v = f.create_dataset("vlen", (3,), h5py.vlen_dtype("i4"))
        v[0], v[2] = [1, 2, 3], [4]
        f["flag"] = np.array([True, False])
        f["table"] = np.zeros(3, [("n", "i1"), ("v", ">f8", (2,)), ("s", "S5")])


def new():
    """Every structure with a checksum, and nothing without: no variable-length data."""
    with h5py.File("new.h5", "w", libver=("v110", "v110")) as f:
        z = dict(compression=1)
        f.create_dataset("single", (3, 4), "i2", chunks=(3, 4), **z)[...] = 1
        f.create_dataset("fixed", (7, 5), "i2", chunks=(2, 2), **z)[...] = 2
        f.create_dataset("extensible", (9, 5), "i1", chunks=(1, 2), maxshape=(None, 8), **z)[:7] = 3
        f.create_dataset("btree", (5, 5), "i1", chunks=(1, 2), maxshape=(None, None))[:4] = 4
        p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        p.set_chunk((2, 2))
        p.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        h5py.h5d.create(f.id, b"implicit", h5py.h5t.STD_I16LE, h5py.h5s.create_simple((3, 3)), p)
        f["compact"] = np.float16(1.5)
        g = f.create_group("dense")
        for i in range(12):
            g["link%d" % i] = h5py.SoftLink("/fixed")
        for i in range(10):
            g.attrs["a%d" % i] = i
        f["type"] = np.dtype("i4")


def sizes():
    """Addresses of 2 bytes and lengths of 4: heap IDs then hold the place of a huge
    object themselves."""
    c = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    c.set_sizes(2, 4)
    a = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    a.set_libver_bounds(h5py.h5f.LIBVER_V18, h5py.h5f.LIBVER_V110)
    with h5py.File(h5py.h5f.create(b"sizes.h5", h5py.h5f.ACC_TRUNC, c, a)) as f:
        g = f.create_group("g")
        for i in range(10):
            g["n%d" % i] = h5py.SoftLink("/g")
        g["long" * 1200] = h5py.SoftLink("/g")


def virtual():
    with h5py.File("virtual.h5", "w", libver=("v110", "v110")) as f:
        v = h5py.VirtualLayout((8, 3), "i4")
        v[1:5:2] = h5py.VirtualSource("src.h5", "a/x", (2, 3))
        v[6:8, 0:2] = h5py.VirtualSource(".", "y", (5, 5))[1:3, 2:4]
        f.create_virtual_dataset("v", v, fillvalue=7)
    with h5py.File("virtual1.h5", "w", libver="latest") as f:  # names told once
        v = h5py.VirtualLayout((18,), "i4")
        here, there, far = ".", "a_file_with_a_long_name.h5", "another_file_with_a_long_name.h5"
        short, long = "y", "data/set/with/a/long/name"
        for i, (file, name) in enumerate([(here, short), (there, long), (there, long), (far, long), (there, short), (here, long)]):
            v[3 * i : 3 * i + 3] = h5py.VirtualSource(file, name, (9,))[i : i + 3]
        f.create_virtual_dataset("v", v)


old()
new()
sizes()
virtual()
