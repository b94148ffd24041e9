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
        a = scores.masked_fill(~mask[:, None], float("-inf")).softmax(-1) @ v
        x = x + self.out(a.transpose(1, 2).flatten(-2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), Norm()
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        nn.init.normal_(self.embed.weight, std=0.02)

    def forward(self, ids, document, position):
        angle = position[..., None] * 10000.0 ** -(torch.arange(0, WIDTH // HEADS, 2) * HEADS / WIDTH)
        turn = torch.polar(torch.ones_like(angle), angle)
        n = ids.shape[1]
        mask = (document[:, :, None] == document[:, None, :]) & torch.ones(n, n, dtype=torch.bool).tril()
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, turn, mask)
        return self.norm(x) @ self.embed.weight.T


def documents(values, offsets, length):
    """The document of each token of a batch, counted from 1, and its place there; 0 is padding."""
    document, position = torch.zeros(len(offsets) - 1, length, dtype=torch.long), torch.zeros(len(offsets) - 1, length, dtype=torch.long)
    for i in range(len(offsets) - 1):
        at = 0
        for k, n in enumerate(values[offsets[i] : offsets[i + 1]].tolist()):
            document[i, at : at + n], position[i, at : at + n] = k + 1, torch.arange(n)
            at += n
    return document, position


torch.manual_seed(0)
torch.set_num_threads(1)
net = Llama()
opt = torch.optim.AdamW(net.parameters(), 2e-3)
losses = []
with shardify.Loader(sys.argv[1], 16, shuffle="block", seed=1, drop_last=True) as loader:
    if checkpoint and os.path.exists(checkpoint):
        saved = torch.load(checkpoint, weights_only=False)
        net.load_state_dict(saved["net"])
        opt.load_state_dict(saved["opt"])
        loader.load_state_dict(saved["loader"])
        losses = saved["losses"]
    while len(losses) < steps:
        for batch in loader:
            ids = torch.as_tensor(batch["text"]).long()
            document, position = documents(batch["lens"]["values"], batch["lens"]["offsets"].tolist(), ids.shape[1])
            # A token is to be foretold from those of its document before it.
            wanted = (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
            logits = net(ids[:, :-1], document[:, :-1], position[:, :-1])
            loss = F.cross_entropy(logits[wanted], ids[:, 1:][wanted])
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
