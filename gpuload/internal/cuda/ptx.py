#!/usr/bin/env python3
"""Make kernels.ptx from kernels.cu: ptx.py [--check PTXAS]

It needs NVRTC 11.2 to 12.x (the wheel nvidia-cuda-nvrtc-cu11 has it; no GPU, no driver): name
libnvrtc.so in $NVRTC. Nothing of PTX ISA 7.1 or newer is used, so the header is set to 7.0, which
every driver since 450 takes. ptxas (wheel nvidia-cuda-nvcc-cu12) then proves it for several GPUs.
"""
import ctypes
import hashlib
import os
import pathlib
import re
import subprocess
import sys

here = pathlib.Path(__file__).parent
source = (here / "kernels.cu").read_bytes()
rtc = ctypes.CDLL(os.environ.get("NVRTC", "libnvrtc.so"))
program = ctypes.c_void_p()


def check(result):
    if result:
        n = ctypes.c_size_t()
        rtc.nvrtcGetProgramLogSize(program, ctypes.byref(n))
        log = ctypes.create_string_buffer(n.value)
        rtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"nvrtc: {result}\n{log.value.decode()}")


check(rtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None))
options = [b"--gpu-architecture=compute_70", b"--fmad=false"]
check(rtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)))
n = ctypes.c_size_t()
check(rtc.nvrtcGetPTXSize(program, ctypes.byref(n)))
text = ctypes.create_string_buffer(n.value)
check(rtc.nvrtcGetPTX(program, text))
ptx = text.value.decode()
ptx = ptx[ptx.index(".version"):]
ptx = re.sub(r"\.version \S+", ".version 7.0", ptx, count=1)
ptx = re.sub(r"\n{3,}", "\n\n", ptx)
digest = hashlib.sha256(source).hexdigest()
(here / "kernels.ptx").write_text(f"// Made from kernels.cu by ptx.py; do not edit.\n// kernels.cu sha256 {digest}\n{ptx.rstrip()}\n")
if len(sys.argv) == 3 and sys.argv[1] == "--check":
    for target in ("sm_70", "sm_75", "sm_80", "sm_90", "sm_100"):
        subprocess.run([sys.argv[2], "-v", f"-arch={target}", "-o", os.devnull, here / "kernels.ptx"], check=True)
