"""Makes some.tfrecord and ../../testdata/reserved/a.tfrecord with tensorflow-cpu 2.21."""
import os
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import tensorflow as tf

here = os.path.dirname(os.path.abspath(__file__))


def ints(v): return tf.train.Feature(int64_list=tf.train.Int64List(value=v))
def floats(v): return tf.train.Feature(float_list=tf.train.FloatList(value=v))
def texts(v): return tf.train.Feature(bytes_list=tf.train.BytesList(value=v))


def write(name, records):
    with tf.io.TFRecordWriter(os.path.join(here, name)) as w:
        for r in records:
            w.write(tf.train.Example(features=tf.train.Features(feature=r)).SerializeToString(deterministic=True))


write("some.tfrecord", [
    dict({"id": ints([i]), "x": floats([i / 4, -i, 1e-3 * i]), "tokens": ints(range(i % 5)), "text": texts([b"text %d" % i])}, **({"maybe": floats([i])} if i % 3 else {}))
    for i in range(24)])
write("../../testdata/reserved/a.tfrecord", [{"ccd#1": ints([i]), "x": floats([i])} for i in range(3)])
