"""Counts the tracks in a data set of events: python3 tracks.py SHARDS"""

import collections
import sys

import numpy as np
import shardify

events = shardify.open(sys.argv[1])
hits = tracks = 0
for event in events:
    count = collections.Counter(p for p in event["t_particle_id"] if not p.endswith("-0"))
    hits, tracks = hits + event["n"], tracks + sum(n >= 3 for n in count.values())
    noise = np.array([p.endswith("-0") for p in event["t_particle_id"]])
    assert np.array_equal(np.isnan(event["pt"]), noise) and len(event["x"]) == event["n"]
print("%d events, %d hits, %d tracks of 3 hits and more" % (len(events), hits, tracks))
