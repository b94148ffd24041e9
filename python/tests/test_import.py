"""What `import shardify` imports, and when the rest is."""
import subprocess
import sys

import pytest

import shardify

HEAVY = ["numpy", "torch", "ctypes", "json", "typing", "dataclasses", "concurrent", "mmap", "shardify.loader", "shardify.dataset", "shardify.errors"]


def loaded(code):
    """The modules that an interpreter without site-packages of its own start has loaded in addition."""
    run = "import sys\nbefore = set(sys.modules)\n%s\nprint(*sorted(set(sys.modules) - before))" % code
    out = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    return out.stdout.split()


def test_import_alone_imports_nothing_heavy():
    got = loaded("import shardify; shardify.__version__")
    assert "shardify" in got
    assert not [m for m in got if any(m == h or m.startswith(h + ".") for h in HEAVY)], got


def test_open_needs_no_loader():
    got = loaded("import shardify; shardify.open")
    assert "shardify.dataset" in got and "numpy" in got
    assert not [m for m in got if m in ("torch", "shardify.clib", "shardify.loader", "shardify.decode", "shardify.converting")], got


def test_loader_imports_no_torch():
    got = loaded("import shardify; shardify.Loader; shardify.profile; shardify.collate; shardify.grain.source")
    assert "shardify.loader" in got and "torch" not in got


@pytest.mark.parametrize("name", [n for n in shardify.__all__ if n != "LoaderDataset"])
def test_every_name_is_found_and_is_no_module(name):
    value = getattr(shardify, name)
    assert name in dir(shardify)
    assert name in ("decode", "grain") or not isinstance(value, type(sys))


def test_names_stay_what_they_are_when_all_modules_are_imported():
    code = "import pkgutil, importlib, shardify\nfor m in pkgutil.iter_modules(shardify.__path__):\n    if m.name not in ('__main__', 'torchset', '_shardify'): importlib.import_module('shardify.' + m.name)\n"
    code += "assert all(callable(getattr(shardify, n)) for n in shardify.__all__ if n not in ('decode', 'grain', 'LoaderDataset'))"
    assert subprocess.run([sys.executable, "-c", code], check=True).returncode == 0


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'lader'"):
        shardify.lader
