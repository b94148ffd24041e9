"""A conversion of texts to a pair of Megatron has the bytes that Megatron-LM writes.

python3 peer_preprocess.py WORK     SHARDIFY names the program; TEXTS texts for each tokenizer from SEED

tokenizers makes the ids, Megatron's IndexedDatasetBuilder the files, as tools/preprocess_data.py calls
it: with --append-eod, and a sequence and a document for each text that is not empty.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from typing import Any, Callable, List

import numpy as np
import tokenizers
from expect import main
from peer_megatron import indexed_dataset
from texts import texts, unpack, words_of

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "preprocess")
TEXTS, SEED = int(os.environ.get("TEXTS", "3000")), int(os.environ.get("SEED", "1"))


def wide(good: str, size: int) -> str:
    """A tokenizer with so many ids that they are i32, or just not."""
    with open(os.path.join(good, "bl-gpt2.json")) as f:
        t = json.load(f)
    first = max(list(t["model"]["vocab"].values()) + [a["id"] for a in t["added_tokens"]]) + 1
    flags = {k: False for k in ("single_word", "lstrip", "rstrip", "normalized")}
    t["added_tokens"] += [dict(flags, id=i, content="<|extra-%d|>" % i, special=True) for i in range(first, size)]
    path = os.path.join(good, "size-%d.json" % size)
    with open(path, "w") as f:
        json.dump(t, f)
    return path


def megatron(module: Any, path: str, docs: List[str], eod: int, out: str) -> int:
    """What preprocess_data.py writes; the number of texts with tokens."""
    tok = tokenizers.Tokenizer.from_file(path)
    dtype = module.DType.optimal_dtype(max(tok.get_vocab(with_added_tokens=True).values()) + 1)
    builder = module.IndexedDatasetBuilder(out + ".bin", dtype=dtype)
    some = [e.ids for e in tok.encode_batch_fast(docs, add_special_tokens=False) if e.ids]
    for ids in some:
        builder.add_document(np.array(ids + [eod]), [len(ids) + 1])
    builder.finalize(out + ".idx")
    return len(some)


def shardify(*args: str, kill: float = 0) -> int:
    """Runs it, and kills it after so many seconds."""
    p = subprocess.Popen([BINARY, *args, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    try:
        _, err = p.communicate(timeout=kill or 600)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        assert kill, "no end"
        return 1
    # 3: the other tasks are not done yet.
    assert p.returncode in (0, 3), err
    return 0


def same(want: str, out: str, name: str) -> None:
    for ext in (".bin", ".idx"):
        with open(want + ext, "rb") as f, open(os.path.join(out, name + ext), "rb") as g:
            a, b = f.read(), g.read()
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        assert a == b, "%s%s: %d bytes, want %d; they differ at %d" % (name, ext, len(b), len(a), at)


def check(name: str, size: int = 0) -> Callable[[], str]:
    def one() -> str:
        path = wide(GOOD, size) if size else os.path.join(GOOD, name)
        rng, source = random.Random(SEED), texts(words_of(GOOD), SEED)
        docs = [" ".join(next(source) for _ in range(rng.randint(0, 12))) for _ in range(TEXTS)]
        vocab = tokenizers.Tokenizer.from_file(path).get_vocab(with_added_tokens=True)
        eod = max(vocab, key=lambda t: vocab[t])
        lines, out, want = (os.path.join(WORK, x) for x in ("texts.jsonl", "out", "want"))
        with open(lines, "w") as f:
            f.writelines(json.dumps({"id": i, "text": s}) + "\n" for i, s in enumerate(docs))
        module = MODULE
        op = ["--columns", "text", "--tokenize", "text=%s append-eod=%d empty=drop" % (path, vocab[eod]), "--format", "megatron"]

        shutil.rmtree(out, ignore_errors=True)
        count = megatron(module, path, docs, vocab[eod], want)
        began = time.monotonic()
        shardify("convert", lines, "-o", out, *op, "--jobs", "2")
        took = time.monotonic() - began
        same(want, out, "shard-000000")
        read = module.IndexedDataset(os.path.join(out, "shard-000000"))
        assert len(read) == count and all(read[i][-1] == vocab[eod] for i in range(len(read)))

        # Shards of some hundred texts by three tasks that are killed, and killed again.
        shutil.rmtree(out)
        shardify("plan", lines, "-o", out, *op, "--shard-samples", "300")
        killed = 0
        for last in False, False, True:
            for task in range(3):
                kill = 0 if last else max(rng.random() * took / 2, 0.01)
                killed += shardify("work", out, "--task", str(task), "--tasks", "3", kill=kill)
        shardify("merge", out)
        shards = range(0, len(docs), 300)
        for i, first in enumerate(shards):
            megatron(module, path, docs[first : first + 300], vocab[eod], want)
            same(want, out, "shard-%06d" % i)
        return "%s: %d texts by one task, %d shards by three, of which %d were killed: the bytes of Megatron-LM" % (name, len(docs), len(shards), killed)

    return one


GOOD, MODULE = unpack(WORK), indexed_dataset()
main([(n, check(n)) for n in ("bl-gpt2.json", "bl-llama3.json", "sp-llama2-new.json", "uni-t5.json", "wp-bert-uncased.json")] + [("%d ids" % n, check("%d ids" % n, n)) for n in (65499, 65500)])
