"""Texts and a tokenizer to try things with: python3 make.py FOLDER

The texts are the documentation strings of Python's library; the tokenizer is byte-level BPE, with merges of their most frequent pairs.
"""

import ast
import collections
import glob
import json
import os
import re
import sys
import sysconfig

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
docs = []
for path in sorted(glob.glob(os.path.join(sysconfig.get_path("stdlib"), "*.py"))):
    try:
        with open(path, encoding="utf-8") as f:
            tree = ast.parse(f.read())
    except (SyntaxError, UnicodeDecodeError):
        continue
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs += [d for n in ast.walk(tree) if isinstance(n, kinds) for d in [ast.get_docstring(n)] if d and len(d) > 80 and d.isascii()]
with open(os.path.join(out, "texts.jsonl"), "w") as f:
    f.writelines(json.dumps({"text": d}) + "\n" for d in docs)

# GPT-2 writes bytes as these characters: a space is the one after U+011F, a newline U+010A.
letters = [chr(b) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b else None for b in range(256)]
rest = (chr(c) for c in range(256, 512))
letters = [c or next(rest) for c in letters]
words = collections.Counter(re.findall(r" ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+", " ".join(docs[::4])))
words = {tuple(letters[ord(c)] for c in w): n for w, n in words.most_common(4000)}
vocab, merges = {"<|endoftext|>": 0, **{c: 1 + i for i, c in enumerate(letters)}}, []
while len(vocab) < 512:
    pairs = collections.Counter()
    for w, n in words.items():
        for pair in zip(w, w[1:]):
            pairs[pair] += n
    a, b = max(pairs, key=lambda p: (pairs[p], p))
    merges.append([a, b])
    vocab[a + b] = len(vocab)
    joined = {}
    for w, n in words.items():
        t, i = [], 0
        while i < len(w):
            k = 2 if w[i : i + 2] == (a, b) else 1
            t.append("".join(w[i : i + k]))
            i += k
        joined[tuple(t)] = joined.get(tuple(t), 0) + n
    words = joined
level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
end = {"id": 0, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
with open(os.path.join(out, "tokenizer.json"), "w") as f:
    json.dump({"version": "1.0", "added_tokens": [end], "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": {"type": "BPE", "vocab": vocab, "merges": merges}}, f)
print("%d texts, %d tokens in the vocabulary" % (len(docs), len(vocab)))
