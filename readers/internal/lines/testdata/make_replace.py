"""Prints the digest that TestReplacedIsWhatPythonReplaces expects: of what Python makes of all
strings of up to four bytes, of those bytes that begin or end the ranges of UTF-8."""
import hashlib
import itertools

BYTES = bytes.fromhex("417f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5ff")
digest = hashlib.sha256()
for length in range(1, 5):
    for text in itertools.product(BYTES, repeat=length):
        digest.update(bytes(text).decode("utf-8", errors="replace").encode() + b"\n")
print(digest.hexdigest())
