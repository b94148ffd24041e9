"""Three small corpora and a tokenizer to try mixtures with: python3 make.py FOLDER

stories.txt has paragraphs, sums.txt a sum in each line, code.jsonl functions. The tokens are the bytes of UTF-8, and the end of a document.
"""

import json
import os
import random
import sys

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
rng = random.Random(1)

who = ["The fox", "A crow", "The old miller", "Her brother", "Nobody"]
did = ["ran to", "looked for", "never saw", "sang about", "waited at"]
where = ["the river", "a red door", "the hill", "the market", "an empty boat"]
with open(os.path.join(out, "stories.txt"), "w") as f:
    for _ in range(1500):
        for _ in range(rng.randint(1, 4)):
            f.write(" ".join(rng.choice(words) for words in (who, did, where)) + ".\n")
        f.write("\n")

with open(os.path.join(out, "sums.txt"), "w") as f:
    for _ in range(2000):
        a, b = rng.randint(0, 99), rng.randint(0, 99)
        f.write("%d + %d = %d\n" % (a, b, a + b))

with open(os.path.join(out, "code.jsonl"), "w") as f:
    for i in range(1200):
        name, op = rng.choice(["area", "mean", "shift", "scale"]), rng.choice("+-*")
        text = "def %s_%d(x, y):\n    z = x %s %d\n    return z %s y\n" % (name, i, op, rng.randint(1, 9), op)
        f.write(json.dumps({"id": i, "text": text}) + "\n")

# GPT-2 writes bytes as these characters: a space is the one after U+011F, a newline U+010A.
letters = [chr(b) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b else None for b in range(256)]
rest = (chr(c) for c in range(256, 512))
vocab = {c or next(rest): b for b, c in enumerate(letters)}
level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
end = {"id": 256, "content": "<|end|>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
with open(os.path.join(out, "tokenizer.json"), "w") as f:
    json.dump({"version": "1.0", "added_tokens": [end], "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": {"type": "BPE", "vocab": vocab, "merges": []}}, f)
