"""Times text that becomes tokens, against the libraries of the tokenizers and scripts of them.

    python3 bench/tokens.py WORK [--size 1000] [--part 20] [--sample 8] [--rounds 5] [--only NAME,...] [--out FILE.md]

SHARDIFY names the program, ENCODE the compiled tests of tokenize, whose BenchmarkTexts
makes ids. tokenizers, tiktoken, sentencepiece, numpy and zstandard are wanted, datatrove is timed
where it is installed. The contenders of a case take turns in each round.

The texts are English prose: the documentation strings of the Python library, and the comments of
the Go library, a document for each file, in random order from a seed, again and again up to the
size (MB). The tokenizers are trained on them; the files of ranks have the same tokens.

    gpt2, cl100k, bert, unigram, llama      tokenizer.json: MB of text per second of one processor
    gpt2-ranks, cl100k-ranks                the same tokens as ranks of tiktoken
    sp-unigram, sp-bpe                      .model of SentencePiece
    megatron                                JSON lines with zstd to a pair of Megatron, two jobs or workers;
                                            scripts get a part (MB), or they would take hours
    merge                                   50 sets of megatron shards become one, against cp of the same bytes
    fill                                    how full sequences of some lengths are

Contenders of a case must make the same ids, or the same .bin. megatron and merge take a round less
than half of the others'.
"""

import argparse
import ast
import base64
import glob
import hashlib
import importlib.util
import io
import json
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import sysconfig

import events
from run import head

SHARDIFY, ENCODE = os.environ.get("SHARDIFY", "shardify"), os.environ.get("ENCODE", "")
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SETS, LENGTHS = 50, (512, 2048, 8192)
TOKENS, EOD = 32000, "<|endoftext|>"


def python_texts():
    for path in sorted(glob.glob(os.path.join(sysconfig.get_path("stdlib"), "**", "*.py"), recursive=True)):
        if "site-packages" in path:
            continue
        try:
            with open(path, encoding="utf-8") as f:
                tree = ast.parse(f.read())
        except (SyntaxError, ValueError, UnicodeDecodeError):
            continue
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        yield "\n\n".join(d for n in ast.walk(tree) if isinstance(n, kinds) for d in [ast.get_docstring(n)] if d)


def go_texts():
    root = subprocess.run(["go", "env", "GOROOT"], stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()
    for path in sorted(glob.glob(os.path.join(root, "src", "**", "*.go"), recursive=True)):
        if "testdata" in path:
            continue
        with open(path, encoding="utf-8", errors="replace") as f:
            blocks = re.findall(r"(?:^[ \t]*// ?.*\n)+", f.read(), re.M)
        yield "\n".join(re.sub(r"^[ \t]*// ?", "", b, flags=re.M) for b in blocks if len(b) > 150)


def make(work, size, part, sample):
    """The texts, a sample of them, and the tokenizers."""
    import zstandard

    docs = [d for texts in (python_texts(), go_texts()) for d in texts if len(d) > 200]
    rng = random.Random(1)
    for name, most in ("sample.jsonl", sample), ("part.jsonl.zst", part), ("quarter.jsonl.zst", size // 4), ("texts.jsonl.zst", size):
        order, n = [], 0
        with open(os.path.join(work, name), "wb") as f:
            out = zstandard.ZstdCompressor(level=3).stream_writer(f, closefd=False) if name.endswith("zst") else f
            while n < most:
                if not order:
                    order = rng.sample(range(len(docs)), len(docs))
                d = docs[order.pop()]
                n += len(d.encode())
                out.write(json.dumps({"text": d}, ensure_ascii=False).encode() + b"\n")
            if out is not f:
                out.close()
    train(work, docs)
    for i in range(SETS):
        subprocess.run([SHARDIFY, "convert", "--from", "synth", "--schema", "tokens:u16[2048]", "--samples", "2500", "--synth-seed", str(i), "-o", os.path.join(work, "sets", "set-%02d" % i), "--format", "megatron", "--sync", "none", "-q"], stdout=subprocess.DEVNULL, check=True)
    return sum(len(d.encode()) for d in docs)


def train(work, docs):
    import sentencepiece
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers, trainers

    rng = random.Random(2)
    some = rng.sample(docs, min(len(docs), 1500))
    letters = pre_tokenizers.ByteLevel.alphabet()
    regex = lambda p: pre_tokenizers.Sequence([pre_tokenizers.Split(tokenizers.Regex(p), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    bpe = lambda **kw: trainers.BpeTrainer(vocab_size=TOKENS, special_tokens=[EOD], show_progress=False, **kw)
    for name, model, normalizer, pre, trainer in [
        ("gpt2", models.BPE(), None, pre_tokenizers.ByteLevel(add_prefix_space=False), bpe(initial_alphabet=letters)),
        ("cl100k", models.BPE(), None, regex(CL100K), bpe(initial_alphabet=letters)),
        ("llama", models.BPE(unk_token="<unk>", fuse_unk=True), normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]), pre_tokenizers.Metaspace(prepend_scheme="never"), trainers.BpeTrainer(vocab_size=TOKENS, special_tokens=[EOD, "<unk>"], show_progress=False)),
        ("bert", models.WordPiece(unk_token="[UNK]"), normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer(), trainers.WordPieceTrainer(vocab_size=TOKENS, special_tokens=[EOD, "[UNK]"], show_progress=False)),
        ("unigram", models.Unigram(), normalizers.NFKC(), pre_tokenizers.Metaspace(), trainers.UnigramTrainer(vocab_size=TOKENS, special_tokens=[EOD, "<unk>"], unk_token="<unk>", show_progress=False)),
    ]:
        t = tokenizers.Tokenizer(model)
        if normalizer:
            t.normalizer = normalizer
        t.pre_tokenizer = pre
        t.train_from_iterator(some, trainer)
        t.save(os.path.join(work, name + ".json"))
        if name in ("gpt2", "cl100k"):
            ranks(work, name, json.loads(t.to_str())["model"]["vocab"])
    for kind in "unigram", "bpe":
        with io.BytesIO() as b:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(line for d in some for line in d.split("\n") if line), model_writer=b, vocab_size=TOKENS, model_type=kind,
                byte_fallback=kind == "bpe", hard_vocab_limit=False, input_sentence_size=200000, minloglevel=2, num_threads=1)
            with open(os.path.join(work, "sp-%s.model" % kind), "wb") as f:
                f.write(b.getvalue())


def ranks(work, name, vocab):
    """The same tokens, bytes first."""
    plain = list(range(0x21, 0x7F)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    byte = {chr(b): b for b in plain}
    byte.update({chr(256 + i): b for i, b in enumerate(sorted(set(range(256)) - set(plain)))})
    tokens = [bytes(byte[c] for c in t) for t, i in sorted(vocab.items(), key=lambda x: x[1]) if t != EOD]
    with open(os.path.join(work, name + ".tiktoken"), "w") as f:
        f.writelines("%s %d\n" % (base64.b64encode(t).decode(), i) for i, t in enumerate(tokens))


# Run by itself: the ids of a sample by a library, and how long they took. The texts are in memory.
LIBRARY = """
import base64, hashlib, json, os, sys, time
import numpy as np
library, path, sample, pattern = sys.argv[1:]
docs = [json.loads(s)["text"] for s in open(sample, encoding="utf-8")]
if library == "tokenizers":
    import tokenizers
    t = tokenizers.Tokenizer.from_file(path)
    encode = lambda: [x.ids for x in t.encode_batch_fast(docs, add_special_tokens=False)]
elif library == "tiktoken":
    import tiktoken
    r = {base64.b64decode(a): int(b) for a, b in (s.split() for s in open(path))}
    t = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=r, special_tokens={})
    encode = lambda: [t.encode_ordinary(d) for d in docs]
else:
    import sentencepiece
    t = sentencepiece.SentencePieceProcessor(model_file=path)
    encode = lambda: [t.encode(d) for d in docs]
cpu, wall = time.process_time(), time.time()
ids = encode()
cpu, wall = time.process_time() - cpu, time.time() - wall
h = hashlib.sha256()
for x in ids: h.update(np.array(x, "<i4").tobytes())
print(json.dumps({"cpu": cpu, "wall": wall, "sum": h.hexdigest()}))
"""

# A script as people write it after Megatron-LM's preprocess_data.py: a pool encodes, one process writes.
SCRIPT = """
import io, json, multiprocessing, os, sys
import numpy as np, tokenizers, zstandard
source, path, out, eod = sys.argv[1:]
os.makedirs(out, exist_ok=True)
out += "/shard-000000"
def begin():
    global tok, end
    tok = tokenizers.Tokenizer.from_file(path)
    end = tok.token_to_id(eod)
def encode(line):
    ids = tok.encode(json.loads(line)["text"], add_special_tokens=False).ids
    return ids + [end] if ids else ids
if __name__ == "__main__":
    lengths = []
    with open(source, "rb") as f, multiprocessing.Pool(2, begin) as pool, open(out + ".bin", "wb") as b:
        lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(f), encoding="utf-8")
        for ids in pool.imap(encode, lines, 32):
            if ids:
                b.write(np.array(ids, dtype="<u2").tobytes())
                lengths.append(len(ids))
    n = len(lengths)
    at = np.concatenate([[0], np.cumsum(lengths)])
    with open(out + ".idx", "wb") as f:
        f.write(b"MMIDIDX\\0\\0" + (1).to_bytes(8, "little") + b"\\x08" + n.to_bytes(8, "little") + (n + 1).to_bytes(8, "little"))
        f.write(np.array(lengths, "<i4").tobytes() + (2 * at[:-1]).astype("<i8").tobytes() + np.arange(n + 1, dtype="<i8").tobytes())
"""

TROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
source, path, out, eod = sys.argv[1:]
if __name__ == "__main__":
    read = JsonlReader(source, compression="zstd")
    LocalPipelineExecutor([read, DocumentTokenizer(out, tokenizer_name_or_path=path, eos_token=eod, shuffle_documents=False)], tasks=1, workers=1, logging_dir=out + "/logs").run()
"""


def encoders(work):
    """Case -> contender -> command that prints a line of JSON."""
    at = lambda name: os.path.join(work, name)
    out = {}
    for name, file, library, pattern in [
        ("gpt2", "gpt2.json", "tokenizers", ""), ("cl100k", "cl100k.json", "tokenizers", ""),
        ("gpt2-ranks", "gpt2.tiktoken", "tiktoken", "gpt2"), ("cl100k-ranks", "cl100k.tiktoken", "tiktoken", "cl100k"),
        ("llama", "llama.json", "tokenizers", ""), ("bert", "bert.json", "tokenizers", ""), ("unigram", "unigram.json", "tokenizers", ""),
        ("sp-unigram", "sp-unigram.model", "sentencepiece", ""), ("sp-bpe", "sp-bpe.model", "sentencepiece", ""),
    ]:
        regex = {"gpt2": GPT2, "cl100k": CL100K}.get(pattern, "")
        out[name] = {
            "shardify": ["env", "SHARDIFY_TOKENIZER=" + at(file), "SHARDIFY_PATTERN=" + pattern, "SHARDIFY_TEXTS=" + at("sample.jsonl"), ENCODE, "-test.run", "^$", "-test.bench", "Texts", "-test.benchtime", "1x"],
            library: [sys.executable, "-c", LIBRARY, library, at(file), at("sample.jsonl"), regex],
        }
    return out


def programs(work):
    """Contender -> command that writes below out, and how many MB of text it is given."""
    at = lambda name: os.path.join(work, name)
    ours = lambda name: [SHARDIFY, "convert", at(name), "-o", at("out"), "-q", "--sync", "none", "--jobs", "2", "--shard-size", "1TiB", "--columns", "text", "--format", "megatron", "--tokenize", "text=%s append-eod=%s empty=drop" % (at("gpt2.json"), EOD)]
    script = lambda name: [sys.executable, at(name), at("part.jsonl.zst"), at("gpt2.json"), at("out"), EOD]
    for name, text in ("script.py", SCRIPT), ("trove.py", TROVE):
        with open(at(name), "w") as f:
            f.write(text)
    out = {"shardify": ours("texts.jsonl.zst"), "shardify, a quarter": ours("quarter.jsonl.zst"), "shardify, a part": ours("part.jsonl.zst"), "script, 2 workers, a part": script("script.py")}
    if importlib.util.find_spec("datatrove"):
        out["datatrove, 1 task, a part"] = script("trove.py")
    return out


def merges(work):
    """Contender -> command that makes one folder of all sets."""
    sets, out = sorted(glob.glob(os.path.join(work, "sets", "*"))), os.path.join(work, "out")
    ours = [SHARDIFY, "merge-sets", *sets, "-o", out, "--sync", "none", "-q"]
    return {"shardify merge-sets --unchecked": ours + ["--unchecked"], "shardify merge-sets, which reads all twice": ours, "cp -r": ["cp", "-r", os.path.join(work, "sets"), out]}


def fill(work):
    """How full sequences are: rows of a table."""
    rows = ["| length | best-fit: padding | documents cut | concat: documents cut |", "|---|---|---|---|"]
    for n in LENGTHS:
        cells = []
        for how in "best-fit", "concat":
            out = os.path.join(work, "out")
            events.run([SHARDIFY, "convert", os.path.join(work, "part.jsonl.zst"), "-o", out, "-q", "--sync", "none", "--columns", "text", "--shard-size", "1GiB", "--tokenize", "text=%s append-eod=%s empty=drop" % (os.path.join(work, "gpt2.json"), EOD), "--sequences", "text=%d,%s" % (n, how)], work)
            with open(os.path.join(out, "shardify.json")) as f:
                m = json.load(f)
            count = {c["name"].split(": ", 1)[1]: c["n"] for c in m["counts"] if c["name"].startswith("sequences")}
            cut = sum(v for k, v in count.items() if "documents cut" in k or "longer than" in k)
            if how == "best-fit":
                cells.append("%.2f %%" % (100 * sum(v for k, v in count.items() if "padding" in k) / (m["samples"] * n)))
            cells.append("%.1f %%" % (100 * cut / count["documents"]))
        rows.append("| %d | %s |" % (n, " | ".join(cells)))
    return rows


def digest(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for part in iter(lambda: f.read(1 << 20), b""):
            h.update(part)
    return h.hexdigest()


def encode(command):
    env = dict(os.environ, TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1")
    text = subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, check=True, env=env).stdout
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))


def made(mark, work, a):
    n = make(work, a.size * 10**6, a.part * 10**6, a.sample * 10**6)
    with open(mark, "w") as f:
        f.write(str(n))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("work")
    a.add_argument("--size", type=int, default=1000)
    a.add_argument("--sample", type=int, default=8)
    a.add_argument("--part", type=int, default=20)
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--only", default="")
    a.add_argument("--out")
    a = a.parse_args()
    work = os.path.abspath(a.work)
    os.makedirs(work, exist_ok=True)
    machine, load = head(), os.getloadavg()[0]
    mark = os.path.join(work, "made-%d-%d-%d" % (a.size, a.part, a.sample))
    if not os.path.exists(mark):
        # By another process: programs count the most memory of their parent as theirs.
        child = multiprocessing.get_context("fork").Process(target=made, args=(mark, work, a))
        child.start()
        child.join()
    with open(mark) as f:
        distinct = int(f.read()) / 1e6
    with open(os.path.join(work, "sample.jsonl"), encoding="utf-8") as f:
        mb = sum(len(json.loads(s)["text"].encode()) for s in f) / 1e6
    chosen = lambda name: not a.only or name in a.only.split(",")
    small = {k: v for k, v in encoders(work).items() if chosen(k)}
    large = programs(work) if chosen("megatron") else {}
    joins = merges(work) if chosen("merge") else {}
    sets = sum(os.path.getsize(f) for f in glob.glob(os.path.join(work, "sets", "*", "*"))) / 1e6
    seen, peak, sums, fewer = {}, {}, {}, (a.rounds + 1) // 2
    for k in range(a.rounds):
        for case, contenders in small.items():
            for who, command in contenders.items():
                r = encode(command)
                seen.setdefault((case, who), []).append((r["cpu"], r["wall"]))
                sums.setdefault(case, set()).add(r["sum"])
        for who, command in joins.items() if k < fewer else ():
            *times, _ = events.run(command, work)
            seen.setdefault(("merge", who), []).append(times)
        for who, command in large.items() if k < fewer else ():
            *times, rss = events.run(command, work)
            seen.setdefault(("megatron", who), []).append(times)
            peak[who] = max(peak.get(who, 0), rss)
            if who in ("shardify, a part", "script, 2 workers, a part"):
                for ext in ".bin", ".idx":
                    sums.setdefault("megatron" + ext, set()).add(digest(os.path.join(work, "out", "shard-000000" + ext)))
    for case, s in sums.items():
        if len(s) > 1:
            sys.exit("%s: the contenders have other ids" % case)
    rows = ["| case | | MB per s of processor | MB per s of wall | shardify is faster: processor, wall |", "|---|---|---|---|---|"]
    ours = {}
    for (case, who), times in seen.items():
        size = mb
        if case == "merge":
            size = sets
        elif case == "megatron":
            size = a.size / 4 if "quarter" in who else a.part if "part" in who else a.size
        cpu, wall = (size / statistics.median(t[i] for t in times) for i in range(2))
        base = ours.setdefault(case, (cpu, wall))
        rows.append("| %s | %s | %.2f | %.2f | %s |" % (case, who, cpu, wall, "" if "shardify" in who else "%.1f, %.1f" % (base[0] / cpu, base[1] / wall)))
    if peak:
        rows += ["", "Most memory: " + ", ".join("%s %.0f MiB" % x for x in peak.items()) + "; of the script and datatrove, that of the largest of their processes."]
    if joins:
        rows += ["", "`merge`: %d sets, %.0f MB." % (SETS, sets)]
    if chosen("fill"):
        rows += ["", "Sequences of the documents of `part` (`--sequences`), GPT-2's pattern:", ""] + fill(work)
    print("\n".join(rows))
    if a.out:
        with open(a.out, "w") as f:
            f.write(HEAD % (machine, a.rounds, fewer, mb, a.size, a.part, distinct, load, os.getloadavg()[0], "\n".join(rows)))


HEAD = """# Text to tokens

%s `make bench-tokens`: medians of %d rounds (%d of `megatron` and `merge`), in which the contenders take turns. A sample of %.1f MB of English prose is encoded by one thread; `megatron` is %d MB (scripts get a part of %d MB), made of %.1f MB of distinct documents in random order. Both contenders of a case make the same ids, and the pairs of Megatron have the same bytes. The load of the machine was %.1f at the start and %.1f at the end: where it is more than its cores, wall times are worth nothing, and times of the processor are longer than alone.

%s
"""


if __name__ == "__main__":
    main()
