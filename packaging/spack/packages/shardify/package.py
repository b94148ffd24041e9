# Copyright the shardify authors
#
# SPDX-License-Identifier: BSD-3-Clause

from spack.package import *


class Shardify(GoPackage):
    """Convert ROOT, HDF5, NumPy, Parquet and many small files into shards that keep GPUs busy."""

    homepage = "https://github.com/shardify/shardify"
    git = "https://github.com/shardify/shardify.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    depends_on("go@1.26:", type="build")

    def setup_build_environment(self, env):
        env.set("CGO_ENABLED", "0")

    def build(self, spec, prefix):
        for program in ("shardify", "verify"):
            go("build", "-trimpath", "-ldflags", "-s -w", "-o", "bin/" + program, "./cmd/" + program)

    def install(self, spec, prefix):
        install_tree("bin", prefix.bin)
        mkdirp(prefix.share.man.man1)
        Executable(prefix.bin.shardify)("man", prefix.share.man.man1)
