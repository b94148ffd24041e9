"""The cases of science.py for FITS and DICOM: files, and how astropy and pydicom read them."""

from __future__ import annotations

import os
import shutil
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import pydicom
from astropy.io import fits
from pydicom.data import get_testdata_file

Saved = Callable[[Callable[[str], Any]], Callable[[str, str], float]]


def make(work: str) -> Dict[str, str]:
    """Folders of files: a table, slices of CT, smaller ones, slices in RLE."""
    r = np.random.default_rng(1)
    folders = {k: os.path.join(work, k) for k in ("table", "ct", "small", "rle")}
    for f in folders.values():
        shutil.rmtree(f, ignore_errors=True)
        os.makedirs(f)
    n = 1_500_000
    columns = [
        fits.Column("id", "K", array=np.arange(n)),
        fits.Column("mag", "E", array=r.random(n, "f4")),
        fits.Column("flux", "5E", array=r.random((n, 5), "f4")),
        fits.Column("flag", "I", array=r.integers(0, 99, n)),
        fits.Column("ra", "D", array=r.random(n)),
        fits.Column("name", "12A", array=np.char.mod("obj%d", r.integers(0, 1000, n))),
    ]
    fits.BinTableHDU.from_columns(columns).writeto(os.path.join(folders["table"], "a.fits"))
    for i in range(1000):  # so many that the start does not count
        slice_of(512, i, r).save_as(os.path.join(folders["ct"], "%04d.dcm" % i), enforce_file_format=True)
    for i in range(1500):
        slice_of(128, i, r).save_as(os.path.join(folders["small"], "%04d.dcm" % i), enforce_file_format=True)
    for i in range(40):
        ds = slice_of(512, i, r)
        ds.compress(pydicom.uid.RLELossless, generate_instance_uid=False)
        ds.save_as(os.path.join(folders["rle"], "%03d.dcm" % i), enforce_file_format=True)
    return folders


def slice_of(side: int, number: int, r: np.random.Generator) -> pydicom.Dataset:
    """A slice with the elements of a scan that is among pydicom's test files."""
    a = (np.cumsum(r.integers(-9, 10, (side, side)), 1) + 1000).astype("i2")
    ds = pydicom.dcmread(get_testdata_file("CT_small.dcm"))
    ds.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    ds.file_meta.MediaStorageSOPInstanceUID = ds.SOPInstanceUID = "1.2.%d" % (number + 1)
    ds.Rows, ds.Columns, ds.InstanceNumber = side, side, number + 1
    ds.PixelData = a.tobytes()
    return ds


def columns(name: str) -> Any:
    """The columns of a table in the machine's order, one after the other."""
    with fits.open(name, memmap=False) as f:
        d = f[1].data
        out = [np.ascontiguousarray(d[c]).astype(d[c].dtype.newbyteorder("=")) for c in d.columns.names]
    return np.concatenate([a.view("u1").reshape(-1) for a in out])


def cases(saved: Saved) -> List[Tuple[str, str, str, Callable[[str, str], float]]]:
    pixels = saved(lambda name: pydicom.dcmread(name).pixel_array)
    return [
        ("FITS table, 6 columns", "table", "astropy", saved(columns)),
        ("DICOM, 512 x 512", "ct", "pydicom", pixels),
        ("DICOM, 128 x 128", "small", "pydicom", pixels),
        ("DICOM, 512 x 512, RLE", "rle", "pydicom", pixels),
    ]
