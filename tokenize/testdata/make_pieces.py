#!/usr/bin/env python3
"""The words that tokenizers 0.23.3 cuts a few texts into. usage: make_pieces.py >pieces.jsonl"""
import json
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

TEXTS = ["..ab..c.d! e", "  \u0b58ab \u03b1b", "a\u30fc\u3002b", " ka 12x\n\n7", ",a,,b, ", "\x01\ufeffka\u2581 ", "\u0627\u0644 x_\u0301y", "\u00e9"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SPACE = {"type": "WhitespaceSplit"}
META = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
STRIP = {"type": "Strip", "strip_left": True, "strip_right": False}


def split(text, behavior, invert):
    return {"type": "Split", "pattern": {"String": text}, "behavior": behavior, "invert": invert}


CASES = [(None, [{"type": "Whitespace"}]), (None, [{"type": "UnicodeScripts"}]), (None, [{"type": "CharDelimiterSplit", "delimiter": ","}]), (None, [{"type": "Digits", "individual_digits": False}])]
CASES += [(None, [{"type": "Punctuation", "behavior": b}]) for b in BEHAVIORS]
CASES += [(None, [split(".", b, i)]) for b in BEHAVIORS for i in (False, True)]
CASES += [(None, [{"type": "UnicodeScripts"}, {"type": "Whitespace"}]), (None, [SPACE, BYTES]), (None, [BYTES, {"type": "Whitespace"}, META]), (STRIP, [META]), (STRIP, [SPACE, META])]
CASES += [({"type": "Nmt"}, [META]), ({"type": "Strip", "strip_left": False, "strip_right": True}, [META]), ({"type": "ByteLevel"}, [{"type": "Punctuation", "behavior": "Isolated"}])]
LETTERS = sorted(set("".join(TEXTS)) | set("\u2581e\u0301") | set(ByteLevel.alphabet()))
VOCAB = {w: i for i, w in enumerate(["?"] + LETTERS + ["\u241f" + w for w in LETTERS])}  # the prefix is in no text
for normalizer, parts in CASES:
    file = {"version": "1.0", "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": {"type": "Sequence", "pretokenizers": parts}}
    model = {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "\u241f", "max_input_chars_per_word": 100, "vocab": VOCAB}
    t = Tokenizer.from_str(json.dumps({**file, "model": model}))
    for text in TEXTS:
        pieces = []
        for w in t.encode(text).tokens:
            if w.startswith("\u241f"):
                pieces[-1] += w[1:]
            else:
                pieces.append(w)
        print(json.dumps({**file, "text": text, "pieces": pieces}))
