"""What `import shardify` imports, and when the rest is."""
import ast
import os
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


def test_every_error_can_be_caught_by_name():
    from shardify import errors

    assert {n for n in vars(errors) if n.endswith("Error")} <= set(shardify.__all__)


def test_names_stay_what_they_are_when_all_modules_are_imported():
    code = "import pkgutil, importlib, shardify\nfor m in pkgutil.iter_modules(shardify.__path__):\n    if m.name not in ('__main__', 'torchset', '_shardify'): importlib.import_module('shardify.' + m.name)\n"
    code += "assert all(callable(getattr(shardify, n)) for n in shardify.__all__ if n not in ('decode', 'grain', 'LoaderDataset'))"
    assert subprocess.run([sys.executable, "-c", code], check=True).returncode == 0


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'lader'"):
        shardify.lader


def imports_of(source, modules):
    """The modules of ours that a module imports: anywhere, in functions and for type checkers, too."""
    found = set()
    for n in ast.walk(ast.parse(source)):
        if isinstance(n, ast.ImportFrom):
            name = "shardify." * (n.level == 1) + (n.module or "")
            if name.rstrip(".") == "shardify":
                found |= {a.name if a.name in modules else "__init__" for a in n.names}
            elif name.startswith("shardify."):
                found.add(name.split(".")[1])
        elif isinstance(n, ast.Import):
            for parts in (a.name.split(".") for a in n.names):
                if parts[0] == "shardify":
                    found.add((parts + ["__init__"])[1])
    return found & set(modules)


def circle(graph):
    """Modules that import each other, in order, or nothing."""
    done = set()

    def follow(name, above):
        if name in above:
            return above[above.index(name) :] + [name]
        if name in done:
            return []
        for other in sorted(graph[name]):
            found = follow(other, above + [name])
            if found:
                return found
        done.add(name)
        return []

    return next((c for c in (follow(name, []) for name in sorted(graph)) if c), [])


def test_no_modules_import_each_other():
    folder = os.path.dirname(shardify.__file__)
    sources = {}
    for name in os.listdir(folder):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                sources[name[: -len(".py")]] = f.read()
    graph = {name: imports_of(source, sources) for name, source in sources.items()}
    assert len(graph) > 40 and "schema" in graph["dataset"] and "decode" in graph["loaderconfig"], graph
    assert circle(graph) == []
    # In a function, for type checkers, by the whole name, and of the package itself.
    lines = "def f():\n    from . import dataset", "if TYPE_CHECKING:\n    from .dataset import Dataset", "import shardify.dataset"
    for line in lines:
        schema = imports_of(sources["schema"] + "\n" + line + "\n", sources)
        assert circle({**graph, "schema": schema}), line
    package = imports_of("from . import open", sources)
    assert package == {"__init__"} and circle({**graph, "schema": package})
