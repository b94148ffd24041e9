"""A classifier of cells on sparse batches: python3 train.py SET [EPOCHS]"""

import sys

import torch

import shardify

folder, epochs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
data = shardify.open(folder + "/train")
genes = data.field("X/indices").attrs["columns"].split("\n")
types = data.labels("type")
print("%d cells of %d genes, from %s; types %s" % (len(data), len(genes), genes[0], types))
options = dict(sparse={"X": shardify.Sparse("csr", normalize=1e4, log1p=True)}, columns=["X/data", "X/indices", "type"])
torch.manual_seed(1)
weights = torch.nn.Parameter(0.01 * torch.randn(len(genes), len(types)))
optimizer = torch.optim.Adam([weights], lr=0.03)
train = shardify.Loader(folder + "/train", 64, shuffle="global", seed=1, framework="torch", **options)
for epoch in range(epochs):
    for batch in train:
        loss = torch.nn.functional.cross_entropy(batch["X"] @ weights, batch["type"].long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
right = total = 0
for batch in shardify.Loader(folder + "/val", 64, framework="torch", **options):
    right += int(((batch["X"] @ weights.detach()).argmax(1) == batch["type"]).sum())
    total += len(batch["type"])
print("accuracy %.3f of %d cells" % (right / total, total))
