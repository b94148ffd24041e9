"""A small transformer that finds the direction of events: python3 train.py SHARDS [STEPS]"""

import sys

import shardify
import torch
from torch import nn

steps = int(sys.argv[2]) if len(sys.argv) > 2 else 300


class Net(nn.Module):
    def __init__(self, width=48, sensors=5161):
        super().__init__()
        self.sensor = nn.Embedding(sensors, width, padding_idx=0)
        self.pulse = nn.Linear(3, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(width, 3)

    def forward(self, x, mask):
        h = self.pulse(x[..., :3]) + self.sensor(x[..., 3].long())
        h = self.layers(h, src_key_padding_mask=~mask)
        h = (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return nn.functional.normalize(self.out(h), dim=-1)


def direction(y):
    azimuth, zenith = y[:, 0], y[:, 1]
    return torch.stack([zenith.sin() * azimuth.cos(), zenith.sin() * azimuth.sin(), zenith.cos()], -1)


torch.manual_seed(0)
net = Net()
opt = torch.optim.AdamW(net.parameters(), 1e-3)
losses = []
with shardify.Loader(sys.argv[1], 64, split="train", shuffle="block", seed=1) as loader:
    while len(losses) < steps:
        for batch in loader:
            loss = (1 - (net(batch["x"], batch["x_mask"].bool()) * direction(batch["y"])).sum(-1)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
            if len(losses) % 20 == 0:
                print(f"step {len(losses)}: loss {sum(losses[-20:]) / 20:.3f}", flush=True)
            if len(losses) == steps:
                break
print(f"{steps} steps, loss {losses[0]:.3f} to {min(losses):.3f}")
