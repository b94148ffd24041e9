"""`python -m shardify` is the program shardify; so is the command `shardify` where a wheel has no program."""

import os
import shutil
import sys
import sysconfig
from typing import List, Optional


def program() -> Optional[str]:
    """The program of this wheel, or else the one in PATH that is not a script of Python's."""
    scripts = [sysconfig.get_path("scripts")]
    if sys.prefix == sys.base_prefix:  # pip install --user
        scripts.append(sysconfig.get_path("scripts", os.name + "_user"))
    for folder in [*scripts, *os.environ.get("PATH", "").split(os.pathsep)]:
        name = shutil.which("shardify", path=folder)
        if name is None:
            continue
        with open(name, "rb") as f:
            if f.read(2) != b"#!":
                return name
    return None


def main(args: Optional[List[str]] = None) -> int:
    args = sys.argv[1:] if args is None else args
    name = program()
    if name is not None:
        os.execv(name, ["shardify", *args])
    sys.stderr.write(
        "shardify: this wheel has no program for %s: pip installs one on Linux (x86_64, aarch64) with glibc 2.17 or newer.\n"
        "Reading data sets from Python works: import shardify; shardify.open(DIR).\n"
        "To convert, build the program (Go, make): https://github.com/shardify/shardify#install\n"
        % "-".join((sys.platform, os.uname().machine if hasattr(os, "uname") else "?"))
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
