"""Writes the sets of this folder with mosaicml-streaming, and values.json: the bytes of each value, in
hexadecimal digits, and the shapes of arrays. Run it here: python make.py"""

import sys, types # what streaming imports and does not need here
m=types.ModuleType('transformers'); fe=types.ModuleType('transformers.feature_extraction_utils'); fe.BatchFeature=dict
tk=types.ModuleType('transformers.tokenization_utils_base'); tk.BatchEncoding=dict
m.BatchFeature=dict; m.BatchEncoding=dict
import importlib.machinery
for n,x in (('transformers',m),('transformers.feature_extraction_utils',fe),('transformers.tokenization_utils_base',tk)):
    x.__spec__=importlib.machinery.ModuleSpec(n,None); sys.modules[n]=x
for n in ('streaming.text','streaming.multimodal','streaming.vision'):
    x=types.ModuleType(n); x.__all__=[]; sys.modules[n]=x
import numpy as np, json
from decimal import Decimal
from PIL import Image
from streaming.base.format.mds.writer import MDSWriter
rng=np.random.default_rng(3)
cols={'b':'bytes','s':'str','i':'int','nd':'ndarray','nt':'ndarray:int32','nf':'ndarray:float32:2,3','nx':'ndarray:uint16','u8':'uint8','f16':'float16','f64':'float64','i16':'int16','u64':'uint64',
'si':'str_int','sf':'str_float','sd':'str_decimal','pil':'pil','jpg':'jpeg','png':'png','lj':'list[jpeg]','ja':'jpeg_array','lp':'list[png]','pk':'pkl','js':'json'}
def img(): return Image.fromarray(rng.integers(0,256,(int(rng.integers(2,9)),int(rng.integers(2,9)),3),dtype=np.uint8))
import io
def enc(im,f):
    o=io.BytesIO(); im.save(o,f); return o.getvalue()
def rows(n):
    for k in range(n):
        yield {'b':bytes(rng.integers(0,256,k%7,dtype=np.uint8)),'s':'t\u00e9xt%d'%k,'i':-k,'nd':rng.standard_normal((2,int(rng.integers(1,5)))),'nt':rng.integers(0,9,int(rng.integers(1,6)),dtype=np.int32),
        'nf':rng.standard_normal((2,3)).astype(np.float32),'nx':rng.integers(0,9,(int(rng.integers(1,400)),2,2)).astype(np.uint16),'u8':np.uint8(k),'f16':np.float16(k/3),'f64':float(k)/7,'i16':np.int16(-k),'u64':np.uint64(2**63+k),
        'si':k-5,'sf':k/9-1,'sd':Decimal(k)/Decimal(7),'pil':img(),'jpg':img(),'png':img(),'lj':[img() for _ in range(k%3)],'ja':[enc(img(),'JPEG') for _ in range(1+k%3)],'lp':[img() for _ in range(k%2)],'pk':{'a':k},'js':{'k':[k,None]}}

def text(v):
    if isinstance(v, list):
        return [text(x) for x in v]
    return v.hex()


def values(enc, v, raw):
    if enc == "int":
        return np.int64(v).tobytes().hex()
    if enc.startswith("ndarray"):
        return {"shape": list(v.shape), "data": v.tobytes().hex()}
    if enc == "pil":
        a = np.asarray(v)
        return {"shape": list(a.shape), "data": a.tobytes().hex()}
    if enc == "str_int":
        return np.int64(v).tobytes().hex()
    if enc == "str_float":
        return np.float64(v).tobytes().hex()
    if enc in ("uint8", "uint64", "int16", "float16", "float64"):
        return np.dtype(enc).type(v).tobytes().hex()
    if enc in ("jpeg_array", "list[jpeg]", "list[png]"):
        skip = 0 if enc == "jpeg_array" else 4
        n = int(np.frombuffer(raw[skip:skip + 4], "<u4")[0])
        sizes = np.frombuffer(raw[skip + 4:skip + 4 + 4 * n], "<u4")
        at, out = skip + 4 + 4 * n, []
        for s in sizes:
            out.append(raw[at:at + int(s)].hex())
            at += int(s)
        return out
    return raw.hex()


if __name__ == "__main__":
    from streaming.base.format.mds.encodings import mds_encode
    out = {k: [] for k in cols if k != "pk"}
    with MDSWriter(out="plain", columns=cols, size_limit=20000) as w, MDSWriter(out="packed", columns=cols, compression="zstd:3", hashes=["sha1"], size_limit=20000) as z:
        for r in rows(14):
            raw = {k: mds_encode(cols[k], v) for k, v in r.items()}
            w.write(raw)
            z.write(raw)
            for k in out:
                out[k].append(values(cols[k], r[k], raw[k]))
    json.dump(out, open("values.json", "w"))
