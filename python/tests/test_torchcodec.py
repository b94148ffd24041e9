"""Files of video and audio reach torchcodec as the bytes that they are."""

from __future__ import annotations

import os
import subprocess
import wave

import numpy as np
import pytest
from loading import needs_library

import shardify

BIN = os.environ.get("SHARDIFY", "")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
try:
    from torchcodec import decoders, encoders
except (ImportError, OSError, RuntimeError) as e:
    pytest.skip("torchcodec does not work here (pip install torchcodec; it needs FFmpeg's libraries): %s" % str(e).splitlines()[0], allow_module_level=True)


@needs_library
@pytest.mark.skipif(not os.access(BIN, os.X_OK), reason="the converter is not built: SHARDIFY=bin/shardify names it")
def test_batches_hold_what_torchcodec_decodes(tmp_path):
    clips = tmp_path / "clips"
    clips.mkdir()
    tones = {}
    for k in range(5):
        frames = torch.full((4 + k, 3, 48, 64), 40 * k, dtype=torch.uint8)
        encoders.VideoEncoder(frames, frame_rate=10).to_file(str(clips / ("%d.mp4" % k)))
        tones[k] = (np.sin(np.arange(800 + k) / (9 + k)) * 9000).astype("<i2")
        with wave.open(str(clips / ("%d.wav" % k)), "wb") as w:
            w.setnchannels(1)
            w.setsampwidth(2)
            w.setframerate(8000)
            w.writeframes(tones[k].tobytes())
    out = str(tmp_path / "set")
    subprocess.run([BIN, "convert", str(clips), "-o", out, "--format", "wds", "--quiet"], check=True)
    seen = []
    with shardify.Loader(out, 2, shuffle="global", seed=3, drop_last=False, framework="torch", device="cpu") as loader:
        for batch in loader:
            for video, audio in zip(batch["mp4"], batch["wav"]):
                k = len(decoders.VideoDecoder(video)) - 4
                seen.append(k)
                assert abs(float(decoders.VideoDecoder(video)[0].float().mean()) - 40 * k) < 4
                samples = decoders.AudioDecoder(audio).get_all_samples()
                assert samples.sample_rate == 8000 and np.array_equal(samples.data.numpy()[0] * 32768, tones[k])
    assert sorted(seen) == [0, 1, 2, 3, 4] and seen != [0, 1, 2, 3, 4]
