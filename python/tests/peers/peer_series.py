"""pydicom and numpy: random series of DICOM files are the volumes that --sample series makes of them.

python3 peer_series.py WORK     SHARDIFY names the program; ROUNDS and SEED the random series

Each round makes a folder of one to three series in any directions, in files whose names say nothing of their order.
In a third of the rounds a slice is missing, is there twice, lies in another direction or has another size: refused.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any, List

import numpy as np
import pydicom
from expect import main
from pydicom.dataset import FileDataset, FileMetaDataset
from science_shards import Refused, read_set

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "series")
SEED = int(os.environ.get("SEED", "1"))
ROUNDS = int(os.environ.get("ROUNDS", "200"))
ROOT = "1.2.826.0.1.3680043.8.498."


def slice_file(rng: Any, uid: str, number: int, pixels: Any, position: Any, orientation: Any, spacing: Any, slope: Any) -> FileDataset:
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian if rng.random() < 0.7 else pydicom.uid.ImplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.2"
    meta.MediaStorageSOPInstanceUID = uid + ".%d" % number
    f = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    f.SeriesInstanceUID, f.InstanceNumber, f.Modality = uid, number, "CT"
    f.SOPInstanceUID = uid + ".%d" % number
    if position is not None:
        f.ImagePositionPatient = ["%.10g" % x for x in position]
        f.ImageOrientationPatient = ["%.12f" % x for x in orientation]
    f.PixelSpacing = ["%g" % x for x in spacing]
    f.Rows, f.Columns = pixels.shape
    f.SamplesPerPixel, f.PhotometricInterpretation = 1, "MONOCHROME2"
    f.BitsAllocated = f.BitsStored = 8 * pixels.dtype.itemsize
    f.HighBit, f.PixelRepresentation = f.BitsStored - 1, int(pixels.dtype.kind == "i")
    f.RescaleSlope, f.RescaleIntercept = slope
    f.PixelData = pixels.tobytes()
    return f


def directions(rng: Any) -> Any:
    """Two unit vectors at right angles, in a third of the cases along axes."""
    if rng.random() < 0.33:
        return np.eye(3)[rng.permutation(3)[:2]]
    a, b = rng.normal(size=(2, 3))
    a /= np.linalg.norm(a)
    b -= a * np.dot(a, b)
    return np.stack([a, b / np.linalg.norm(b)])


def make(rng: Any, uid: str) -> List[FileDataset]:
    n, shape = int(rng.integers(2, 9)), rng.integers(2, 8, size=2)
    dtype = rng.choice(["u1", "<u2", "<i2"])
    both = directions(rng)
    step = np.cross(*both) * rng.uniform(0.5, 5)
    if rng.random() < 0.3:  # a gantry that is tilted
        step = step + both[1] * rng.uniform(0, 0.4)
    start, placed = rng.uniform(-200, 200, size=3), rng.random() < 0.9
    spacing = rng.uniform(0.3, 3, size=2).round(3)
    numbers = rng.permutation(n) + 1
    out = []
    for k in range(n):
        info = np.iinfo(dtype)
        pixels = rng.integers(info.min, info.max, size=shape, dtype=np.dtype(dtype), endpoint=True)
        slope = [round(float(rng.uniform(0.5, 2)), 4), float(rng.integers(-1024, 10))]
        out.append(slice_file(rng, uid, int(numbers[k]), pixels, start + k * step if placed else None, both.reshape(-1), spacing, slope))
    return out


def harm(rng: Any, files: List[FileDataset]) -> List[FileDataset]:
    """A series that is no volume."""
    if len(files) < 4 or "ImagePositionPatient" not in files[0]:
        return files + [files[0].copy()]
    k = int(rng.integers(1, len(files) - 1))
    how = rng.integers(4)
    if how == 0:
        return files[:k] + files[k + 1 :]
    if how == 1:
        return files + [files[k].copy()]
    if how == 2:
        o = [float(x) for x in files[k].ImageOrientationPatient]
        files[k].ImageOrientationPatient = o[3:] + o[:3]
    else:
        files[k].Rows, files[k].Columns = 1, files[k].Rows * files[k].Columns
    return files


def expected(files: List[FileDataset]) -> Any:
    """The volume, scaled and not, its spacing and its affine, by numpy alone."""
    if "ImagePositionPatient" not in files[0]:
        files = sorted(files, key=lambda f: f.InstanceNumber)
        affine = spacing = None
    else:
        o = np.array(files[0].ImageOrientationPatient, float)
        files = sorted(files, key=lambda f: float(np.dot(np.cross(o[:3], o[3:]), np.array(f.ImagePositionPatient, float))))
        p = np.array([f.ImagePositionPatient for f in files], float)
        step = (p[-1] - p[0]) / (len(p) - 1)
        between = [float(x) for x in files[0].PixelSpacing]
        affine = np.eye(4)
        affine[:3] = np.stack([step, o[3:] * between[0], o[:3] * between[1], p[0]], axis=1)
        spacing = np.array([np.linalg.norm(step)] + between)
    raw = np.stack([f.pixel_array for f in files])
    scaled = np.stack([f.pixel_array * float(f.RescaleSlope) + float(f.RescaleIntercept) for f in files])
    return raw, scaled, spacing, affine


def rounds() -> str:
    volumes = refused = 0
    for i in range(ROUNDS):
        rng = np.random.default_rng([SEED, i])
        folder = os.path.join(WORK, "in")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        series = [make(rng, ROOT + "%d.%d" % (i + 1, k)) for k in range(int(rng.integers(1, 4)))]
        bad = rng.random() < 0.33
        if bad:
            series[0] = harm(rng, series[0])
        names = iter(rng.permutation(100))
        first = {}
        for k, files in enumerate(series):
            for f in files:
                name = "IM%04d" % next(names)
                first[k] = min(first.get(k, name), name)
                f.save_as(os.path.join(folder, name), enforce_file_format=True)
        placed = all("ImagePositionPatient" in s[0] for s in series)
        columns = "image,image.spacing,image.affine" if placed else "image"
        try:
            got = read_set(folder, os.path.join(WORK, "out"), "--sample", "series", "--columns", columns)
            hu = read_set(folder, os.path.join(WORK, "out"), "--sample", "series", "--scaled", "yes")
        except Refused as e:
            assert bad and "IM0" in str(e), "round %d: %s" % (i, e)
            refused += 1
            continue
        assert not bad, "round %d: a series that is no volume was read" % i
        for at, k in enumerate(sorted(first, key=lambda k: first[k])):
            raw, scaled, spacing, affine = expected(series[k])
            have = np.asarray(got["image"][at]).reshape(-1)
            assert np.array_equal(have, raw.reshape(-1)), "round %d, series %d" % (i, k)
            assert np.array_equal(np.asarray(hu["image"][at]).reshape(-1), scaled.reshape(-1)), "round %d, series %d, scaled" % (i, k)
            if placed:
                assert np.allclose(got["image.spacing"][at], spacing, rtol=1e-12), "round %d, series %d: %s, want %s" % (i, k, got["image.spacing"][at], spacing)
                assert np.allclose(got["image.affine"][at], affine, rtol=1e-12, atol=1e-9), "round %d, series %d: %s, want %s" % (i, k, got["image.affine"][at], affine)
            volumes += 1
    return "series: %d volumes equal, %d folders refused as they must be, wrong 0" % (volumes, refused)


if __name__ == "__main__":
    os.makedirs(WORK, exist_ok=True)
    main([("pydicom", rounds)])
