#!/usr/bin/env python3
"""Asks tokenizers, character by character, for the tables that it shows in no other way. usage: ask.py DIR"""
import sys
from tokenizers import Tokenizer, AddedToken, models, normalizers as nz

OUT = sys.argv[1]
CHARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def write(name, head, values):
    """values: by character, the content of its line; None is left out."""
    with open(f"{OUT}/{name}.txt", "w") as f:
        f.write(f"# {head}\n")
        lo = None
        for c in range(0x110001):
            v = values.get(c)
            if lo is not None and v != values[lo]:
                f.write(f"{lo:x} {c - 1:x} {values[lo]}".rstrip() + "\n")
                lo = None
            if lo is None and v is not None:
                lo = c


def marks():
    n = nz.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    write("bert_marks", "ranges that BertNormalizer removes as accents", {c: "" for c in CHARS if n.normalize_str("a" + chr(c)) == "a"})


def numbers():
    from tokenizers import pre_tokenizers
    d = pre_tokenizers.Digits(individual_digits=True)
    write("numeric", "ranges of characters that Digits takes alone: N of Unicode 17.0", {c: "" for c in CHARS if len(d.pre_tokenize_str("a" + chr(c) + "b")) == 3})


def words():
    """An added token that must be a word of its own is not found beside such a character."""
    t = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    t.add_tokens([AddedToken("QQ", single_word=True, normalized=False)])
    found = t.token_to_id("QQ")
    got = {}
    for lo in range(0, len(CHARS), 4096):
        part = CHARS[lo:lo + 4096]
        for c, e in zip(part, t.encode_batch([chr(c) + "QQ" for c in part], add_special_tokens=False)):
            if found not in e.ids:
                got[c] = ""
    write("word", "ranges of characters of words (regular expression \\w)", got)


def classes():
    """Canonical combining classes, found by how NFD orders a mark and a mark that is known."""
    import unicodedata
    known = {}
    n = nz.NFD()
    for c in CHARS:
        k = unicodedata.combining(chr(c))
        x = "a" + chr(c) + "\u0334" if k > 1 else "a\u0345" + chr(c)
        if k and k not in known and unicodedata.decomposition(chr(c)) == "" and n.normalize_str(x) != x:
            known[k] = chr(c)
    steps = sorted(known)
    got = {}
    for c in CHARS:
        s = chr(c)
        if n.normalize_str(s) != s:
            continue
        if n.normalize_str("a\u0345" + s) != "a\u0345" + s or n.normalize_str("a" + s + "\u0334") != "a" + s + "\u0334":
            # between which known classes: it goes before all that are higher, and lower ones go before it
            above = [k for k in steps if n.normalize_str("a" + known[k] + s) == "a" + s + known[k]]
            below = [k for k in steps if n.normalize_str("a" + s + known[k]) == "a" + known[k] + s]
            same = [k for k in steps if k not in above and k not in below]
            got[c] = same[0] if same else unicodedata.combining(s)
            if len(same) != 1 or same[0] != unicodedata.combining(s):
                print(f"U+{c:04X}: {same}, unicodedata has {unicodedata.combining(s)}")
        elif unicodedata.combining(s) == 1:
            got[c] = 1
    write("ccc", "ranges and their canonical combining class, of an older Unicode than the other tables", got)


def everything():
    """A table that makes X of whatever begins with any byte but NUL: so a cluster shorter than 6 bytes is one X, a longer one an X for each character."""
    import base64, json, struct
    units = [0] * 1024
    units[0] = 256 << 10
    for c in range(1, 256):
        units[256 + c] = c | 1 << 8 | 512 << 10
        units[768 + c] = 1 << 31
    table = struct.pack("<I", 4096) + struct.pack("<1024I", *units) + b"X\0"
    t = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()},
         "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}
    n = Tokenizer.from_str(json.dumps(t)).normalizer
    return lambda s: len(n.normalize_str(s))


def clusters():
    """Where extended grapheme clusters end: e goes on with any character before it, p with any after it, k is a control character, and what two rules of Unicode ask for: x pictograph, c consonant, l linker."""
    import regex
    n, got = everything(), {}
    for c in CHARS[1:]:
        s, v = chr(c), ""
        size = len(s.encode())
        if n("a" + s) == 1:
            v = "m" if regex.match(r"\p{GCB=SpacingMark}", s) else "e"
        elif n(s + "a") == 1:
            v = "p"
        elif size < 4 and n(s + "\u0301") == 2 or size == 4 and regex.match(r"\p{GCB=Control}", s):
            v = "k"
        elif regex.match(r"\p{Extended_Pictographic}", s):
            v = "x"
        elif regex.match(r"\p{InCB=Consonant}", s) and n(s + "\u094d" + s + "\u0301") == 4:
            v = "c"
        if v == "e" and n("\u0915" + s + "\u0915\u0301") == 4:
            v = "z" if c == 0x200d else "l"
        if c == 0x200d:
            v = "z"
        if 0x1f1e6 <= c <= 0x1f1ff:
            v = "r"
        if v:
            got[c] = v
    got[0] = "k"
    print("CR LF is", n("\r\n"), "cluster; conjuncts:", n("\u0915\u094d\u0915\u0301"), "(4: joined); pictographs:", n("\u00a9\u200d\u00a9"), "(3: joined)")
    write("graphemes", "ranges by what they do to extended grapheme clusters: " + clusters.__doc__.split(": ", 1)[1].rstrip("."), got)


def scripts():
    """Scripts: a character joins one of its own script, or, without a script, any."""
    from tokenizers import pre_tokenizers
    u = pre_tokenizers.UnicodeScripts()
    joined = lambda a, b: len(u.pre_tokenize_str(a + b)) == 1
    known, got, last = [], {}, 0
    for c in CHARS:
        s = chr(c)
        if joined("a", s) and joined("\u03b1", s):
            continue
        if not known or not joined(known[last], s):
            last = next((i for i, k in enumerate(known) if joined(k, s)), len(known))
            known += [s] * (last == len(known))
        got[c] = last
    write("scripts", "ranges and the number of their script, for UnicodeScripts: Hiragana and Katakana are Han there; a character of no range goes on with any script", got)


marks(), numbers(), words(), classes(), clusters(), scripts()
