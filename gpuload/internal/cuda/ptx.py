#!/usr/bin/env python3
"""Make kernels.ptx from kernels.cu: ptx.py [--check PTXAS]

It needs NVRTC 11.2 to 12.x (the wheel nvidia-cuda-nvrtc-cu11 has it; no GPU, no driver): name
libnvrtc.so in $NVRTC. Nothing of PTX ISA 7.1 or newer is used, so the header is set to 7.0, which
every driver since 450 takes. ptxas (wheel nvidia-cuda-nvcc-cu12) then proves it for several GPUs and
makes kernels.sm_80.gz, kernels.sm_90.gz and kernels.sm_100.gz of it; kernels.txt has what it says of them.
"""
import ctypes
import gzip
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

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
    ptxas = sys.argv[2]
    said = subprocess.run([ptxas, "--version"], check=True, capture_output=True, text=True).stdout
    lines = ["ptxas " + re.search(r"V([0-9.]+)", said).group(1), "ptx " + hashlib.sha256((here / "kernels.ptx").read_bytes()).hexdigest()]
    for target in ("sm_70", "sm_75", "sm_80", "sm_90", "sm_100"):
        with tempfile.TemporaryDirectory() as work:
            cubin = pathlib.Path(work) / "kernels.cubin"
            p = subprocess.run([ptxas, "-v", f"-arch={target}", "-o", cubin, here / "kernels.ptx"], check=True, capture_output=True, text=True)
            figures = re.findall(r"Function properties for (\w+)\n.*?(\d+) bytes spill stores, (\d+) bytes spill loads\n.*?Used (\d+) registers", p.stderr)
            for name, stores, loads, registers in sorted(figures):
                lines.append(f"{target} {name}: {registers} registers, {int(stores) + int(loads)} bytes spilled")
            if target in ("sm_80", "sm_90", "sm_100"):
                # A cubin holds its options: those of figures are not to be in it.
                subprocess.run([ptxas, f"-arch={target}", "-o", cubin, here / "kernels.ptx"], check=True)
                b = cubin.read_bytes()
                lines.append(f"{target} cubin {hashlib.sha256(b).hexdigest()}")
                (here / f"kernels.{target}.gz").write_bytes(gzip.compress(b, 9, mtime=0))
    (here / "kernels.txt").write_text("\n".join(lines) + "\n")
