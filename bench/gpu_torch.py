"""torch DataLoader on the machine of bench/gpu.sh: the same samples from an np.memmap, to the GPU
through pin_memory. Writes one JSON object and, where loader.json is there, the ratios to it.

    python3 gpu_torch.py OUT.json [LOADER.json]
"""

import json
import os
import resource
import sys
import tempfile
import time


def cpu():
    both = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in both)


def epoch(loader, device, seconds):
    """Bytes delivered to the device, seconds, and processor seconds of the workers too."""
    import torch

    start, used, moved = time.perf_counter(), cpu(), 0
    for batch in loader:
        batch = batch.to(device, non_blocking=True)
        moved += batch.numel()
        if time.perf_counter() - start > seconds:
            break
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    took = time.perf_counter() - start
    del batch
    getattr(loader, "_iterator", None) and loader._iterator._shutdown_workers()  # their time counts when they end
    return moved, took, cpu() - used


def measure(size, row, batch, workers, batched, seconds):
    import numpy as np
    import torch
    from torch.utils import data

    class Rows(data.Dataset):
        def __init__(self, name):
            self.x = np.memmap(name, np.uint8, "r").reshape(-1, row)

        def __len__(self):
            return len(self.x)

        def __getitem__(self, i):
            return torch.from_numpy(self.x[i].copy() if isinstance(i, int) else self.x[i])

    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    n = max(size // row, batch)
    with tempfile.NamedTemporaryFile(dir=os.environ.get("TMPDIR")) as f:
        np.random.default_rng(1).integers(0, 256, (n, row), np.uint8).tofile(f.name)
        rows = Rows(f.name)
        options = dict(num_workers=workers, pin_memory=device.type == "cuda")
        if batched:
            sampler = data.BatchSampler(data.RandomSampler(rows), batch, True)
            loader = data.DataLoader(rows, sampler=sampler, batch_size=None, **options)
        else:
            loader = data.DataLoader(rows, batch, shuffle=True, drop_last=True, **options)
        moved, took, used = epoch(loader, device, seconds)
    return {
        "row_bytes": row, "batch": batch, "workers": workers, "by": "batch" if batched else "sample", "device": str(device),
        "bytes_per_second": moved / took, "core_seconds_per_gb": used / max(moved, 1) * 1e9,
    }


def compare(figures, ours):
    """The best DataLoader of a row and batch size against each of our ways to deliver the same."""
    lines = []
    for f in ours["figures"]:
        peers = [p for p in figures if p["row_bytes"] == f["row_bytes"] and p["batch"] == f["batch"]]
        if not peers or f["shuffle"] == "none":
            continue
        best = max(peers, key=lambda p: p["bytes_per_second"])
        lines.append({
            "row_bytes": f["row_bytes"], "batch": f["batch"], "shuffle": f["shuffle"], "tier": f["tier"],
            "rate_ratio": f["bytes_per_second"] / best["bytes_per_second"],
            "core_seconds_ratio": best["core_seconds_per_gb"] / max(f["core_seconds_per_gb"], 1e-9),
            "peer": f"{best['by']}, {best['workers']} workers",
        })
    return lines


def main(out, loader=None):
    result = {"type": "torch", "figures": [], "ratios": []}
    try:
        import torch
    except ImportError:
        result["skipped"] = "torch is not installed"
    else:
        size = int(os.environ.get("SHARDIFY_GPU_BYTES", 1 << 30))
        seconds = float(os.environ.get("SHARDIFY_GPU_SECONDS", 8))
        result["torch"] = torch.__version__
        for row in (64, 4096, 600_000):
            for workers in sorted({0, len(os.sched_getaffinity(0))}):
                for batched in (False, True):
                    result["figures"].append(measure(size, row, min(256, max(size // row // 4, 1)), workers, batched, seconds))
        if loader and os.path.exists(loader):
            with open(loader) as f:
                result["ratios"] = compare(result["figures"], json.load(f))
    with open(out, "w") as f:
        json.dump(result, f)
        f.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
