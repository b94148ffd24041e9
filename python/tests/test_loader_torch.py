"""LoaderDataset: the loader under torch's DataLoader; and what torch alone can show."""

from __future__ import annotations

import numpy as np
import pytest
from loading import needs_library, numbered, run

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import shardify  # noqa: E402

pytestmark = needs_library

EPOCHS = """
    import json, sys, torch, shardify
    from torch.utils.data import DataLoader

    def ids(path, start, workers, rank=0, world=1, **kw):
        ds = shardify.LoaderDataset(path, 5, shuffle="global", seed=1, rank=rank, world_size=world)
        more = dict(num_workers=workers, timeout=60, multiprocessing_context=start, **kw) if workers else {}
        loader = DataLoader(ds, batch_size=None, collate_fn=ds.as_is, **more)
        out = []
        for epoch in range(3):
            if epoch == 2:
                ds.set_epoch(7)
            batches = list(loader)
            assert all(torch.equal(b["x"], torch.from_numpy(b.ids)) for b in batches)
            assert {b.epoch for b in batches} == {[0, 1, 7][epoch]}
            out.append([b["x"].tolist() for b in batches])
        return out

    if __name__ == "__main__":
        path = %r
        one = ids(path, None, 0) if %r != "fork" else None
        for rank in range(2):
            print(json.dumps(ids(path, %r, %d, rank, 2, **%r)))
        print(json.dumps(one))
"""


def test_workers_with_the_default_collate_deliver(tmp_path):
    """It builds batches again from their items, which then go from process to process."""
    path = numbered(tmp_path / "s", 40)
    out = run(
        """
        import shardify
        from torch.utils.data import DataLoader
        ds = shardify.LoaderDataset(%r, 4)
        seen = []
        for batch in DataLoader(ds, batch_size=None, num_workers=2, timeout=30):
            seen += batch["x"].tolist()
            if not hasattr(batch, "ids"):  # as it is with torch up to 2.0
                for name in ("rows", "ids", "valid", "epoch"):
                    try:
                        getattr(batch, name)
                    except AttributeError as e:
                        assert "as_is keeps it" in str(e), e
                    else:
                        raise SystemExit("%%s is wrong in silence" %% name)
        assert sorted(seen) == list(range(40)), seen
        """
        % path
    )
    assert out == ""


@pytest.mark.parametrize(
    "start,workers,more",
    [
        (None, 0, {}),
        ("fork", 2, {}),
        ("fork", 3, {"persistent_workers": True}),
        ("spawn", 2, {"persistent_workers": True}),
    ],
)
def test_workers_and_ranks_share_the_samples(tmp_path, start, workers, more):
    """Each sample once, the same number of batches on every rank, each pass the next epoch."""
    import json

    path = numbered(tmp_path / "s", 240)
    program = tmp_path / "program.py"  # spawned workers import it
    import textwrap

    program.write_text(textwrap.dedent(EPOCHS % (path, start, start, workers, more)))
    out = run(
        "import runpy, sys; sys.argv[0] = %r; runpy.run_path(%r, run_name='__main__')" % (str(program), str(program)),
        timeout=120,
    )
    a, b, one = map(json.loads, out.splitlines())
    n = max(workers, 1)
    for epoch in range(3):
        assert len(a[epoch]) == len(b[epoch]) == 240 // (10 * n) * n
        seen = [x for batches in (a[epoch], b[epoch]) for batch in batches for x in batch]
        assert len(set(seen)) == len(seen) == 240 // (10 * n) * 10 * n
    assert a[0] != a[1] != a[2]
    if one:
        flat = [sorted(x for e in (a, b) for batch in e[k] for x in batch) for k in range(3)]
        assert [sorted(x for batch in one[k] for x in batch) for k in range(3)] == flat


def test_workers_lose_no_sample(tmp_path):
    """A last round that does not go round: DataLoader asks the workers that have a batch."""
    path = numbered(tmp_path / "s", 23)
    out = run(
        """
        import shardify
        from torch.utils.data import DataLoader
        for workers in (2, 7, 0):  # without workers last: what uses a Loader cannot be forked
            for shuffle in ("none", "global", "block"):
                ds = shardify.LoaderDataset(%r, 4, shuffle=shuffle)
                seen = [b["x"].tolist() for b in DataLoader(ds, batch_size=None, num_workers=workers)]
                assert sorted(sum(seen, [])) == list(range(23)) and all(seen), seen
                if shuffle == "none":
                    assert sum(seen, []) == list(range(23)), seen
        """
        % path
    )
    assert out == ""


def test_forked_after_a_loader_it_says_so(tmp_path):
    path = numbered(tmp_path / "s", 40)
    out = run(
        """
        import shardify
        from torch.utils.data import DataLoader
        shardify.Loader(%r, 4, framework="numpy").close()
        ds = shardify.LoaderDataset(%r, 4)
        loader = DataLoader(ds, batch_size=None, num_workers=1, multiprocessing_context="fork", timeout=30)
        try:
            next(iter(loader))
        except shardify.ForkedError as e:
            print("forkserver" in str(e))
        # The parent's loader, and DataLoaders over shardify.open, go on.
        print(len(list(shardify.Loader(%r, 4))))
        more = dict(num_workers=1, multiprocessing_context="fork", timeout=30)
        old = DataLoader(shardify.open(%r), 4, collate_fn=shardify.collate(), **more)
        print(len(list(old)))
        """
        % (path, path, path, path)
    )
    assert out == "True\n10\n10\n"


def test_without_workers_it_is_the_loader(tmp_path):
    path = numbered(tmp_path / "s", 40)
    ds = shardify.LoaderDataset(path, 4, shuffle="global", epoch=3)
    assert ds.state_dict() == {}
    it = iter(ds)
    first, state = next(it), ds.state_dict()
    assert first.epoch == 3 and state["position"] == 4
    rest = [b["x"].tolist() for b in it]
    other = shardify.LoaderDataset(path, 4, shuffle="global")
    other.load_state_dict(state)
    assert [b["x"].tolist() for b in other] == rest
    assert next(iter(other)).epoch == 4
    with pytest.raises(ValueError, match="Loader alone"):
        shardify.LoaderDataset(path, 4, copy=False)


def test_what_a_gpu_is_asked_for(tmp_path):
    path = numbered(tmp_path / "s", 8)
    with shardify.Loader(path, 4) as loader:
        assert loader.framework == "torch" and loader.device == ("cuda:0" if torch.cuda.is_available() else "host")
    if not torch.cuda.is_available():
        with pytest.raises(shardify.UnsupportedError, match="no CUDA"):
            shardify.Loader(path, 4, device="cuda:0")
    with shardify.Loader(path, 4, device=torch.device("cpu")) as loader:
        x = next(iter(loader))["x"]
        assert x.dtype == torch.int64 and x.is_contiguous() and not x.requires_grad
        assert torch.utils.data.default_convert({"x": x})["x"] is x


def test_a_model_learns(tmp_path):
    """A line through points: loss goes down, and a run that was killed goes on with the same batches."""
    import fixture
    import numpy as np

    r = np.random.default_rng(0)
    schema = [{"name": "x", "dtype": "f32", "shape": [3]}, {"name": "y", "dtype": "f32"}]
    rows = [{"x": x, "y": x @ np.array([1, -2, 3]) + 1} for x in r.normal(size=(400, 3)).astype("f4")]
    path = fixture.write(tmp_path / "s", schema, rows)

    def train(state=None, steps=60):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        losses, seen = [], []
        with shardify.Loader(path, 32, shuffle="block", device="cpu") as loader:
            if state:
                loader.load_state_dict(state)
            while len(losses) < steps:
                for batch in loader:
                    loss = ((model(batch["x"])[:, 0] - batch["y"]) ** 2).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(float(loss))
                    seen.append(batch.ids.tolist())
                    if len(losses) == steps:
                        break
            return losses, seen, loader.state_dict()

    losses, seen, _ = train()
    assert losses[-1] < 0.01 * losses[0]
    _, first, state = train(steps=25)
    _, rest, _ = train(state, steps=35)
    assert first + rest == seen


def growing(epoch):
    return np.random.default_rng(epoch).permutation(120)[: 50 + 30 * epoch]


def test_budget_of_epochs_with_orders(tmp_path):
    """Two workers share the batches of a Loader, whose epochs differ in their lengths."""
    from torch.utils.data import DataLoader

    path = numbered(tmp_path / "s", 120)
    given = dict(budget={"x": 300}, order=growing)
    want = shardify.Loader(path, framework="torch", device="cpu", **given)
    loader = DataLoader(shardify.LoaderDataset(path, **given), batch_size=None, num_workers=2, multiprocessing_context="forkserver", persistent_workers=True)
    for _ in range(2):
        assert len(loader) == len(want)
        assert [b["x"].tolist() for b in loader] == [b["x"].tolist() for b in want]
