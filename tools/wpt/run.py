#!/usr/bin/env python3
"""Runs tests of the web-platform-tests in Hearth, and in other runtimes beside it.

    tools/wpt/run.py CHECKOUT [--runtime hearth=PATH] [--jobs 2] [--show] FOLDER-OR-FILE...

CHECKOUT is a checkout of https://github.com/web-platform-tests/wpt; nothing of it is part of this repository. Run are the
files that work without a page: `*.any.js`, in a fresh context each, once for each variant. Printed is a row for each folder:
subtests that passed, and all. `--show` names those that failed. Files that tests fetch come from the checkout (server.py).

`--runtime deno=PATH` (or bun, workerd; several are fine) runs the same scripts there; `--markdown FILE` writes the table of all.
`--expect FILE` compares what Hearth does with expectations.json: surprises end the program with 1, passes too.
`--shard 1/4` runs every fourth test.
"""
import argparse, concurrent.futures, json, pathlib, sys

import checkout as tests
import report, runtimes, server

HERE = pathlib.Path(__file__).resolve().parent


def run_test(runtime, origin, test):
    try:
        job = {"url": f"{origin}{test.address}", "scripts": test.scripts(), "seconds": test.seconds}
        return test.name, runtime.run(job, 2 * test.seconds + 20)
    except FileNotFoundError as error:
        return test.name, runtimes.failure(f"the checkout lacks {error.filename}")
    except Exception as error:
        return test.name, runtimes.failure(f"no answer: {error}")


def run_all(name, program, origin, chosen, jobs):
    runtime = runtimes.open_runtime(name, program)
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            return dict(pool.map(lambda test: run_test(runtime, origin, test), chosen))
    finally:
        runtime.close()


def show(results):
    for name, result in results.items():
        if result["status"] != 0:
            print(f"{name}: harness: {result['message']}")
        for test in result["tests"]:
            if test["status"] != report.PASSED:
                print(f"{name}: {report.STATUS[test['status']]}: {test['name']}: {test['message']}")


def print_rows(rows):
    for folder, (passed, total, broken) in sorted(rows.items()):
        print(f"{folder:40} {passed:6} of {total:6} {report.percent(passed, total):>6} %  {broken} files without a result")
    passed, total = sum(row[0] for row in rows.values()), sum(row[1] for row in rows.values())
    print(f"{'all':40} {passed:6} of {total:6} {report.percent(passed, total):>6} %")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("tests", nargs="+", metavar="FOLDER-OR-FILE")
    parser.add_argument("--runtime", action="append", metavar="NAME=PATH", help="default: hearth=target/release/hearth")
    parser.add_argument("--hearth", help="the same as --runtime hearth=PATH")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="name what did not pass")
    parser.add_argument("--json", type=pathlib.Path, help="write all results there, by runtime")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table there")
    parser.add_argument("--expect", type=pathlib.Path, help=f"for example {HERE.name}/expectations.json")
    parser.add_argument("--shard", default="1/1", help="NUMBER/COUNT")
    return parser.parse_args()


def main():
    chosen_options = options()
    checkout = chosen_options.checkout.resolve()
    number, count = (int(part) for part in chosen_options.shard.split("/"))
    chosen = list(tests.tests_below(checkout, chosen_options.tests))[number - 1::count]
    programs = dict(runtime.split("=", 1) for runtime in chosen_options.runtime or [])
    if chosen_options.hearth or not programs:
        programs = {"hearth": chosen_options.hearth or str(HERE.parent.parent / "target/release/hearth"), **programs}
    path = chosen_options.expect or HERE / "expectations.json"
    expectations = report.Expectations(path) if path.exists() else None
    origin = server.serve(checkout)

    results = {}
    for name, program in programs.items():
        results[name] = run_all(name, program, origin, chosen, chosen_options.jobs)
        if chosen_options.show:
            show(results[name])
        print(name)
        print_rows(report.rows_of(results[name], expectations))
    if chosen_options.json:
        chosen_options.json.write_text(json.dumps(results))
    if chosen_options.markdown:
        chosen_options.markdown.write_text(report.markdown(results, expectations) + "\n")
    if chosen_options.expect and expectations is not None and "hearth" in results:
        surprises = list(expectations.surprises(results["hearth"]))
        print("\n".join([f"{len(surprises)} surprises", *surprises]))
        sys.exit(bool(surprises))


main()
