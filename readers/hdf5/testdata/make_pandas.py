"""Makes frame_texts*.h5, and frame_texts.json with what pandas reads from them: null where it
says NaN. pandas 2.3, PyTables 3.11.

    python make_pandas.py
"""
import json
import pandas as pd

text = ["a", None, "nan", "NaN", "", "long text", "MISSING", "\u65e5\u672c"]
frame = pd.DataFrame({"n": range(8), "s": text, "t": ["x", None] * 4, "all": [None] * 7 + ["nan"], "short": list("pqrstuvw")}, index=["i%d" % k for k in range(6)] + ["nan", "MISSING"])
frame["c"] = pd.Categorical(["u", None, "v", "u"] * 2)
kw = dict(mode="w", index=False, complib="zlib", complevel=9)
made = {
    "frame_texts.h5": (frame, dict(format="table")),
    "frame_texts_columns.h5": (frame, dict(format="table", data_columns=["s", "short"], nan_rep="MISSING")),
    "frame_texts_series.h5": (frame["s"], dict(format="table")),
    "frame_texts_fixed.h5": (frame[["n"]], dict(format="fixed")),
}
want = {}
for name, (data, how) in made.items():
    data.to_hdf(name, key="df", **kw, **how)
    back = pd.read_hdf(name, "df")
    back = back.to_frame() if isinstance(back, pd.Series) else back
    columns = {"axis1" if how["format"] == "fixed" else "index": back.index.to_series()} | {k: back[k] for k in back if back[k].dtype == object}
    want[name] = {k: [None if pd.isna(x) else x for x in v] for k, v in columns.items()}
with open("frame_texts.json", "w") as f:
    json.dump(want, f, indent=1, ensure_ascii=False)
