"""Random texts of what tokenizers get wrong, and the tokenizers of the corpus."""

from __future__ import annotations

import json
import os
import random
import shutil
import unicodedata
import zipfile
from typing import Iterator, List

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tokenize", "testdata", "corpus.zip")


def unpack(work: str) -> str:
    """The folder of the tokenizers, below a fresh folder."""
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    with zipfile.ZipFile(CORPUS) as z:
        z.extractall(work)
    return os.path.join(work, "good")


def words_of(good: str) -> List[str]:
    """Short words of the corpus' texts."""
    with open(os.path.join(good, "strings.json")) as f:
        return [w for s in json.load(f) for w in s.split(" ") if 1 < len(w) < 12]


SPACES = list(" \t\n\r\v\f\x1c\x1f\x85\xa0\u1680\u180e\u2003\u200b\u2028\u202f\u3000\ufeff") + ["\r\n", "  ", "    ", "\n\n", " \n", "\n "]
SHORT = "'s 'S '\u017f 't 'RE 're 'vE 'll 'lL 'D \u2019s ' '' 'l 'r 'x 'K 'M".split()
DIGITS = list("0123456789\u0663\u096a\u1099\u2167\u00b2\u00bd\u2460\u3007\U0001d7d8\U00011de5\U00016ff4") + ["1234567", "12 345", "1.5e-7"]
MARKS = "\u00e9 e\u0301 \ufb01 \u017f \u212a \u212b \u0130 \u0131 \u00df \u1e9e \u02b0 \u01c5 \u00aa \u0301 \u0316 \u0345 \u093c \u094d \u093f \u200d \u200c \ufe0f \uff76\uff9e \u337f \u2460".split()
MARKS += "\ufdfa \uac01 \u1100\u1161\u11a8 \u1100 \u1161 \uac00 \u1e9b\u0323 a\u0300\u0316 \u0f77 \u0f71\u0f72 \u0344 \u0958 \u09cb \u0dde \U0001d160 \u0600 \u0600a \u00a9\u200d\u00a9 \u0915\u094d\u0915 \U0001f600\u0301".split()
SCRIPTS = "\u041f\u0440\u0438\u0432\u0435\u0442 \u4f60\u597d \u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4 \u0645\u0631\u062d\u0628\u0627 \u0e44\u0e17\u0e22 \u0939\u093f\u0928\u094d\u0926\u0940 \u0395\u03bb\u03bb\u03ac\u03b4\u03b1".split()
SCRIPTS += "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f \U0001d518\U0001d52b\U0001d526 \U00010400\U00010428 \u0391\u03a3 \u01c5a a\u01c5 \u3042AB A\u3042".split()
SPECIAL = "<s> </s> <unk> <pad> <|begin|> <|end|> [CLS] [SEP] [MASK] [UNK] <0x41> <0x0A> \u2581 \u0120 \u2581\u2581 ##a <sep> <usr> ka TO to ka\u2581re <USR> x<usr> <usr>x".split()
SPECIAL += ["ka re", "<sep>  ", "   [MASK]"]
SIGNS = list("{}(),.@#$`~_^|\u00a7\u2014\u201e\x00\x01\x7f") + ["...", "==", "//", "!\n", "/\n", "--", "}\n\n/"]
COMBINING = [chr(c) for c in range(0x300, 0x1F000) if unicodedata.category(chr(c))[0] == "M"]


def texts(words: List[str], seed: int) -> Iterator[str]:
    """Texts of what tokenizers get wrong."""
    rng = random.Random(seed)
    pools = [SPACES, SHORT, DIGITS, MARKS, SCRIPTS, SPECIAL, SIGNS, words, words]

    def character() -> str:
        r = rng.random()
        if r < 0.15:
            return rng.choice(COMBINING)
        c = rng.randrange(0x110000 if r < 0.4 else 0x3000 if r < 0.9 else 0x20000)
        return chr(c) if not 0xD800 <= c < 0xE000 else "a"

    def piece() -> str:
        r = rng.random()
        if r < 0.2:
            return "".join(character() for _ in range(1 if r < 0.15 else rng.randint(2, 5)))
        return rng.choice(rng.choice(pools)) * (rng.randint(2, 40 if r > 0.99 else 9) if r > 0.95 else 1)

    while True:
        yield "".join(piece() for _ in range(rng.randint(1, 9)))
