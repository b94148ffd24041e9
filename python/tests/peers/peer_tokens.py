"""tokenizers, sentencepiece and tiktoken: random texts must get the ids that they give.

python3 peer_tokens.py WORK     SHARDIFY names the program; TEXTS texts for each tokenizer from SEED, ONLY some tokenizers
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from typing import Callable, List

import numpy as np
import sentencepiece
import tiktoken
import tokenizers
from expect import main
from texts import texts, unpack, words_of

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "tokens")
TEXTS, SEED = int(os.environ.get("TEXTS", "4000")), int(os.environ.get("SEED", "1"))
ONLY = os.environ.get("ONLY", "")
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def reference(path: str) -> Callable[[List[str]], List[List[int]]]:
    if path.endswith(".json"):
        t = tokenizers.Tokenizer.from_file(path)
        return lambda b: [x.ids for x in t.encode_batch_fast(b, add_special_tokens=False)]
    if path.endswith(".model"):
        sp = sentencepiece.SentencePieceProcessor(model_file=path)
        return lambda b: sp.encode(b)  # type: ignore[no-any-return]
    with open(path, "rb") as f:
        ranks = {base64.b64decode(x.split()[0]): int(x.split()[1]) for x in f if x.strip()}
    tt = tiktoken.Encoding("x", pat_str=LLAMA3, mergeable_ranks=ranks, special_tokens={})
    return lambda b: [tt.encode_ordinary(s) for s in b]


def ours(path: str, batch: List[str]) -> List[List[int]]:
    """The ids of a conversion to a pair of Megatron."""
    source, out = os.path.join(WORK, "texts.jsonl"), os.path.join(WORK, "out")
    with open(source, "w") as f:
        for s in batch:
            f.write(json.dumps({"text": s}) + "\n")
    shutil.rmtree(out, ignore_errors=True)
    op = "text=" + path + (" pattern=llama3" if path.endswith(".tiktoken") else "")
    p = subprocess.run([BINARY, "convert", source, "-o", out, "--format", "megatron", "--tokenize", op, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 0, p.stderr
    with open(os.path.join(out, "shard-000000.idx"), "rb") as f:
        head = f.read()
    n = int.from_bytes(head[18:26], "little")
    lengths = np.frombuffer(head, "<i4", n, 34)
    dtype = {4: "<i4", 8: "<u2"}[head[17]]
    ids = np.fromfile(os.path.join(out, "shard-000000.bin"), dtype)
    assert n == len(batch) and len(ids) == lengths.sum(), "%d sequences of %d texts" % (n, len(batch))
    return [a.tolist() for a in np.split(ids, np.cumsum(lengths)[:-1])]


def check(name: str) -> Callable[[], str]:
    def one() -> str:
        path = os.path.join(GOOD, name)
        encode, source = reference(path), texts(words_of(GOOD), SEED)
        for first in range(0, TEXTS, 100000):
            batch = [next(source) for _ in range(min(100000, TEXTS - first))]
            for s, got, want in zip(batch, ours(path, batch), encode(batch)):
                assert got == list(want), "%r: %r, want %r" % (s, got, want)
        return "%s: %d random texts have the reference's ids" % (name, TEXTS)

    return one


GOOD = unpack(WORK)
NAMES = sorted(n for n in os.listdir(GOOD) if not n.endswith("ids.json") and n != "strings.json" and ONLY in n)
main([(n, check(n)) for n in NAMES])
