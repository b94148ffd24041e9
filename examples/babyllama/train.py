"""A small Llama that learns to go on with texts: python3 train.py SHARDS [STEPS] [CHECKPOINT]

It goes on from the checkpoint if there is one: killed at any moment, it makes the losses of a run that was not.
"""

import os
import sys

import shardify
import torch
from torch import nn
from torch.nn import functional as F

steps = int(sys.argv[2]) if len(sys.argv) > 2 else 300
checkpoint = sys.argv[3] if len(sys.argv) > 3 else ""
LENGTH, WIDTH, HEADS, VOCABULARY = 128, 64, 4, 512


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = Norm(), Norm()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in ((WIDTH, 4 * WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)))

    def forward(self, x, turn, mask):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        rotate = lambda a: torch.view_as_real(torch.view_as_complex(a.unflatten(-1, (-1, 2)).contiguous()) * turn[:, None]).flatten(-2)
        scores = rotate(q) @ rotate(k).transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
        a = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        x = x + self.out(a.transpose(1, 2).flatten(-2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), Norm()
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        nn.init.normal_(self.embed.weight, std=0.02)

    def forward(self, ids, position, mask):
        angle = position[..., None] * 10000.0 ** -(torch.arange(0, WIDTH // HEADS, 2) * HEADS / WIDTH)
        turn = torch.polar(torch.ones_like(angle), angle)
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, turn, mask)
        return self.norm(x) @ self.embed.weight.T


torch.manual_seed(0)
torch.set_num_threads(1)
net = Llama()
opt = torch.optim.AdamW(net.parameters(), 2e-3)
losses = []
# A token is to be foretold from those of its document before it: other labels are -100, which cross_entropy leaves out.
packed = dict(labels="shift", label_pad=-100, documents=["position_ids", "mask"], cast={"text": "i64"})
with shardify.Loader(sys.argv[1], 16, shuffle="block", seed=1, drop_last=True, **packed) as loader:
    if checkpoint and os.path.exists(checkpoint):
        saved = torch.load(checkpoint, weights_only=False)
        net.load_state_dict(saved["net"])
        opt.load_state_dict(saved["opt"])
        loader.load_state_dict(saved["loader"])
        losses = saved["losses"]
    while len(losses) < steps:
        for batch in loader:
            logits = net(batch["text"], batch["position_ids"], batch["mask"])
            loss = F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
            print(f"step {len(losses)}: loss {losses[-1]:.6f}", flush=True)
            if checkpoint and len(losses) % 5 == 0:
                torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "loader": loader.state_dict(), "losses": losses}, checkpoint + ".tmp")
                os.replace(checkpoint + ".tmp", checkpoint)
            if len(losses) == steps:
                break
print(f"{steps} steps, loss {losses[0]:.3f} to {losses[-1]:.3f}: {torch.tensor(losses, dtype=torch.float64).sum().item():.9f} in all")
