"""astropy, pydicom and scipy: their own test files, and random ones, come out as they read them.

python3 peer_science_fdm.py WORK     SHARDIFY names the program; ROUNDS and SEED the random files

A file is equal, or refused with a reason; other values are an error. A table by format is printed at the end.
"""

from __future__ import annotations

import collections
import glob
import os
import re
import shutil
import sys
import warnings
from typing import Any, Callable, Counter, Dict, List, NamedTuple, Tuple

import astropy
import numpy as np
import pydicom
import scipy
from astropy.io import fits
from expect import main
from science_shards import Refused, read_set
from scipy.io import loadmat, savemat

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "science")
SEED = int(os.environ.get("SEED", "1"))
ROUNDS = int(os.environ.get("ROUNDS", "200"))
warnings.simplefilter("ignore")
Fields = Dict[str, Any]


def plain(a: Any) -> Any:
    """Numbers in the machine's order; complex ones are pairs."""
    a = np.asarray(a)
    if a.dtype.kind == "c":
        a = np.stack([a.real, a.imag], -1)
    return a.astype(a.dtype.newbyteorder("=")) if a.dtype.kind in "iufb" else a


def equal(have: Any, want: Any, what: str) -> None:
    """Values; types may be wider where the sheet of the format says so."""
    want, have = plain(want), np.asarray(have)
    assert tuple(n for n in have.shape if n != 1) == tuple(n for n in want.shape if n != 1), "%s: shape %s, want %s" % (what, have.shape, want.shape)
    assert np.array_equal(have.reshape(-1), want.reshape(-1), equal_nan=want.dtype.kind == "f"), "%s: %s, want %s" % (what, have.reshape(-1)[:5], want.reshape(-1)[:5])


def check_rows(have: List[Any], want: List[Any], what: str) -> None:
    assert len(have) == len(want), "%s: %d rows, want %d" % (what, len(have), len(want))
    for i, (a, b) in enumerate(zip(have, want)):
        equal(a, b, "%s row %d" % (what, i))


def texts(column: Any) -> List[Any]:
    flat = [str(s).rstrip(" \0") for s in np.asarray(column).reshape(-1)]
    return flat


def one_hdu(name: str, out: str, hdu: Any, index: int) -> None:
    """An HDU of a FITS file."""
    got = read_set(name, out, "--object", str(index), "--null-items", "fill") if hasattr(hdu, "columns") and not isinstance(hdu, fits.CompImageHDU) else read_set(name, out, "--object", str(index))
    if not hasattr(hdu, "columns") or isinstance(hdu, fits.CompImageHDU):
        equal(got["image"][0], hdu.data, "image")
        return
    for c in hdu.columns:
        column = hdu.data[c.name]
        field = got.get(c.name.replace("#", "_"))
        if field is None:
            continue
        null = got.get(c.name + "#valid")
        if isinstance(column, fits.column._VLF) or np.asarray(column).dtype.kind == "O":
            if len(field) and isinstance(field[0], str):
                assert [f.rstrip() for f in field] == ["".join(texts(x)) if not isinstance(x, str) else x.rstrip() for x in column], c.name
            else:
                check_rows(field, list(column), c.name)
        elif np.asarray(column).dtype.kind in "SU":
            have = [x for row in field for x in (row if isinstance(row, list) else [row])]
            assert have == texts(column), "%s: %s, want %s" % (c.name, have[:4], texts(column)[:4])
        else:
            want = plain(column)
            have = np.asarray(field)
            there = np.ones(len(have), bool) if null is None else np.asarray(null)
            if want.dtype.kind == "f" and have.dtype.kind == "f" and have.shape == want.shape:
                there = there & ~np.isnan(have.reshape(len(have), -1)).all(1) if c.null is not None else there
            equal(have[there], want[there] if have.shape == want.shape else want.reshape(have.shape)[there], c.name)


def fits_file(name: str, out: str) -> Tuple[int, List[str]]:
    done, refused = 0, []
    with fits.open(name) as hdus:
        for i, h in enumerate(hdus):
            try:
                data = h.data
            except Exception:
                continue
            if data is None or getattr(data, "size", 1) == 0 or isinstance(h, fits.GroupsHDU):
                continue
            try:
                one_hdu(name, out, h, i)
                done += 1
            except Refused as e:
                refused.append(str(e))
    return done, refused


def pixels(name: str) -> Any:
    ds = pydicom.dcmread(name)
    if ds.file_meta.get("TransferSyntaxUID") == pydicom.uid.JPEGBaseline8Bit:  # other decoders differ from libjpeg-turbo by 1
        return pydicom.pixels.pixel_array(ds, decoding_plugin="pillow")
    return ds.pixel_array


def dicom_file(name: str, out: str) -> Tuple[int, List[str]]:
    try:
        got = read_set(name, out)
    except Refused as e:
        return 0, [str(e)]
    equal(got["image"][0], pixels(name), "image")
    return 1, []


def flat(variables: Fields) -> Fields:
    """Those of a structure are fields of their own."""
    out: Fields = {}
    for key, v in variables.items():
        if getattr(v, "size", 0) == 1 and getattr(v, "dtype", np.dtype("u1")).names:
            out.update({"%s.%s" % (key, k): v.reshape(-1)[0][k] for k in v.dtype.names})
        else:
            out[key] = v
    return out


def mat_file(name: str, out: str) -> Tuple[int, List[str]]:
    try:
        got = read_set(name, out, "--sample", "file")
    except Refused as e:
        return 0, [str(e)]
    want, stored = flat(loadmat(name, mat_dtype=True, chars_as_strings=True)), flat(loadmat(name))
    n = 0
    for key, w in want.items():
        if key.startswith("__") or key not in got:
            continue
        if scipy.sparse.issparse(w):
            w = w.toarray()
        if np.iscomplexobj(stored[key]) and not scipy.sparse.issparse(stored[key]):
            w = stored[key]  # mat_dtype drops what is imaginary
        have = got[key][0]
        if w.dtype.kind in "UO":  # texts, or a cell of them
            have = have if isinstance(have, list) else [have]
            there = [str(x[0]) if isinstance(x, np.ndarray) and x.size else str(x) for x in w.reshape(-1)]
            assert there == [str(x) for x in have] or w.size == 0, "%s: %r, want %r" % (key, have, w)
        elif w.dtype.kind in "biufc":
            equal(have, w, key)
        n += 1
    return n, []


class Kind(NamedTuple):
    """Files of a library: what it reads of one, how they are compared, and options of ours."""

    files: List[str]
    read: Callable[[str], Any]
    one: Callable[[str, str], Tuple[int, List[str]]]
    flags: List[str]


NOTHING = "no array that the library reads"


def outcome(name: str, out: str, k: Kind) -> str:
    """equal, or which arrays are refused and why. Other values are an AssertionError."""
    try:
        k.read(name)
    except Exception as e:
        try:
            return "read here alone: %s" % type(e).__name__ if read_set(name, out, *k.flags) else NOTHING
        except Refused as r:
            return "refused by both: %s" % reason(str(r))
    n, refused = k.one(name, out)
    if refused:
        return ("equal but for: %s" if n else "refused: %s") % reason(refused[0])
    return "equal" if n else NOTHING


def tally(kind: str, k: Kind) -> Counter[str]:
    """How many files have which outcome."""
    found: Counter[str] = collections.Counter()
    wrong = []
    for name in k.files:
        try:
            found[outcome(name, os.path.join(WORK, kind), k)] += 1
        except AssertionError as e:
            wrong.append("%s: %s" % (os.path.basename(name), e))
    assert not wrong, "%d wrong: %s" % (len(wrong), "; ".join(wrong))
    assert found["equal"], "no file is equal"
    return found


def all_files(kind: str) -> Callable[[], str]:
    def check() -> str:
        found = tally(kind, KINDS[kind])
        for r, n in found.most_common():
            print("    %s: %4d x %s" % (kind, n, r), file=sys.stderr)
        return "%d files, %d equal, 0 wrong" % (sum(found.values()), found["equal"])

    return check


def reason(text: str) -> str:
    """A message without the names of files and arrays, the numbers of a file and what would help."""
    text = text.strip().splitlines()[0] if text.strip() else "?"
    if "no array that can be read" in text:
        return "no array that can be read: " + text.split(": ")[-1]
    text = text.split(": ", 2)[-1].split(";")[0].removesuffix(": corrupt data")
    return re.sub(r"(?<![\d.,(])\d{3,}(?![\d.,)])", "N", text)[:110]


def random_fits(rng: np.random.Generator, name: str) -> None:
    if rng.random() < 0.5:
        shape = tuple(int(n) for n in rng.integers(1, 9, int(rng.integers(1, 4))))
        a = rng.integers(0, 200, shape).astype(str(rng.choice(["u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"])))
        if rng.random() < 0.4 and len(shape) == 2 and a.dtype.itemsize <= 4:
            fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(a, compression_type=str(rng.choice(["RICE_1", "GZIP_1", "GZIP_2"])))]).writeto(name, overwrite=True, checksum=bool(rng.random() < 0.5))
        else:
            fits.PrimaryHDU(a).writeto(name, overwrite=True, checksum=bool(rng.random() < 0.5))
        return
    n, columns = int(rng.integers(1, 40)), []
    for i in range(int(rng.integers(1, 6))):
        f = str(rng.choice(["L", "B", "I", "J", "K", "E", "D", "C", "M", "3E", "2J", "7A", "PJ()", "QD()", "11X"]))
        if f[0] in "PQ":
            a: Any = np.array([rng.integers(0, 9, int(k)) for k in rng.integers(0, 5, n)] + [None], object)[:-1]
        elif f == "7A":
            a = np.array(["".join(rng.choice(list("ab c"), int(k))) for k in rng.integers(0, 8, n)])
        elif f in ("L", "11X"):
            a = rng.random((n, 11) if f == "11X" else n) < 0.5
        else:
            a = rng.integers(0, 100, (n, int(f[0])) if f[0].isdigit() else n)
        columns.append(fits.Column("c%d" % i, f, array=a, unit="m" if rng.random() < 0.3 else None))
    fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(columns)]).writeto(name, overwrite=True, checksum=bool(rng.random() < 0.5))


def random_dicom(rng: np.random.Generator, name: str) -> None:
    ds = pydicom.Dataset()
    ds.file_meta = pydicom.dataset.FileMetaDataset()
    rows, columns, frames, samples = (int(n) for n in (*rng.integers(1, 20, 2), rng.integers(1, 4), rng.choice([1, 3])))
    bits = int(rng.choice([8, 16])) if samples == 1 else 8
    signed = int(rng.random() < 0.4) if samples == 1 else 0
    ds.Rows, ds.Columns, ds.SamplesPerPixel, ds.NumberOfFrames = rows, columns, samples, frames
    ds.PhotometricInterpretation = "MONOCHROME2" if samples == 1 else "RGB"
    if samples == 3:
        ds.PlanarConfiguration = 0
    ds.BitsAllocated, ds.BitsStored, ds.HighBit, ds.PixelRepresentation = bits, bits, bits - 1, signed
    shape = ((frames,) if frames > 1 else ()) + (rows, columns) + ((3,) if samples == 3 else ())
    a = rng.integers(0, 100, shape).astype("%s%d" % ("ui"[signed], bits // 8))
    ds.PatientName, ds.PatientID = "Invented^Name", "ID-7"
    syntax = str(rng.choice(["1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2", "1.2.840.10008.1.2.5"]))
    raw = a.astype(a.dtype.newbyteorder(">")).tobytes() if syntax.endswith(".1.2.2") and bits == 16 else a.tobytes()
    ds.PixelData = raw + b"\0" * (len(raw) % 2)
    ds["PixelData"].VR = "OW" if bits == 16 else "OB"
    ds.file_meta.TransferSyntaxUID = pydicom.uid.UID(syntax if not syntax.endswith(".5") else "1.2.840.10008.1.2.1")
    ds.file_meta.MediaStorageSOPClassUID, ds.file_meta.MediaStorageSOPInstanceUID = "1.2.840.10008.5.1.4.1.1.7", "1.2.3"
    ds.SOPClassUID, ds.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.7", "1.2.3"
    if syntax.endswith(".5"):
        ds.compress(pydicom.uid.RLELossless, arr=a, generate_instance_uid=False)
    ds.save_as(name, enforce_file_format=True)


def random_mat(rng: np.random.Generator, name: str) -> None:
    out: Fields = {}
    for i in range(int(rng.integers(1, 6))):
        shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 4))))
        dtype = str(rng.choice(["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "c8", "c16", "?"]))
        a: Any = rng.integers(0, 100, shape).astype(dtype)
        if rng.random() < 0.1:
            a = "text %d" % i
        elif rng.random() < 0.1:
            a = scipy.sparse.random(4, 5, 0.4, format="csc", random_state=int(rng.integers(100)))
        out["v%d" % i] = a
    savemat(name, out, do_compression=bool(rng.random() < 0.5), format="5")


def random_files(kind: str, ext: str, write: Callable[[np.random.Generator, str], None], one: Callable[[str, str], Tuple[int, List[str]]]) -> Callable[[], str]:
    def check() -> str:
        total = 0
        for i in range(ROUNDS):
            name = os.path.join(WORK, "random." + ext)
            write(np.random.default_rng([SEED, i, len(kind)]), name)
            try:
                n, refused = one(name, os.path.join(WORK, kind))
            except AssertionError as e:
                shutil.copy(name, os.path.join(WORK, "wrong-%d.%s" % (i, ext)))
                raise AssertionError("file %d: %s" % (i, e)) from e
            assert not refused and n, "file %d: %s" % (i, refused)
            total += n
        return "%d random files, %d arrays are equal" % (ROUNDS, total)

    return check


def below(package: Any, *patterns: str) -> List[str]:
    root = os.path.dirname(package.__file__)
    return sorted(f for p in patterns for f in glob.glob(os.path.join(root, p), recursive=True) if os.path.isfile(f))


def fits_data(name: str) -> List[Any]:
    with fits.open(name) as hdus:
        return [h.data for h in hdus]


KINDS = {
    "fits": Kind(below(astropy, "**/*.fits", "**/*.fits.gz", "**/*.fits.fz"), fits_data, fits_file, []),
    "dicom": Kind(below(pydicom, "**/*.dcm"), pixels, dicom_file, []),
    "mat": Kind(below(scipy, "io/matlab/tests/data/*.mat"), loadmat, mat_file, ["--sample", "file"]),
}

if __name__ == "__main__":
    os.makedirs(WORK, exist_ok=True)
    main(
        [
            ("astropy", all_files("fits")),
            ("astropy", random_files("fits", "fits", random_fits, fits_file)),
            ("pydicom", all_files("dicom")),
            ("pydicom", random_files("dicom", "dcm", random_dicom, dicom_file)),
            ("scipy", all_files("mat")),
            ("scipy", random_files("mat", "mat", random_mat, mat_file)),
        ]
    )
