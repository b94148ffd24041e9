# Writes uproot_zstd.root and uproot_none.root into the folder given: uproot.py DIR (uproot 5.7, awkward 2).
import uproot, awkward as ak, numpy as np, json, sys
out = sys.argv[1]
def part(lo, hi):
    n = range(lo, hi)
    return {
        "i64": np.array([i*i-50 for i in n], np.int64), "i32": np.array([-i for i in n], np.int32), "i16": np.array(list(n), np.int16), "i8": np.array([i%128 for i in n], np.int8),
        "u64": np.array([2**63+i for i in n], np.uint64), "u32": np.array(list(n), np.uint32), "u16": np.array(list(n), np.uint16), "u8": np.array([i%256 for i in n], np.uint8),
        "f32": np.array([i/8 for i in n], np.float32), "f64": np.array([i/3 for i in n], np.float64), "b": np.array([i%3==0 for i in n]),
        "s": ak.Array(["x"*(i%4)+str(i) for i in n]), "v": ak.Array([[float(k) for k in range(i%5)] for i in n]),
        "vv": ak.Array([[[k+10*j for k in range(j)] for j in range(i%4)] for i in n]), "vs": ak.Array([["a"*k for k in range(i%3)] for i in n]),
        "jets": ak.Array([[{"pt": float(i+k), "n": k} for k in range(i%4)] for i in n]), "p": ak.Array([{"x": i, "y": [i]*(i%2)} for i in n]),
        "fix": np.arange(lo*6, hi*6, dtype=np.float32).reshape(-1, 2, 3),
        "o": ak.Array([None if i%3 == 1 else i for i in n]),
        "u": ak.Array([i if i%2 else "s%d"%i for i in n]),
    }
for name, comp in (("uproot_zstd", uproot.ZSTD(5)), ("uproot_none", None)):
    ok = {}
    d = part(0, 30)
    with uproot.recreate(f"{out}/{name}.root", compression=comp) as f:
        nt = f.mkrntuple("nt", {k: v for k, v in d.items()})
        nt.extend(part(30, 37))
    print(name)
