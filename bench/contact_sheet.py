#!/usr/bin/env python3
"""Draws docs/pictures/augment.jpg: one row of samples for each operation of --augment on images.

    python3 bench/contact_sheet.py --shardify bin/shardify PHOTO.jpg docs/pictures/augment.jpg

Needs Pillow. Each row is one conversion of the photo with --copies, read back from its
tar.
"""

import argparse
import io
import os
import subprocess
import tarfile
import tempfile

from PIL import Image, ImageDraw

ROWS = [
    ("resize=96", []),
    ("centre-crop=96", ["resize=128"]),
    ("random-crop=96", ["resize=128"]),
    ("random-resized-crop=96", []),
    ("flip", ["resize=96x96"]),
    ("rotate=30", ["resize=96x96"]),
    ("colour-jitter,brightness=0.5", ["resize=96x96"]),
    ("colour-jitter,contrast=0.7", ["resize=96x96"]),
    ("colour-jitter,saturation=1", ["resize=96x96"]),
    ("colour-jitter,hue=0.5", ["resize=96x96"]),
    ("encode=jpg,quality=10", ["resize=96x96"]),
]
COLUMNS, CELL, TEXT = 7, 104, 250


def row(shardify: str, photo: str, work: str, spec: str, before: list) -> list:
    out = os.path.join(work, "out")
    command = [shardify, "convert", os.path.join(work, "in"), "-o", out, "--format", "wds", "--fresh", "--quiet", "--seed", "1"]
    command += ["--copies", str(COLUMNS)]
    for s in before + [spec] + ([] if spec.startswith("encode") else ["encode=png"]):
        command += ["--augment", s]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(os.path.join(out, "shard-000000.tar")) as tar:
        return [Image.open(io.BytesIO(tar.extractfile(m).read())) for m in tar.getmembers()]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shardify", required=True)
    p.add_argument("photo")
    p.add_argument("out")
    a = p.parse_args()
    sheet = Image.new("RGB", (TEXT + COLUMNS * CELL, len(ROWS) * CELL), "white")
    draw = ImageDraw.Draw(sheet)
    with tempfile.TemporaryDirectory() as work:
        os.mkdir(os.path.join(work, "in"))
        with open(a.photo, "rb") as f, open(os.path.join(work, "in", "photo.jpg"), "wb") as g:
            g.write(f.read())
        for y, (spec, before) in enumerate(ROWS):
            draw.text((6, y * CELL + 40), spec, fill="black")
            if before:
                draw.text((6, y * CELL + 56), "after " + ", ".join(before), fill="gray")
            for x, image in enumerate(row(a.shardify, a.photo, work, spec, before)):
                image = image.convert("RGB")
                image.thumbnail((CELL - 4, CELL - 4))
                sheet.paste(image, (TEXT + x * CELL + 2, y * CELL + 2))
    sheet.save(a.out, quality=72)


if __name__ == "__main__":
    main()
