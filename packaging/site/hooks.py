"""Pages of the site that are not in docs/: README.md as the first page, the commands from the
program's own help, and the Python package from its docstrings."""
import ast
import glob
import os
import re

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = "https://github.com/shardify/shardify/blob/main/"
COMMANDS = os.path.join(ROOT, "build", "site-commands")  # written by make site
CSS = """
.md-typeset table:not([class]) { font-size: .66rem }
.md-typeset table:not([class]) td, .md-typeset table:not([class]) th { min-width: 4rem; padding: .5em .7em }
.md-typeset td code { word-break: normal }
.md-typeset td:first-child code:first-child { white-space: nowrap }
.md-typeset h1 { color: inherit; font-weight: 500 }
.md-typeset pre > code { font-size: .76em }
.md-code__nav { background: none }
@media (hover: hover) { .highlight:not(:hover, :focus-within) .md-code__nav { opacity: 0 } }
@media (hover: none) { .md-code__nav { display: none } }
.md-grid { max-width: 68rem }
.md-typeset img { display: block }
.md-typeset p:has(> img[src*="pictures/"]) { overflow-x: auto }
.md-typeset img[src*="pictures/"] { max-width: none; width: max(100%, 36rem) }
[data-md-color-scheme="default"] img[src$="#only-dark"], [data-md-color-scheme="slate"] img[src$="#only-light"] { display: none }
"""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def on_config(config):
    names = sorted(n[:-3] for n in os.listdir(COMMANDS) if n.endswith(".md"))
    entries = []
    for n in names:
        with open(os.path.join(COMMANDS, n + ".md"), encoding="utf-8") as f:
            entries.append({f.readline()[2:].strip(): f"reference/{n}.md"})
    reference = next(x["Reference"] for x in config.nav if "Reference" in x)
    next(x for x in reference if "Commands" in x)["Commands"] = entries
    return config


def on_files(files, config):
    files.append(File.generated(config, "index.md", content=home(read("README.md"))))
    files.append(File.generated(config, "site.css", content=CSS))
    for name in sorted(os.listdir(COMMANDS)):
        with open(os.path.join(COMMANDS, name), encoding="utf-8") as f:
            files.append(File.generated(config, "reference/" + name, content=f.read()))
    files.append(File.generated(config, "reference/python.md", content=python()))
    return files


def home(text):
    """README.md with links from docs/, and pictures that follow the site's own colours."""
    def picture(m):
        dark, alt, light = m.group(1), m.group(2), m.group(3)
        return f"![{alt}]({light}#only-light)\n![{alt}]({dark}#only-dark)"

    text = text.replace(" -> ", " → ")  # an arrow that no line is broken in
    text = re.sub(r'<picture><source [^>]*srcset="([^"]*)"><img alt="([^"]*)" src="([^"]*)"[^>]*></picture>', picture, text)
    return re.sub(r"\]\((?!https?:|#)(?:docs/)?([^)]*)\)", lambda m: m.group(0).replace("docs/", "", 1) if "docs/" in m.group(0) else f"](../{m.group(1)})", text)


def on_page_markdown(markdown, page, config, files):
    """Links to files of the source lead to the repository."""
    up = r"\.\./" * (page.file.src_uri.count("/") + 1)
    return re.sub(r"\]\(" + up + r"([^)]*)\)", lambda m: f"]({SOURCE}{m.group(1)})", markdown)


def on_post_build(config):
    """Pages were in one folder before: their old addresses lead to the new ones."""
    for page in glob.glob("*/*.md", root_dir=config.docs_dir):
        name = page[:-3]
        old = os.path.join(config.site_dir, os.path.basename(name))
        os.makedirs(old, exist_ok=True)
        with open(os.path.join(old, "index.html"), "w", encoding="utf-8") as f:
            f.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=../{name}/"><link rel="canonical" href="../{name}/"><a href="../{name}/">moved</a>\n')


def python():
    """A page with what shardify.__all__ names, and the modules that people import by name."""
    package = os.path.join(ROOT, "python", "shardify")
    found = {}
    for name in sorted(os.listdir(package)):
        if name.endswith(".py"):
            for node in ast.parse(read(os.path.join("python", "shardify", name))).body:
                if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not any(ast.unparse(d) == "overload" for d in node.decorator_list):
                    if name == "__init__.py" or node.name not in found:
                        found[node.name] = node
                elif name == "__init__.py" and isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
                    public = ast.literal_eval(node.value)
    out = ["# Python", "", "Everything here is in the package `shardify`. [Reading a set](../guides/reading.md) and [from PyTorch](../guides/from-pytorch.md) show how it is used.", ""]
    order = sorted((n for n in public if n in found), key=lambda n: (isinstance(found[n], ast.ClassDef), n.endswith("Error"), n))
    for name in order:
        out += described(found[name], name)
    for name in (n for n in public if n not in found and os.path.exists(os.path.join(package, n + ".py"))):
        module = ast.parse(read(os.path.join("python", "shardify", name + ".py")))
        out += [f"## shardify.{name}", "", *text(ast.get_docstring(module))]
        parts = [n for n in module.body if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and not n.name.startswith("_")]
        for node in sorted(parts, key=lambda n: isinstance(n, ast.ClassDef)):
            out += described(node, f"{name}.{node.name}")
    return "\n".join(out) + "\n"


def described(node, name):
    """A heading, a signature and a docstring; of a class also its public methods."""
    out = [f"## {name}", "", *signature(node, name), *text(ast.get_docstring(node))]
    for part in node.body if isinstance(node, ast.ClassDef) else []:
        if isinstance(part, ast.FunctionDef) and not part.name.startswith("_") and ast.get_docstring(part):
            out += [f"### {name}.{part.name}", "", *signature(part, part.name), *text(ast.get_docstring(part))]
    return out


def signature(node, name):
    if isinstance(node, ast.ClassDef):
        init = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
        if init is None:
            bases = ", ".join(ast.unparse(b) for b in node.bases)
            return ["```python", f"class {name}({bases})" if bases else f"class {name}", "```", ""]
        node = init
    elif any(ast.unparse(d) in ("property", "functools.cached_property", "cached_property") for d in node.decorator_list):
        return ["```python", name + (f" -> {ast.unparse(node.returns)}" if node.returns else ""), "```", ""]
    a = node.args
    every = [ast.unparse(ast.arguments(posonlyargs=[], args=[x], kwonlyargs=[], kw_defaults=[], defaults=[d] if d else [])) for x, d in zip(a.args, [None] * (len(a.args) - len(a.defaults)) + a.defaults)]
    if a.vararg:
        every.append("*" + ast.unparse(a.vararg))
    elif a.kwonlyargs:
        every.append("*")
    every += [ast.unparse(ast.arguments(posonlyargs=[], args=[x], kwonlyargs=[], kw_defaults=[], defaults=[d] if d else [])) for x, d in zip(a.kwonlyargs, a.kw_defaults)]
    if a.kwarg:
        every.append("**" + ast.unparse(a.kwarg))
    every = [x for x in every if x.split(":")[0] not in ("self", "cls")]
    end = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{name}({', '.join(every)}){end}"
    if len(line) > 88:
        line = f"{name}(\n    " + ",\n    ".join(every) + f",\n){end}"
    return ["```python", line, "```", ""]


def text(doc):
    """A docstring as Markdown: sentences stay, indented lines and columns become code blocks."""
    out = []
    for block in re.split(r"\n\s*\n", doc or ""):
        lines = block.rstrip().splitlines()
        if any(re.match(r" |.*\S   ?\S", line) for line in lines):
            code = all(line.startswith("    ") for line in lines)
            out += ["```python" if code else "```text", *(line[4:] if code else line for line in lines), "```", ""]
        else:
            out += [re.sub(r"([*_<])", r"\\\1", line) if "`" not in line else line for line in lines] + [""]
    return out
