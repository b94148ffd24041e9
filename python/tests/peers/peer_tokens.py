"""tokenizers, sentencepiece and tiktoken: random texts must get the ids that they give.

python3 peer_tokens.py WORK     SHARDIFY names the program; TEXTS texts for each tokenizer from SEED, ONLY some tokenizers
"""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import subprocess
import sys
from typing import Any, Callable, Dict, List

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


MODELS = ["BPE", "WordPiece", "Unigram"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def pipeline(rng: random.Random, words: List[str]) -> str:
    """A random tokenizer.json: one or two of the normalizers and pre-tokenizers, a model of few words, added tokens."""
    flip = lambda: rng.random() < 0.5
    normalizers = [
        {"type": "Strip", "strip_left": flip(), "strip_right": flip()},
        {"type": "Nmt"},
        {"type": "Lowercase"},
        {"type": "NFKC"},
        {"type": "BertNormalizer", "clean_text": flip(), "handle_chinese_chars": flip(), "strip_accents": flip(), "lowercase": flip()},
    ]
    mark = "\u2581"
    cutters = [
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
        {"type": "UnicodeScripts"},
        {"type": "Punctuation", "behavior": rng.choice(BEHAVIORS)},
        {"type": "CharDelimiterSplit", "delimiter": rng.choice(" a\n.\u2581")},
        {"type": "Digits", "individual_digits": flip()},
        {"type": "BertPreTokenizer"},
        {"type": "ByteLevel", "add_prefix_space": flip(), "trim_offsets": True, "use_regex": flip()},
        {"type": "Metaspace", "replacement": mark, "prepend_scheme": rng.choice(["always", "first", "never"]), "split": flip()},
        {"type": "Split", "pattern": {"String": rng.choice([" ", "a", "..", "\n"])}, "behavior": rng.choice(BEHAVIORS), "invert": flip()},
        {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False},
    ]
    pick = lambda what, most: rng.sample(what, rng.randint(0 if what is normalizers else 1, most))
    chosen, model = pick(cutters, 3), rng.choice(MODELS)
    letters = sorted(set("".join(words)) | set("abcdefghijklmnopqrstuvwxyz .,0123456789" + mark) | set(tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    vocab = ["[UNK]"] + letters + sorted({w[:n] for w in words for n in (2, 3) if len(w) >= n and len(w[:n]) > 1})
    body: Dict[str, Any] = {"type": model, "unk_token": "[UNK]", "vocab": {w: i for i, w in enumerate(vocab)}}
    if model == "BPE":
        pairs = [[w[:1], w[1:]] for w in vocab if len(w) == 2] + [[w[:2], w[2:]] for w in vocab if len(w) == 3 and w[:2] in body["vocab"]]
        body.update(merges=pairs, dropout=None, continuing_subword_prefix=None, end_of_word_suffix=None, fuse_unk=flip(), byte_fallback=False)
    elif model == "WordPiece":
        for w in vocab[1:]:
            body["vocab"].setdefault("##" + w, len(body["vocab"]))
        body.update(continuing_subword_prefix="##", max_input_chars_per_word=rng.choice([5, 100]))
    else:
        body = {"type": model, "unk_id": 0, "vocab": [[w, -float(rng.randint(1, 900)) / len(w)] for w in vocab]}
    added = [
        {"id": 5000 + i, "content": c, "single_word": rng.random() < 0.2, "lstrip": flip(), "rstrip": flip(), "normalized": flip(), "special": flip()}
        for i, c in enumerate(rng.sample(["\n", " ", "<s>", "ka", "  ", "</s>"], rng.randint(0, 3)))
    ]
    for i, a in enumerate(added):  # as the reference counts
        known = body["vocab"].get(a["content"]) if isinstance(body["vocab"], dict) else {w: i for i, (w, _) in enumerate(body["vocab"])}.get(a["content"])
        a["id"] = known if known is not None else len(body["vocab"]) + sum(1 for b in added[:i] if b["id"] >= len(body["vocab"]))
    added.sort(key=lambda a: a["id"])
    path = os.path.join(WORK, "pipeline.json")
    with open(path, "w") as f:
        json.dump(
            {
                "version": "1.0",
                "truncation": None,
                "padding": None,
                "added_tokens": added,
                "normalizer": {"type": "Sequence", "normalizers": pick(normalizers, 2)},
                "pre_tokenizer": {"type": "Sequence", "pretokenizers": chosen},
                "post_processor": None,
                "decoder": None,
                "model": body,
            },
            f,
        )
    return path


def pipelines() -> str:
    """Random pipelines: equal ids, or refused by name. Texts that the reference fails on are left out."""
    rng, words = random.Random(SEED), words_of(GOOD)
    source, many, refused, compared = texts(words, SEED), TEXTS // 20, 0, 0
    for _ in range(many):
        path = pipeline(rng, words[:200])
        t = tokenizers.Tokenizer.from_file(path)
        pairs = []
        for _ in range(200):
            s = next(source)
            try:
                pairs.append((s, t.encode(s, add_special_tokens=False).ids))
            except BaseException as e:  # the panic of a library in Rust
                if type(e).__name__ not in ("PanicException", "Exception"):
                    raise
        try:
            ids = ours(path, [s for s, _ in pairs])
        except AssertionError as e:
            assert "pipeline.json: " in str(e), e
            refused += 1
            continue
        compared += len(pairs)
        for (s, want), got in zip(pairs, ids):
            if got != want:
                with open(path) as f:
                    parts = json.load(f)
                raise AssertionError("%r: %r, want %r by %s" % (s, got, want, json.dumps({k: parts[k] for k in ("normalizer", "pre_tokenizer", "added_tokens")}) + parts["model"]["type"]))
    assert refused < many // 4, "%d of %d are refused" % (refused, many)
    return "%d random pipelines: %d texts have the reference's ids, %d pipelines are refused by name" % (many, compared, refused)


GOOD = unpack(WORK)
NAMES = sorted(n for n in os.listdir(GOOD) if not n.endswith("ids.json") and n != "strings.json" and ONLY in n)
main([(n, check(n)) for n in NAMES] + [("pipelines", pipelines)] * (ONLY in "pipelines"))
