"""A small 3-D network that finds cells in patches: python3 train.py SHARDS [STEPS]"""

import sys

import shardify
import torch
from torch import nn

steps = int(sys.argv[2]) if len(sys.argv) > 2 else 200
torch.manual_seed(0)
net = nn.Sequential(nn.Conv3d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv3d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv3d(12, 1, 1))
opt = torch.optim.AdamW(net.parameters(), 3e-3)
losses = []
cast = {"image": ("float32", 1 / 200, -500 / 200), "mask": "float32"}
with shardify.Loader(sys.argv[1], 8, columns=["image", "mask"], shuffle="global", seed=1, cast=cast) as loader:
    while len(losses) < steps:
        for batch in loader:
            found = net(batch["image"][:, None])[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(found, batch["mask"])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
            if len(losses) % 20 == 0:
                print(f"step {len(losses)}: loss {sum(losses[-20:]) / 20:.4f}", flush=True)
            if len(losses) == steps:
                break
print(f"{steps} steps, loss {losses[0]:.4f} to {min(losses):.4f}")
