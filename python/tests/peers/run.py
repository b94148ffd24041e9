#!/usr/bin/env python3
"""Other people's loaders open what shardify writes, and yield exactly its samples.

    python3 run.py --shardify BIN --work DIR [--cache DIR] [--only PEER,...] [--no-skips]

Makes small sources (a folder of images, NPZ files), converts them with BIN, and runs
each peer in a virtual environment of its own below --cache (made once; they need PyPI).
Peers that need PyTorch use the one of a Python on this machine; it is not installed.
One line per check; exit code 1 if one failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from typing import Dict, List, Optional

HERE = os.path.dirname(os.path.abspath(__file__))

# Environment -> what pip installs. "torch": sees the system's packages for PyTorch.
# wids left webdataset with 1.0; 0.2.111 is the last release that has it. Energon is
# installed without dependencies, of which most are for clouds; "deps" are those it imports.
ENVIRONMENTS: Dict[str, Dict[str, List[str]]] = {
    "webdataset": {"pip": ["webdataset==1.0.2", "safetensors==0.8.0", "pillow"], "torch": ["wanted"]},
    "wids": {"pip": ["webdataset==0.2.111", "pillow"], "torch": ["needed"]},
    "datasets": {"pip": ["datasets==5.2.0", "pillow"]},
    "energon": {
        "pip": ["braceexpand", "click", "filetype", "mfusepy", "multi-storage-client>=0.40.0", "rapidyaml>=0.10.0"]
        + ["s3fs", "tqdm", "pyyaml", "pillow>=10.0.1"],
        "bare": ["megatron-energon==7.4.1", "webdataset==1.0.2"],
        "torch": ["needed"],
    },
    "mosaic": {
        # "catalogue" and "zstd" are what it imports of its many dependencies.
        "pip": ["transformers==4.36.2", "typing_extensions>=4.9", "xxhash", "zstd", "zstandard==0.25.0", "brotli", "catalogue", "python-snappy", "pillow"],
        "bare": ["mosaicml-streaming==0.13.0", "megatron-core==0.16.1"],
        "torch": ["needed"],
    },
    "uproot": {"pip": ["uproot==5.7.7", "awkward==2.14.0"]},
    "parquet": {
        "pip": ["pyarrow==26.0.1", "pandas==3.1.1", "polars==2.1.0", "duckdb==2.0.0", "fastparquet==2026.9.0"]
    },
    "zarr": {"pip": ["zarr==3.1.6", "h5py==3.16.0", "numcodecs==0.16.6", "xarray==2026.9.0", "netCDF4==1.7.5.1.post1", "xbatcher==0.4.0", "scipy==1.17.1", "soundfile==0.14.0"]},
    "science-fdm": {"pip": ["astropy==8.0.2", "pydicom==3.0.2", "pillow", "pylibjpeg", "pylibjpeg-libjpeg", "scipy==1.17.1"]},
    "science": {"pip": ["nibabel==5.4.2", "mrcfile==1.5.4", "scipy==1.17.1"]},
    "tokens": {"pip": ["tokenizers==0.23.3", "sentencepiece==0.2.3", "tiktoken==0.14.0"]},
    "preprocess": {"pip": ["tokenizers==0.23.3"], "bare": ["megatron-core==0.16.1"], "torch": ["needed"]},
    "augment": {"pip": ["pillow", "pyarrow==26.0.1"]},
    "records": {
        "pip": ["tfrecord==1.14.6", "datasets==5.2.0", "pyarrow==26.0.1", "pandas==3.1.1", "polars==2.1.0", "duckdb==2.0.0"]
        + ["array-record==0.8.6", "grain==0.2.18", "pillow"]
    },
    # tfrecord and TensorFlow do not load in one process.
    "tensorflow": {"pip": ["tensorflow-cpu==2.21.0", "tensorflow-datasets==4.9.10", "array-record==0.8.6", "importlib_resources", "pyarrow==26.0.1", "pillow"]},
    "atoms": {"pip": ["ase==3.29.0", "ase-db-backends==0.11.0", "extxyz==0.4.6", "lmdb==3.0.0", "safetensors==0.8.0"]},
    "recipe": {"pip": [], "torch": ["needed"]},
    "sparse": {"pip": ["scipy==1.17.1", "anndata==0.12.19"], "torch": ["wanted"]},
    "cells": {"pip": ["anndata==0.12.19", "zarr==3.1.6", "h5py==3.16.0", "scipy==1.17.1"]},
    "scanpy": {"pip": ["scanpy==1.11.5", "loompy==3.0.8", "anndata==0.12.19", "zarr==3.1.6", "h5py==3.16.0", "scipy==1.17.1"]},
    "engines": {"pip": ["distributed==2026.8.0", "ray==2.60.0", "parsl==2026.10.26"]},
    "kubernetes": {"pip": ["kubernetes-validate==1.37.0"]},
    "shape": {"pip": ["h5py==3.16.0", "uproot==5.7.7", "awkward==2.14.0"]},
    # "beside": torchvision, if it is here, needs no NumPy of its age for its data sets.
    "conventions": {
        "pip": ["datasets==5.2.0", "pandas==3.1.1", "h5py==3.16.0", "pycocotools==2.0.11", "uproot==5.7.7", "awkward==2.14.0", "pillow>=10.0.1"],
        "torch": ["beside"],
    },
    "hdf5": {
        "pip": ["h5py==3.16.0", "hdf5plugin==7.1.0", "tables==3.11.1", "pandas==3.1.1", "netCDF4==1.7.5.1.post1"]
        + ["hdf5storage==0.2.2"]
    },
}
# Peer -> environment.
PEERS = {
    "tar": "webdataset",
    "layouts": "webdataset",
    "diff": "webdataset",
    "annotations": "webdataset",
    "sound": "zarr",
    "science_fdm": "science-fdm",
    "series": "science-fdm",
    "science": "science",
    "webdataset": "webdataset",
    "foreign": "webdataset",
    "safetensors": "webdataset",
    "wids": "wids",
    "datasets": "datasets",
    "energon": "energon",
    "mosaic": "mosaic",
    "megatron": "mosaic",
    "augment": "augment",
    "atoms": "atoms",
    "lmdb": "atoms",
    "ase": "atoms",
    "recipe_atoms": "recipe",
    "records": "records",
    "exports": "records",
    "tensorflow": "tensorflow",
    "uproot": "uproot",
    "conventions": "conventions",
    "coco": "conventions",
    "hdf5": "hdf5",
    "parquet": "parquet",
    "groups": "parquet",
    "tables": "parquet",
    "labels": "parquet",
    "formats": "parquet",
    "shape": "shape",
    "sparse": "sparse",
    "cells": "cells",
    "scanpy": "scanpy",
    "engines": "engines",
    "kubernetes": "kubernetes",
    "zarr": "zarr",
    "grid": "zarr",
    "netcdf3": "zarr",
    "lists": "zarr",
    "window": "zarr",
    "tokens": "tokens",
    "preprocess": "preprocess",
}
# Data set -> arguments of convert. HF datasets wants the same members in every
# sample, so images of two types are a set of their own that it is not shown.
SETS = {
    "images": ["src/images", "--format", "wds", "--shard-samples", "150", "--dali"],
    "mixed": ["src/mixed", "--format", "wds", "--shard-samples", "20"],
    "numbers": ["src/a.npz", "src/b.npz", "--format", "wds", "--shard-samples", "400", "--dali"],
    "images-mmap": ["src/images", "--format", "mmap", "--shard-samples", "150"],
    "mixed-mmap": ["src/mixed", "--format", "mmap", "--shard-samples", "20"],
    "images-mds": ["src/images", "--format", "mds", "--shard-samples", "150"],
    "numbers-mds": ["src/a.npz", "src/b.npz", "--format", "mds", "--shard-samples", "400"],
    "numbers-zstd": ["src/a.npz", "src/b.npz", "--format", "mds", "--mds-compression", "zstd", "--shard-samples", "400"],
    "images-zstd": ["src/images", "--format", "mds", "--mds-compression", "zstd", "--shard-samples", "150"],
    "tokens-megatron": ["src/tokens.npz", "--format", "megatron", "--shard-samples", "200"],
    "numbers-mmap": ["src/a.npz", "src/b.npz", "--format", "mmap", "--shard-samples", "400"],
}


class Skip(Exception):
    """A peer cannot run here."""


class Runner:
    def __init__(self, cache: str, work: str, binary: str) -> None:
        self.cache, self.work, self.binary = cache, work, binary
        self.counts = {"ok": 0, "FAILED": 0, "skipped": 0}
        self.torch = find_torch()
        self.made: Dict[str, str] = {}

    def say(self, status: str, peer: str, what: str) -> None:
        self.counts[status] += 1
        print("%-8s %-22s %s" % (status, peer, what), flush=True)

    def python(self, env: str) -> str:
        """The Python of an environment, which is made if it is not there."""
        if env not in self.made:
            self.made[env] = make_environment(env, self.cache, self.torch)
        return self.made[env]

    def run(self, peer: str) -> None:
        try:
            python = self.python(PEERS[peer])
        except Skip as e:
            return self.say("skipped", peer, str(e))
        script = os.path.join(HERE, "peer_%s.py" % peer)
        env = dict(quiet_environment(self.work), SHARDIFY=self.binary)
        p = run([python, script, self.work], timeout=900, env=env)
        seen = 0
        for line in p.stdout.splitlines():
            if line.startswith("{"):
                r = json.loads(line)
                self.say(r["status"], r["peer"], r["what"])
                seen += 1
        if p.returncode != 0 or seen == 0:
            self.say("FAILED", peer, "exit code %d: %s" % (p.returncode, tail(p.stderr + p.stdout)))


def run(command: List[str], timeout: int, **kw: object) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(command, stdout=-1, stderr=-1, universal_newlines=True, timeout=timeout, **kw)  # type: ignore
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "no end after %d s" % timeout)


def tail(text: str) -> str:
    return " | ".join(text.strip().splitlines()[-6:])[-600:]


def quiet_environment(work: str) -> Dict[str, str]:
    """Nothing from or to the network, no caches outside the working folder."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "PYTHON", "WDS_", "WIDS_"))}
    scratch = os.path.join(work, "scratch")
    env.update(HF_HOME=scratch, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", WIDS_CACHE=scratch, TMPDIR=scratch)
    env.update(PYTHONPATH=HERE, PYTHONDONTWRITEBYTECODE="1", TOKENIZERS_PARALLELISM="false")
    return env


def find_torch() -> Optional[str]:
    """A Python that imports PyTorch."""
    for python in (sys.executable, "/usr/bin/python3"):
        code = "import torch, torch.utils.data"
        if os.access(python, os.X_OK) and run([python, "-c", code], timeout=300).returncode == 0:
            return python
    return None


def make_environment(name: str, cache: str, torch: Optional[str]) -> str:
    spec = ENVIRONMENTS[name]
    if torch is None and spec.get("torch") == ["needed"]:
        raise Skip("no Python here has PyTorch (Debian: apt install python3-torch)")
    base = torch if torch is not None and "torch" in spec else sys.executable
    wanted = json.dumps([spec, base], sort_keys=True)
    folder = os.path.join(cache, "%s-%s" % (name, hashlib.sha256(wanted.encode()).hexdigest()[:8]))
    python = os.path.join(folder, "bin", "python")
    if os.path.exists(os.path.join(folder, "complete")):
        return python
    print("making %s (once)" % folder, file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    flags = ["--system-site-packages"] if base == torch and "torch" in spec else []
    steps = [[base, "-m", "venv"] + flags + [folder]]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps.append(pip + ["--upgrade", "pip"])  # the resolver of Debian's takes hours for some of these
    numpy = "numpy"
    if flags and spec["torch"] != ["beside"]:
        # The system's PyTorch was built for the system's NumPy.
        numpy = (
            "numpy"
            + run([base, "-c", "import numpy; print('<2' * numpy.__version__.startswith('1.'))"], 60).stdout.strip()
        )
    if "bare" in spec:
        steps.append(pip + ["--no-deps"] + spec["bare"])
    steps.append(pip + [numpy] + spec["pip"])
    for step in steps:
        p = run(step, timeout=1200)
        if p.returncode != 0:
            raise Skip("%s: %s" % (" ".join(step[1:4]), tail(p.stderr)))
    with open(os.path.join(folder, "complete"), "w") as f:
        f.write(wanted)
    return python


def convert(binary: str, work: str) -> None:
    for name, args in SETS.items():
        p = run([binary, "convert"] + args + ["-o", name, "--quiet"], timeout=600, cwd=work)
        if p.returncode != 0:
            sys.exit("shardify convert %s: %s" % (" ".join(args), p.stderr))


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shardify", required=True, help="the converter")
    p.add_argument("--work", required=True, help="folder for sources and data sets; made, and emptied of earlier ones")
    p.add_argument("--cache", default=os.path.expanduser("~/.cache/shardify/peers"), help="folder for environments")
    p.add_argument("--only", default=",".join(PEERS), help="peers, by default all: %(default)s")
    p.add_argument("--no-skips", action="store_true", help="a skipped peer is a failure")
    a = p.parse_args()
    binary, work = os.path.abspath(a.shardify), os.path.abspath(a.work)
    for name in list(SETS) + ["src", "scratch"]:
        shutil.rmtree(os.path.join(work, name), ignore_errors=True)
    os.makedirs(os.path.join(work, "scratch"))
    os.makedirs(a.cache, exist_ok=True)
    runner = Runner(os.path.abspath(a.cache), work, binary)
    try:
        maker = runner.python("webdataset")
    except Skip as e:
        print("skipped: no environment could be made: %s" % e)
        print("0 passed, 0 failed, %d skipped" % len(PEERS))
        return int(a.no_skips)
    made = run([maker, os.path.join(HERE, "sources.py"), work], timeout=600)
    if made.returncode != 0:
        sys.exit("sources: " + tail(made.stderr))
    convert(binary, work)
    for peer in a.only.split(","):
        runner.run(peer)
    shutil.rmtree(os.path.join(work, "scratch"), ignore_errors=True)
    c = runner.counts
    print("%d passed, %d failed, %d skipped" % (c["ok"], c["FAILED"], c["skipped"]))
    return int(c["FAILED"] > 0 or (a.no_skips and c["skipped"] > 0))


if __name__ == "__main__":
    sys.exit(main())
