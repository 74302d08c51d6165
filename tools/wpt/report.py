"""What tests came to: rows of a table, and the comparison with what is expected."""
import fnmatch, json, re

PASSED = 0
STATUS = {0: "pass", 1: "fail", 2: "timeout", 3: "not run", 4: "precondition"}


def folder_of(name):
    parts = name.split("?")[0].split("/")
    depth = 3 if name.startswith("fetch/api/") else 2 if parts[0] in ("WebCryptoAPI", "html", "fetch", "wasm") else 1
    return "/".join(parts[:min(depth, len(parts) - 1)])


class Expectations:
    """tools/wpt/expectations.json: `left_out` names subtests that count for no runtime, `failures` those that Hearth fails, each
    with a reason. `file` is a pattern of the shell's, `subtest` a regular expression (all of the file's where it is missing).
    `mixed` entries may have subtests that pass; of all others a pass is a surprise."""

    def __init__(self, path):
        data = json.loads(path.read_text())
        self.left_out = [Entry(entry) for entry in data["left_out"]]
        self.failures = [Entry(entry) for entry in data["failures"]]

    def counts(self, name, subtest):
        return not any(entry.matches(name, subtest) for entry in self.left_out)

    def surprises(self, results):
        """Failures that no entry names, passes of entries, and entries that name nothing that fails."""
        for name, result in results.items():
            if result["status"] != 0 and not any(entry.matches(name, "") for entry in self.failures):
                yield f"{name}: harness: {result['message']}"
            elif result["status"] != 0:
                self.use(name, "")
            for test in result["tests"]:
                if not self.counts(name, test["name"]):
                    continue
                found = self.use(name, test["name"], test["status"] != PASSED)
                if test["status"] != PASSED and not found:
                    yield f"{name}: {STATUS[test['status']]}: {test['name']}: {test['message']}"
                elif test["status"] == PASSED and found and not any(entry.mixed for entry in found):
                    yield f"{name}: passes now: {test['name']} (expected to fail: {found[0].reason})"
        for entry in self.failures:
            if not entry.used and any(fnmatch.fnmatchcase(name.split("?")[0], entry.file) for name in results):
                yield f"{entry.file}: nothing fails of what an entry names (expected to fail: {entry.reason})"

    def use(self, name, subtest, failed=True):
        found = [entry for entry in self.failures if entry.matches(name, subtest)]
        for entry in found:
            entry.used |= failed
        return found


class Entry:
    def __init__(self, entry):
        self.file = entry["file"]
        self.subtest = re.compile(entry.get("subtest", ""), re.S)
        self.reason = entry["reason"]
        self.mixed = entry.get("mixed", False)
        self.used = False

    def matches(self, name, subtest):
        return fnmatch.fnmatchcase(name.split("?")[0], self.file) and self.subtest.search(subtest) is not None


def rows_of(results, expectations):
    """Folder to [passed, all, files without a result]."""
    rows = {}
    for name, result in results.items():
        row = rows.setdefault(folder_of(name), [0, 0, 0])
        tests = [test for test in result["tests"] if expectations is None or expectations.counts(name, test["name"])]
        row[0] += sum(test["status"] == PASSED for test in tests)
        row[1] += len(tests)
        row[2] += result["status"] != 0
    return rows


def union_of(all_results, expectations):
    """Runtime to folder to [passed, all]: a subtest that any runtime has counts for all, so that what ends early scores less."""
    names = {}
    for results in all_results.values():
        for name, result in results.items():
            known = names.setdefault(name, set())
            known.update(test["name"] for test in result["tests"] if expectations is None or expectations.counts(name, test["name"]))
    table = {}
    for runtime, results in all_results.items():
        rows = table.setdefault(runtime, {})
        for name, known in names.items():
            row = rows.setdefault(folder_of(name), [0, 0])
            tests = results.get(name, {"tests": []})["tests"]
            row[0] += len({test["name"] for test in tests if test["status"] == PASSED} & known)
            row[1] += len(known)
    return table


def percent(passed, total):
    return f"{100 * passed / max(total, 1):.1f}"


def markdown(all_results, expectations):
    table = union_of(all_results, expectations)
    runtimes = list(table)
    folders = sorted(next(iter(table.values())))
    lines = [f"| folder | subtests | {' | '.join(runtimes)} |", f"|---|---:|{'---:|' * len(runtimes)}"]
    for folder in folders:
        total = table[runtimes[0]][folder][1]
        if total:
            lines.append(f"| {folder} | {total} | {' | '.join(percent(table[r][folder][0], total) for r in runtimes)} |")
    totals = {r: [sum(row[i] for row in table[r].values()) for i in (0, 1)] for r in runtimes}
    lines.append(f"| all | {totals[runtimes[0]][1]} | {' | '.join(percent(*totals[r]) for r in runtimes)} |")
    return "\n".join(lines)
