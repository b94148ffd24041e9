"""Makes the benchmark data under DIR, once. Real formats, seeded values.

files      100,000 files of 2-12 KB in 100 folders
jpegs      20,000 JPEG files of about 38 KB in 20 folders
npz-stored, npz-deflated   400,000 events in 4 files: x f32[64,7], y i64, mask u8[64] (1864 bytes an event)
npz-tenth  the first tenth of npz-stored in one file
volumes    six NPZ of one sample each, about 140 MB, x f32 and y u8 of differing shapes
big        4 GiB of stored and of deflated NPZ (on request: gen.py DIR big)
"""
import io
import os
import sys

import numpy as np




def files(root):
    rng = np.random.default_rng(1)
    pool = rng.integers(0, 256, 1 << 20, dtype=np.uint8).tobytes()
    sizes = rng.integers(2048, 12288, 100_000)
    starts = rng.integers(0, (1 << 20) - 12288, 100_000)
    for i in range(100_000):
        d = f"{root}/d{i // 1000:03d}"
        if i % 1000 == 0:
            os.makedirs(d, exist_ok=True)
        with open(f"{d}/{i:06d}.bin", "wb") as f:
            f.write(pool[starts[i]:starts[i] + sizes[i]])


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


def main():
    base, want = sys.argv[1], sys.argv[2:] or ["files", "jpegs", "npz", "volumes"]
    for name in want:
        root = base if name == "npz" else f"{base}/{name}"
        flag = f"{base}/{name}.done"
        if os.path.exists(flag):
            continue
        os.makedirs(root, exist_ok=True)
        print("making", name, flush=True)
        {"files": files, "jpegs": jpegs, "npz": npz, "volumes": volumes, "big": big}[name](root)
        open(flag, "w").close()


main()
