"""Tests in a checkout of the web-platform-tests: which there are, and what each needs."""
import re

# Addresses that the tests' own server knows by other names.
ALIASES = {"/resources/WebIDLParser.js": "/resources/webidl2/lib/webidl2.js"}
WORKERS = ("worker", "dedicatedworker", "sharedworker", "serviceworker", "shadowrealm")


def meta(text, key):
    return [value.strip() for value in re.findall(rf"^// META: {key}=(.*)$", text, re.M)]


class Test:
    """A file in one variant."""

    def __init__(self, checkout, path, text, variant):
        self.path = path
        self.text = text
        self.name = f"{path.relative_to(checkout)}{variant}"
        self.address = f"/{path.relative_to(checkout).with_suffix('.html')}{variant}"
        self.seconds = 60 if "long" in meta(text, "timeout") else 10
        self.checkout = checkout

    def scripts(self):
        """testharness.js, what the test asks for, and the test; a file that is not there is a FileNotFoundError."""
        paths = [self.checkout / "resources/testharness.js"]
        for script in meta(self.text, "script"):
            script = ALIASES.get(script, script)
            paths.append(self.checkout / script.lstrip("/") if script.startswith("/") else self.path.parent / script)
        return [{"name": path.name, "text": path.read_text(errors="replace")} for path in [*paths, self.path]]


def runs_in_a_worker(text):
    names = ",".join(meta(text, "global")) or "window,dedicatedworker"
    return any(name.strip() in WORKERS for name in names.split(","))


def tests_below(checkout, names):
    for name in names:
        root = checkout / name
        for path in [root] if root.is_file() else sorted(root.rglob("*.any.js")):
            text = path.read_text(errors="replace")
            if runs_in_a_worker(text):
                for variant in meta(text, "variant") or [""]:
                    yield Test(checkout, path, text, variant)
