"""Makes the benchmark data under DIR, once. Real formats, seeded values.

files      100,000 files of 2-12 KB in 100 folders
layouts    the same files in folders of 100, 10,000 and 100,000
jpegs      20,000 JPEG files of about 38 KB in 20 folders
npz-stored, npz-deflated   400,000 events in 4 files: x f32[64,7], y i64, mask u8[64] (1864 bytes an event)
npz-tenth  the first tenth of npz-stored in one file
volumes    six NPZ of one sample each, about 140 MB, x f32 and y u8 of differing shapes
big        4 GiB of stored and of deflated NPZ (on request: gen.py DIR big)
hdf5       one file of 320,000 such events each: x alone, as contiguous, gzip (gzip-4 and shuffle), lzf, zstd, blosc (lz4 and shuffle), and noise (gzip-4 and shuffle, values that hardly compress); many-chunks (200,000
           chunks) and many-datasets (10,000 data sets)
hdf5-big   four gzip-4 and shuffle files with x, y and mask, 2.2 GB decoded
root       a flat ntuple of 20 columns and 3,000,000 entries (zlib, lz4, zstd), a NanoAOD-like tree of 1,500 jagged branches (zstd, as TTree and RNTuple), a wide tree of 2,600 branches
root-big   four zstd files with x-like jagged columns, 2 GB decoded
parquet    3,000,000 rows of 20 columns like those of root (snappy, zstd, gzip), jagged ones of 40 items (zstd), text and dictionaries (snappy), 20,000 images of 20 KB as Hugging Face stores them
"""
import io
import os
import sys

import numpy as np




def files(root, folder=1000):
    rng = np.random.default_rng(1)
    pool = rng.integers(0, 256, 1 << 20, dtype=np.uint8).tobytes()
    sizes = rng.integers(2048, 12288, 100_000)
    starts = rng.integers(0, (1 << 20) - 12288, 100_000)
    for i in range(100_000):
        d = f"{root}/d{i // folder:03d}"
        if i % folder == 0:
            os.makedirs(d, exist_ok=True)
        with open(f"{d}/{i:06d}.bin", "wb") as f:
            f.write(pool[starts[i]:starts[i] + sizes[i]])


def layouts(root):
    for folder in 100, 10_000, 100_000:
        files(f"{root}/{folder}", folder)


def jpegs(root):
    from PIL import Image

    rng = np.random.default_rng(2)
    images = []
    for i in range(200):
        base = rng.normal(128, 40, (32, 32, 3)).clip(0, 255).astype(np.uint8)
        img = np.asarray(Image.fromarray(base).resize((320, 240), Image.BICUBIC)).astype(float)
        img = (img + rng.normal(0, 12, img.shape)).clip(0, 255).astype(np.uint8)
        b = io.BytesIO()
        Image.fromarray(img).save(b, "JPEG", quality=91)
        images.append(b.getvalue())
    print("jpeg bytes, mean", int(np.mean([len(b) for b in images])))
    for i in range(20_000):
        d = f"{root}/c{i // 1000:02d}"
        if i % 1000 == 0:
            os.makedirs(d, exist_ok=True)
        with open(f"{d}/{i:05d}.jpg", "wb") as f:
            f.write(images[i % 200])


def events(rng, n):
    x = rng.lognormal(0, 1, (n, 64, 7)).astype(np.float32)
    length = rng.integers(8, 60, n)
    mask = (np.arange(64)[None] < length[:, None]).astype(np.uint8)
    x *= mask[:, :, None]
    return {"x": x, "y": rng.integers(0, 10, n), "mask": mask}


def npz(root):
    for kind in "npz-stored", "npz-deflated", "npz-tenth":
        os.makedirs(f"{root}/{kind}", exist_ok=True)
    rng = np.random.default_rng(3)
    for i in range(4):
        e = events(rng, 100_000)
        np.savez(f"{root}/npz-stored/events_{i}.npz", **e)
        np.savez_compressed(f"{root}/npz-deflated/events_{i}.npz", **e)
        if i == 0:
            np.savez(f"{root}/npz-tenth/events.npz", **{k: v[:40_000] for k, v in e.items()})


def volumes(root):
    rng = np.random.default_rng(4)
    noise = rng.normal(0, 1, 1 << 20).astype(np.float32)
    for i in range(6):
        shape = (1, 190 + 4 * i, 384, 384 - 8 * i)
        n = int(np.prod(shape))
        x = np.resize(noise, n).reshape(shape)
        y = np.resize((noise > 0.5).astype(np.uint8), n).reshape(shape)
        np.savez(f"{root}/case_{i:05d}.npz", x=x, y=y)


def big(root):
    rng = np.random.default_rng(5)
    e = events(rng, 100_000)
    os.makedirs(f"{root}/stored", exist_ok=True)
    os.makedirs(f"{root}/deflated", exist_ok=True)
    e["x"] = np.concatenate([e["x"]] * 6)
    e["y"] = np.concatenate([e["y"]] * 6)
    e["mask"] = np.concatenate([e["mask"]] * 6)
    for i in range(4):
        np.savez(f"{root}/stored/big_{i}.npz", **e)
    np.savez_compressed(f"{root}/deflated/big_0.npz", **e)
    for i in range(1, 4):
        os.link(f"{root}/deflated/big_0.npz", f"{root}/deflated/big_{i}.npz")


def hdf5(root):
    import h5py
    import hdf5plugin

    rng = np.random.default_rng(6)
    x = np.concatenate([events(rng, 80_000)["x"] for _ in range(4)])
    noise = rng.normal(0, 1, x.shape).astype(np.float32)
    chunks = (256, 64, 7)
    for kind, data, how in (
        ("contiguous", x, {}),
        ("gzip", x, dict(chunks=chunks, compression="gzip", compression_opts=4, shuffle=True)),
        ("noise", noise, dict(chunks=chunks, compression="gzip", compression_opts=4, shuffle=True)),
        ("lzf", x, dict(chunks=chunks, compression="lzf", shuffle=True)),
        ("zstd", x, dict(chunks=chunks, shuffle=True, **hdf5plugin.Zstd(clevel=3))),
        ("blosc", x, dict(chunks=chunks, **hdf5plugin.Blosc(cname="lz4", clevel=5, shuffle=1))),
    ):
        os.makedirs(f"{root}/{kind}", exist_ok=True)
        with h5py.File(f"{root}/{kind}/events.h5", "w") as f:
            f.create_dataset("x", data=data, **how)
    os.makedirs(f"{root}/many", exist_ok=True)
    with h5py.File(f"{root}/many/chunks.h5", "w") as f:
        f.create_dataset("x", data=np.arange(200_000 * 8, dtype=np.int32).reshape(-1, 8), chunks=(1, 8))
    with h5py.File(f"{root}/many/datasets.h5", "w") as f:
        for i in range(10_000):
            f.create_dataset(f"group{i // 100:03d}/data{i % 100:03d}", data=np.arange(16, dtype=np.float32) + i)


def hdf5_big(root):
    import h5py

    rng = np.random.default_rng(7)
    for i in range(4):
        parts = [events(rng, 75_000) for _ in range(4)]
        with h5py.File(f"{root}/events_{i}.h5", "w") as f:
            for k in parts[0]:
                a = np.concatenate([p[k] for p in parts])
                f.create_dataset(k, data=a, chunks=(256, *a.shape[1:]), compression="gzip", compression_opts=4, shuffle=True)


def jagged(rng, n, mean, fields):
    import awkward as ak

    counts = rng.poisson(mean, n)
    total = int(counts.sum())
    kinds = (lambda: rng.exponential(30, total).astype(np.float32), lambda: rng.normal(0, 1.5, total).astype(np.float32),
             lambda: rng.integers(0, 40, total).astype(np.int32), lambda: rng.random(total) > 0.5)
    values = {f: kinds[i % 4]() for i, f in enumerate(fields)}
    return ak.unflatten(ak.zip(values), counts)


def root(base):
    import uproot

    rng = np.random.default_rng(8)
    codecs = {"zlib": uproot.ZLIB(1), "lz4": uproot.LZ4(4), "zstd": uproot.ZSTD(5)}
    flat = lambda n: {f"f{i:02d}": np.round(rng.normal(0, 100, n), 2).astype(np.float32) if i % 4 else rng.integers(0, 1000, n).astype(np.int32) for i in range(20)}
    parts = [flat(100_000) for _ in range(30)]
    for kind, codec in codecs.items():
        os.makedirs(f"{base}/flat-{kind}", exist_ok=True)
        with uproot.recreate(f"{base}/flat-{kind}/flat.root", compression=codec) as f:
            f.mktree("Events", {k: v.dtype for k, v in parts[0].items()})
            for p in parts:
                f["Events"].extend(p)
    groups = {f"Obj{g:02d}": [f"v{i:02d}" for i in range(50)] for g in range(30)}
    blocks = [{g: jagged(rng, 5_000, 1 + i % 6, names) for i, (g, names) in enumerate(groups.items())} for _ in range(4)]
    for kind in "nano", "nano-rntuple":
        os.makedirs(f"{base}/{kind}", exist_ok=True)
        with uproot.recreate(f"{base}/{kind}/nano.root", compression=codecs["zstd"]) as f:
            if kind == "nano":
                f.mktree("Events", {g: blocks[0][g].type for g in groups})
                f["Events"].extend(blocks[0])
            else:
                f.mkrntuple("Events", blocks[0])
            for b in blocks[1:]:
                f["Events"].extend(b)
    os.makedirs(f"{base}/wide", exist_ok=True)
    with uproot.recreate(f"{base}/wide/wide.root", compression=codecs["zstd"]) as f:
        f.mktree("Events", {f"branch_{i:04d}": np.float32 for i in range(2600)})
        for _ in range(2):
            f["Events"].extend({f"branch_{i:04d}": rng.normal(0, 1, 500).astype(np.float32) for i in range(2600)})


def root_big(base):
    import uproot

    rng = np.random.default_rng(9)
    names = [f"v{i:02d}" for i in range(8)]
    for i in range(4):
        with uproot.recreate(f"{base}/events_{i}.root", compression=uproot.ZSTD(5)) as f:
            for k in range(10):
                block = {"part": jagged(rng, 50_000, 40, names), "label": rng.integers(0, 10, 50_000).astype(np.int32)}
                if k == 0:
                    f.mktree("Events", {"part": block["part"].type, "label": np.int32})
                f["Events"].extend(block)


def parquet(base):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(10)

    def save(kind, parts, **kw):
        os.makedirs(f"{base}/{kind}", exist_ok=True)
        with pq.ParquetWriter(f"{base}/{kind}/{kind}.parquet", parts[0].schema, **kw) as w:
            for p in parts:
                w.write_table(p)

    def flat(n):
        return pa.table({f"f{i:02d}": np.round(rng.normal(0, 100, n), 2).astype(np.float32) if i % 4 else rng.integers(0, 1000, n).astype(np.int32) for i in range(20)})

    parts = [flat(500_000) for _ in range(6)]
    for codec in "snappy", "zstd", "gzip":
        save(f"flat-{codec}", parts, compression=codec)
    save("flat-plain", parts, compression="none", use_dictionary=False)

    def lists(n):
        offsets = np.zeros(n + 1, np.int32)
        np.cumsum(rng.poisson(40, n), out=offsets[1:])
        m = int(offsets[-1])
        values = [rng.exponential(30, m).astype(np.float32), rng.normal(0, 1.5, m).astype(np.float32), rng.integers(0, 40, m).astype(np.int32), rng.normal(0, 1, m)]
        return pa.table({**{f"v{i}": pa.ListArray.from_arrays(offsets, v) for i, v in enumerate(values)}, "label": rng.integers(0, 10, n)})

    save("jagged", [lists(100_000) for _ in range(6)], compression="zstd")
    words = np.array(["word%d" % i for i in range(5000)])

    def text(n):
        return pa.table({"id": pa.array(["%016x" % k for k in rng.integers(0, 1 << 62, n)]), "kind": pa.array(words[rng.integers(0, 50, n)]),
                         "text": pa.array([" ".join(w) for w in words[rng.integers(0, 5000, (n, 12))]]), "score": rng.normal(size=n)})

    save("text", [text(200_000) for _ in range(5)], compression="snappy")
    pool = rng.integers(0, 256, 1 << 20, dtype=np.uint8).tobytes()

    def images(n):
        at = rng.integers(0, (1 << 20) - 30_000, n)
        size = rng.integers(10_000, 30_000, n)
        b = pa.array([b"\xff\xd8\xff\xe0" + pool[a:a + s] for a, s in zip(at, size)])
        image = pa.StructArray.from_arrays([b, pa.array(["%d.jpg" % i for i in range(n)])], ["bytes", "path"])
        return pa.table({"image": image, "label": rng.integers(0, 10, n)})

    save("images", [images(1_000) for _ in range(20)], compression="snappy")


def main():
    base, want = sys.argv[1], sys.argv[2:] or ["files", "jpegs", "npz", "volumes"]
    for name in want:
        root_dir = base if name == "npz" else f"{base}/{name}"
        flag = f"{base}/{name}.done"
        if os.path.exists(flag):
            continue
        os.makedirs(root_dir, exist_ok=True)
        print("making", name, flush=True)
        MAKE[name](root_dir)
        open(flag, "w").close()


MAKE = {"files": files, "layouts": layouts, "jpegs": jpegs, "npz": npz, "volumes": volumes, "big": big, "hdf5": hdf5, "hdf5-big": hdf5_big, "root": root, "root-big": root_big, "parquet": parquet}
main()
