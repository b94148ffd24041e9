"""A small U-Net that learns the next 6 hours: python3 train.py SHARDS FIGURES [STEPS]"""

import os
import sys

import numpy as np
import shardify
import torch
from torch import nn

shards, figures = sys.argv[1:3]
steps = int(sys.argv[3]) if len(sys.argv) > 3 else 300


class Block(nn.Module):
    """Two convolutions that go round the globe in longitude."""

    def __init__(self, into, out):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(into, out, 3), nn.Conv2d(out, out, 3)])

    def forward(self, x):
        for conv in self.convs:
            x = nn.functional.pad(x, (1, 1, 0, 0), mode="circular")
            x = nn.functional.gelu(conv(nn.functional.pad(x, (0, 0, 1, 1), mode="replicate")))
        return x


class UNet(nn.Module):
    def __init__(self, channels, width=24):
        super().__init__()
        self.down, self.deep = Block(channels, width), Block(width, 2 * width)
        self.up, self.out = Block(3 * width, width), nn.Conv2d(width, channels - 1, 1)

    def forward(self, x):
        a = self.down(x)
        b = self.deep(nn.functional.max_pool2d(a, 2))
        b = nn.functional.interpolate(b, scale_factor=2)
        return x[:, :-1] + self.out(self.up(torch.cat([a, b], 1)))  # the last channel, lsm, stays


mean, std = (np.load(os.path.join(figures, "x.%s.npy" % k)).ravel() for k in ("mean", "std"))
coords = shardify.open(shards).coords
weights = torch.as_tensor(coords["latitude.weight_cos"], dtype=torch.float32)[:, None]

torch.manual_seed(0)
net = UNet(len(coords["channel"]))
opt = torch.optim.AdamW(net.parameters(), 2e-3)
losses = []
cast = {"x": ("float32", 1 / std, -mean / std)}
with shardify.Loader(shards, 16, window="window", columns=["x", "x.next"], shuffle="global", seed=1, cast=cast) as loader:
    while len(losses) < steps:
        for batch in loader:
            now, later = batch["x"][:, 0], batch["x.next"][:, 0]  # [B, C, latitude, longitude]
            loss = (weights * (net(now) - later[:, :-1]) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
            if len(losses) % 20 == 0:
                print(f"step {len(losses)}: loss {sum(losses[-20:]) / 20:.4f}", flush=True)
            if len(losses) == steps:
                break
print(f"{steps} steps, loss {losses[0]:.4f} to {min(losses):.4f}")
