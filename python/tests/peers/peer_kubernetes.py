"""The jobs of submit kubernetes, and those of the documentation, are valid by the published schemas of Kubernetes."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys

import kubernetes_validate
import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "..", "..", "..", "docs", "guides", "kubernetes.md")
SINCE = (1, 29)  # before, onPodConditions was required of each rule


def say(status, what):
    print(json.dumps({"status": status, "peer": "kubernetes", "what": what}), flush=True)


def versions():
    """Those of the package, oldest first."""
    folder = os.path.join(os.path.dirname(kubernetes_validate.__file__), "kubernetes-json-schema")
    found = {tuple(map(int, m.groups())) for m in (re.match(r"v(\d+)\.(\d+)", n) for n in os.listdir(folder)) if m}
    return ["%d.%d" % v for v in sorted(found) if v >= SINCE]


def faults(job, all_versions):
    found = []
    for v in all_versions:
        try:
            kubernetes_validate.validate(job, v, strict=True)
        except kubernetes_validate.ValidationError as e:
            found.append("%s: %s" % (v, str(e).splitlines()[0]))
    return found


def submitted(work):
    """Each submission with the flags that it was made with."""
    program = os.environ["SHARDIFY"]
    for name, plan, flags in (
        ("volume", [], ["--volume", "data:/data", "--throttle", "3"]),
        ("store", [], ["--elements", "2", "--tasks", "6", "--", "--stall", "10m"]),
        ("shuffle", ["--shuffle", "global"], ["--volume", "data:/data", "--elements", "4"]),
        ("missing", [], ["--missing", "--mem", "3GiB", "--cpus", "2"]),
    ):
        out = os.path.join(work, "pods-" + name)
        synth = ["--from", "synth", "--samples", "2000", "--schema", "x:f32[4]", "--shard-samples", "100"]
        subprocess.run([program, "plan", *synth, *plan, "-o", out, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        before, _, after = " ".join(flags).partition(" -- ")
        words = ["submit", "kubernetes", out, "--image", "example.org/shardify:0.1", *before.split(), "--json", *(["--", *after.split()] if after else [])]
        p = subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, universal_newlines=True)
        for script in json.loads(p.stdout.splitlines()[-1])["scripts"]:
            yield "%s, %s" % (name, script["stage"]), script["text"]


def documented():
    with open(DOCS) as f:
        for i, text in enumerate(re.findall(r"```yaml\n(.*?)```", f.read(), re.S)):
            yield "job %d of the page" % (i + 1), text


def main():
    every = versions()
    jobs = [(name, yaml.safe_load(text)) for source in (submitted(sys.argv[1]), documented()) for name, text in source]
    bad = ["%s: %s" % (name, f) for name, job in jobs for f in faults(job, every)]
    if bad or len(jobs) < 11:
        say("FAILED", "%d jobs: %s" % (len(jobs), "; ".join(bad)))
    else:
        say("ok", "%d jobs are valid by the schemas of Kubernetes %s to %s" % (len(jobs), every[0], every[-1]))
    # The schemas notice what is wrong.
    for what, damage in (
        ("a text for a number", lambda s: s.__setitem__("completions", "8")),
        ("an unknown field", lambda s: s.__setitem__("paralelism", 8)),
        ("a condition without a status", lambda s: s["podFailurePolicy"]["rules"][1]["onPodConditions"][0].pop("status")),
        ("no template", lambda s: s.pop("template")),
    ):
        job = copy.deepcopy(jobs[0][1])
        damage(job["spec"])
        say("ok" if faults(job, every) else "FAILED", "%s is refused" % what)


if __name__ == "__main__":
    main()
