"""The part of records.py that TensorFlow does: prints seconds of the processor.

python3 records_tensorflow.py read FILE | short FILE | write FILE SAMPLES | version
"""

from __future__ import annotations

import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import numpy as np  # noqa: E402
import page  # noqa: E402
import tensorflow as tf  # noqa: E402


def read(path: str, short: bool) -> float:
    spec = {"image": tf.io.FixedLenFeature([], tf.string), "x": tf.io.FixedLenFeature([64], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64)}
    if short:
        spec = {"x": tf.io.FixedLenFeature([32], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64), "z": tf.io.FixedLenFeature([], tf.float32)}
    start = page.processor()
    for _ in tf.data.TFRecordDataset(path).batch(256).map(lambda b: tf.io.parse_example(b, spec)):
        pass
    return page.processor() - start


def write(path: str, samples: int) -> float:
    r = np.random.default_rng(1)
    x = r.random((samples, 32), np.float32)
    start = page.processor()
    with tf.io.TFRecordWriter(path) as w:
        for i in range(samples):
            feature = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=x[i])),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                "z": tf.train.Feature(float_list=tf.train.FloatList(value=[x[i, 0]])),
            }
            w.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return page.processor() - start


if __name__ == "__main__":
    what = sys.argv[1]
    print(tf.__version__ if what == "version" else write(sys.argv[2], int(sys.argv[3])) if what == "write" else read(sys.argv[2], what == "short"))
