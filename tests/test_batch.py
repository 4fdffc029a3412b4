"""gradcalc run: kinds of files, what is wrong in them, processes, interrupts, files of results."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran
from jsonschema import Draft202012Validator

from gradcalc import workers
from gradcalc.files import lines

Shell = Callable[..., Ran]
ROOT = Path(__file__).parent.parent
SAMPLES = str(ROOT / "samples")
GRADCALC = str(Path(sys.executable).parent / "gradcalc")
OURS = str(Path(workers.__file__).parent).encode()  # is in every traceback of ours
SQUARE = {"expr": "x*x", "at": {"x": 3}, "expect": {"x": 6}}


def jsonl(path: Path, *problems: Any) -> str:
    path.write_text("".join(f"{json.dumps(problem)}\n" for problem in problems))
    return str(path)


def records(ran: Ran) -> list[Any]:
    return [json.loads(line) for line in ran.out.splitlines()]


@pytest.mark.parametrize("jobs", ["1", "2", "auto"])
def test_the_samples_pass(jobs: str, gradcalc: Shell) -> None:
    ran = gradcalc("run", SAMPLES, "--json", "--jobs", jobs)
    assert ran.code == 0
    assert len(records(ran)) == 31
    assert all(record["status"] == "ok" for record in records(ran))
    assert ran.out == gradcalc("run", SAMPLES, "--json").out


def test_the_samples_have_what_they_are_compared_with(gradcalc: Shell) -> None:
    problems = records(gradcalc("run", SAMPLES, "--json", "--no-check"))
    assert all("expect" in problem for problem in problems)


def test_a_row_of_csv_is_a_problem(tmp_path: Path, gradcalc: Shell) -> None:
    path = tmp_path / "points.csv"
    path.write_text("a, b\n1,2\npi/4,0\n1\n,2\n1,two\n3,4")
    ran = gradcalc("run", str(path), "--expr", "sin(a)*b", "--json", "--no-check")
    found = records(ran)
    assert [record["status"] for record in found] == ["ok", "ok", "error", "error", "error", "ok"]
    assert found[5]["gradients"]["b"] == pytest.approx(0.1411200080598672)
    assert ":4: 1 cell for 2 columns" in ran.err
    assert gradcalc("run", str(path)).code == 2


WRONG = {
    '{"name": "n", "expr": "x", "expr": "y"}': ("duplicate-key", "n"),
    '{"name": "n", "expr": "x", "wieghts": 1}': ("unknown-key", "n"),
    '{"name": "n", "expr": "x", "at": {"x": [[1, 2], [3]]}}': ("ragged", "n"),
    '{"name": "n", "expr": "x", "at": {"x": "1..2"}}': ("syntax", "n"),
    '{"name": "n", "expr": "x", "at": {"x": {}}}': ("number", "n"),
    '{"name": "n", "expr": "x", "at": {"x": true}}': ("number", "n"),
    '{"name": "n", "expr": "x", "at"': ("json", "in.jsonl:2"),
    "[]": ("record", "in.jsonl:2"),
    "\xff": ("encoding", "in.jsonl:2"),
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_with_one_problem_ends_that_only(
    line: str, tmp_path: Path, gradcalc: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, name = WRONG[line]
    monkeypatch.chdir(tmp_path)
    good = json.dumps(SQUARE).encode()
    Path("in.jsonl").write_bytes(b"\xef\xbb\xbf" + good + b"\r\n" + line.encode("latin-1"))
    with open("in.jsonl", "ab") as file:
        file.write(b"\n\n" + good)
    ran = gradcalc("run", "in.jsonl", "--json")
    first, wrong, last = records(ran)
    assert ran.code == 2
    assert (first["gradients"], last["gradients"]) == ({"x": 6}, {"x": 6})
    assert (wrong["error"]["code"], wrong["name"], wrong["place"]) == (code, name, "in.jsonl:2")
    assert "in.jsonl:2" in ran.err


def test_a_last_line_that_is_cut_off(tmp_path: Path, gradcalc: Shell) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(json.dumps(SQUARE) + '\n{"expr": "x')
    ran = gradcalc("run", str(path), "--json")
    assert records(ran)[1]["error"]["hint"] == "is the last line cut off?"


def test_a_line_may_be_too_long(
    tmp_path: Path, gradcalc: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1000)
    path = tmp_path / "long.jsonl"
    good = json.dumps(SQUARE)
    path.write_text(f"{good}\n{' ' * 5000}{good}\n{good}\n")
    found = records(gradcalc("run", str(path), "--json"))
    assert [record["status"] for record in found] == ["ok", "error", "ok"]
    assert found[1]["error"]["code"] == "too-large"


def test_filter_fail_fast_and_most_errors(tmp_path: Path, gradcalc: Shell) -> None:
    wrong = {**SQUARE, "expect": {"x": 7}}
    problems = [{**(wrong if i % 2 else SQUARE), "name": f"p{i}"} for i in range(10)]
    path = jsonl(tmp_path / "in.jsonl", *problems)
    assert len(records(gradcalc("run", path, "--json"))) == 10
    assert [r["name"] for r in records(gradcalc("run", path, "--json", "--filter", "p3"))] == ["p3"]
    assert gradcalc("run", path, "--filter", "q").code == 2
    fast = gradcalc("run", path, "--json", "--fail-fast")
    assert (fast.code, len(records(fast))) == (1, 2)
    assert len(records(gradcalc("run", path, "--json", "--max-errors", "3"))) == 6
    assert len(records(gradcalc("run", path, "--json", "--jobs", "2", "--fail-fast"))) == 2
    assert gradcalc("run", path, "--jobs", "none").code == 2


def test_resume_takes_no_part_for_the_whole(tmp_path: Path, gradcalc: Shell) -> None:
    path, out = jsonl(tmp_path / "in.jsonl", SQUARE), tmp_path / "out.jsonl"
    gradcalc("run", path, "--output", str(out))
    before = out.read_bytes()
    assert gradcalc("run", path, "--resume", str(out), "--filter", "x").code == 2
    assert out.read_bytes() == before


def test_expectations_may_be_a_text(tmp_path: Path, gradcalc: Shell) -> None:
    path = jsonl(tmp_path / "in.jsonl", {**SQUARE, "expect": "x=2*x"}, {**SQUARE, "expect": "x=7"})
    assert [one["status"] for one in records(gradcalc("run", path, "--json"))] == ["ok", "mismatch"]


def test_a_name_in_two_spellings_is_one_name(tmp_path: Path, gradcalc: Shell) -> None:
    twice = {"expr": "fi*fi", "at": {"fi": 3}, "expect": {"\ufb01": 4, "fi": 6}}
    (record,) = records(gradcalc("run", jsonl(tmp_path / "in.jsonl", twice), "--json"))
    assert record["error"]["code"] == "name-collision"


def test_an_error_in_the_header_of_a_csv_names_the_file(tmp_path: Path, gradcalc: Shell) -> None:
    path = tmp_path / "bad.csv"
    path.write_text('a,"b\n1,2\n')
    assert f"error: {path}:1: " in gradcalc("run", str(path), "--expr", "a*b").err


def test_a_batch_does_not_note_its_seeds(tmp_path: Path, gradcalc: Shell) -> None:
    path = jsonl(tmp_path / "in.jsonl", {"expr": "x*x", "at": {"x": "randn()"}})
    assert not gradcalc("run", path).err


def test_errors_name_the_file_the_line_and_the_problem(tmp_path: Path, gradcalc: Shell) -> None:
    path = tmp_path / "in.toml"
    path.write_text('[[problem]]\nexpr = "x"\nat.x = 1\n\n[[ problem ]]\nname = "b"\nexpr = "y"\n')
    assert gradcalc("run", str(path)).err.startswith(f"error: {path}:5 (b): ")
    path.write_text('problem = [{expr = "x"}, {expr = "y", at = {y = 1}}]')
    assert gradcalc("run", str(path)).err.startswith(f"error: {path}[0]: ")


def test_what_may_not_be_looked_at_is_an_error(
    tmp_path: Path, gradcalc: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    jsonl(tmp_path / "closed.jsonl", SQUARE)
    jsonl(tmp_path / "open.jsonl", SQUARE)
    looked_at = Path.is_dir

    def is_dir(path: Path) -> bool:
        if path.name in ("closed.jsonl", "out.jsonl"):
            raise PermissionError(13, "Permission denied")
        return looked_at(path)

    monkeypatch.setattr(Path, "is_dir", is_dir)
    ran = gradcalc("run", str(tmp_path), "--json")
    assert [record["status"] for record in records(ran)] == ["error", "ok"]
    assert "closed.jsonl': permission denied" in ran.err
    ran = gradcalc("run", str(tmp_path / "open.jsonl"), "--output", str(tmp_path / "out.jsonl"))
    assert (ran.code, "cannot write" in ran.err) == (2, True)


def test_a_script_that_ignores_ctrl_c_is_obeyed(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", *[SQUARE] * 300)
    command = f"trap '' INT; '{sys.executable}' -m gradcalc run '{path}' --json | tail -1"
    running = subprocess.Popen(
        ["bash", "-c", command], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(0.7)
    os.killpg(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert json.loads(out)["status"] == "ok"


def test_a_table_lists_failures_in_full(tmp_path: Path, gradcalc: Shell) -> None:
    wrong = {"name": "wrong", **SQUARE, "expect": {"x": 7}}
    ran = gradcalc("run", jsonl(tmp_path / "in.jsonl", {"name": "right", **SQUARE}, wrong))
    assert ran.code == 1
    assert ran.out.splitlines()[-5:] == [
        "wrong:",
        "x = 9, weighted 1".replace("x =", "out ="),
        "x: expected 7, found 6, off by -1",
        "mismatch: not as expected (x), 1 of 1 entry, SymPy agrees to 15.9 digits",
        "2 problems: 1 ok, 1 mismatch",
    ]


def test_graphs_are_made_once(tmp_path: Path, gradcalc: Shell) -> None:
    problems = [{"expr": "y = tanh(a)*b", "at": {"a": i / 7, "b": 2.0}} for i in range(40)]
    together = records(gradcalc("run", jsonl(tmp_path / "in.jsonl", *problems), "--json"))
    alone = [
        records(gradcalc("eval", p["expr"], "--at", f"a={p['at']['a']!r}; b=2", "--json"))[0]
        for p in problems[::10]
    ]
    assert together[::10] == alone


def test_what_differs_between_problems_makes_another_graph(tmp_path: Path, gradcalc: Shell) -> None:
    base = {"expr": "y = a*b; z = a + b", "at": {"a": [1.0, 2.0], "b": 3.0}}
    problems: list[Any] = [
        {**base, "weights": {"y": [1, 1]}},
        {**base, "weights": {"y": [1, 0]}},
        {**base, "weights": {"z": [1, 1]}},
        {**base, "weights": [1, 1], "wrt": "a"},
        {**base, "passes": [[1, 1], [1, 1]]},
        {**base, "passes": [[1, 1], [1, 1]], "zero_grad": True},
        {**base, "weights": [1, 1], "output": "y"},
        {**base, "at": {"a": [[1.0, 2.0]], "b": 3.0}, "weights": 1},
    ]
    both = gradcalc("run", jsonl(tmp_path / "in.jsonl", *problems, *problems), "--json")
    found = records(both)
    assert found[:8] == found[8:]
    assert len({json.dumps([r["gradients"], r["weights"]]) for r in found[:8]}) == 6


def test_random_numbers_are_the_same_whenever_a_problem_is_solved(
    tmp_path: Path, gradcalc: Shell
) -> None:
    path = jsonl(tmp_path / "in.jsonl", *[{"expr": "sum(x*randn(3))", "at": {"x": 2}}] * 2)
    first = gradcalc("run", path, "--json", "--no-check")
    assert first.out == gradcalc("run", path, "--json", "--no-check").out


def test_results_and_problems_are_those_of_the_schemas(gradcalc: Shell) -> None:
    schemas = {
        kind: Draft202012Validator(json.loads(gradcalc("schema", kind).out))
        for kind in ("result", "problem")
    }
    for line in (ROOT / "samples" / "himmelblau.jsonl").read_text().splitlines():
        schemas["problem"].validate(json.loads(line))
    import tomllib

    for path in (ROOT / "samples").glob("*.toml"):
        for problem in tomllib.loads(path.read_text())["problem"]:
            schemas["problem"].validate(problem)
    assert not schemas["problem"].is_valid({"expr": "x", "wieghts": 1})
    results = records(gradcalc("run", SAMPLES, "--json"))
    for arguments in (
        ["abs(x)", "--at", "x=0", "--explain-check"],
        ["1/x", "--at", "x=0", "--explain-check"],
        ["exp(x)", "--at", "x=800", "--check", "chain"],
        ["sum(x)", "--at", "x=1,2", "--expect", "x=1", "--against", "numeric"],
        ["x*x", "--at", "x=1", "--at", "b=nan", "--no-check"],
        ["sni(x)", "--at", "x=1"],
        ["(1 + x) - 1 - x + 1e-20*x", "--at", "x=0.1"],
        ["y = a*b", "--at", "a=1,2; b=3", "--weights", "1,inf"],
    ):
        results += records(gradcalc("eval", *arguments, "--json"))
    for result in results:
        schemas["result"].validate(result)


# Processes


def test_an_ordered_map_survives_its_workers() -> None:
    def work(item: int) -> int:
        if item % 10 == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(random.random() / 1000)
        return item * item

    found = list(workers.ordered_map(work, range(60), 3, lambda item, code: -item))
    assert found == [-i if i % 10 == 3 else i * i for i in range(60)]


def test_results_that_are_known_keep_their_places() -> None:
    items = [workers.Ready(i) if i % 3 else i for i in range(50)]
    found = list(workers.ordered_map(lambda item: item, items, 2, lambda item, code: -1))
    assert found == list(range(50))


SLOW = [
    {
        "name": f"p{i}",
        "expr": "y = x\nfor i in range(300):\n    y = sin(y)*a",
        "at": {"x": i, "a": 1},
    }
    for i in range(40)
]


def children(pid: int) -> list[int]:
    try:
        return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def run(*arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    return subprocess.Popen([GRADCALC, "run", *arguments], **pipes, **options)


def test_a_worker_that_dies_takes_its_problem_down_and_resume_mends_it(tmp_path: Path) -> None:
    path, out = jsonl(tmp_path / "in.jsonl", *SLOW), tmp_path / "out.jsonl"
    whole = tmp_path / "whole.jsonl"
    assert run(path, "--output", str(whole)).wait() == 0
    running = run(path, "--output", str(out), "--jobs", "2")
    draw, killed = random.Random(0), 0
    while running.poll() is None:
        time.sleep(draw.uniform(0.2, 0.4))
        if killed < 3 and (workers_now := children(running.pid)):
            os.kill(draw.choice(workers_now), signal.SIGKILL)
            killed += 1
    results = [json.loads(line) for line in out.read_text().splitlines()]
    died = [r for r in results if r["status"] == "error"]
    assert len(results) == 40
    assert 1 <= len(died) <= killed
    assert all(r["error"]["code"] == "worker-died" for r in died)
    assert "killed by signal 9" in died[0]["error"]["message"]
    assert run(path, "--resume", str(out)).wait() == 0
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl", "whole.jsonl"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_is_killed_is_resumed_without_loss(jobs: str, tmp_path: Path) -> None:
    path, out = jsonl(tmp_path / "in.jsonl", *SLOW), tmp_path / "out.jsonl"
    whole = tmp_path / "whole.jsonl"
    assert run(path, "--output", str(whole)).wait() == 0
    draw = random.Random(int(jobs))
    for _ in range(3):
        running = run(path, "--resume", str(out), "--jobs", jobs, start_new_session=True)
        time.sleep(draw.uniform(0.7, 1.4))
        running.kill()
        running.wait()
        lines_now = out.read_bytes() if out.exists() else b""
        assert whole.read_bytes().startswith(lines_now[: lines_now.rfind(b"\n") + 1])
    with out.open("ab") as file:
        file.write(b'{"schema": "gradcalc.res')  # as a write that was cut off
    assert run(path, "--resume", str(out), "--jobs", jobs).wait() == 0
    assert out.read_bytes() == whole.read_bytes()


def test_resume_keeps_what_is_ok_and_solves_what_is_not(tmp_path: Path, gradcalc: Shell) -> None:
    problems = [{**SQUARE, "name": f"p{i}"} for i in range(6)]
    out = tmp_path / "out.jsonl"
    broken = [{**p, "expect": {"x": 7}} if i == 2 else p for i, p in enumerate(problems)]
    assert gradcalc("run", jsonl(tmp_path / "in.jsonl", *broken), "--output", str(out)).code == 1
    path = jsonl(tmp_path / "in.jsonl", *problems)
    assert gradcalc("run", path, "--resume", str(out)).code == 0
    resumed = out.read_bytes()
    assert gradcalc("run", path, "--output", str(out)).code == 0
    assert resumed == out.read_bytes()
    path = jsonl(tmp_path / "in.jsonl", *problems[::-1][:4])  # other problems, in another order
    assert gradcalc("run", path, "--resume", str(out)).code == 0
    assert [json.loads(x)["name"] for x in out.read_text().splitlines()] == ["p5", "p4", "p3", "p2"]


def test_resume_sees_that_a_file_changed(
    tmp_path: Path, gradcalc: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = jsonl(tmp_path / "in.jsonl", {"expr": "x*x", "at": "x=@v.json"})
    for value in ("3", "5"):
        Path("v.json").write_text(value)
        assert gradcalc("run", path, "--resume", "out.jsonl", "--no-check").code == 0
    assert json.loads(Path("out.jsonl").read_text())["gradients"] == {"x": 10}


def test_no_line_is_lost_before_one_that_was_cut_off(tmp_path: Path, gradcalc: Shell) -> None:
    a, c = {**SQUARE, "name": "a"}, {**SQUARE, "name": "c" * 4000}
    out = tmp_path / "out.jsonl"
    gradcalc("run", jsonl(tmp_path / "in.jsonl", a), "--output", str(out), "--no-check")
    with out.open("ab") as file:
        file.write(b'{"schema": "gradcalc.res')
    other = tmp_path / "out.jsonl.part-notes"
    other.write_text("not ours")
    path = jsonl(tmp_path / "in.jsonl", c, a)
    assert gradcalc("run", path, "--resume", str(out), "--no-check").code == 0
    names = [json.loads(line)["name"] for line in out.read_text().splitlines()]
    assert names == ["c" * 4000, "a"]
    assert other.read_text() == "not ours"


def test_a_line_that_only_looks_like_a_result(tmp_path: Path, gradcalc: Shell) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text('{"schema": "gradcalc.result/1", "status": "ok", "input": "x"}\n')
    path = jsonl(tmp_path / "in.jsonl", SQUARE)
    assert gradcalc("run", path, "--resume", str(out)).code == 0


def test_more_processes_than_the_system_has(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", *SLOW * 5)
    command = f"ulimit -n 64; {GRADCALC} run {path} --jobs 100 --json > /dev/null"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot start process")


def test_a_worker_that_dies_without_work_takes_nothing_down() -> None:
    pool = workers._Pool(lambda item: item, 1, lambda item, code: -1)
    worker = pool._start()
    worker.process.kill()
    worker.process.join()
    try:
        assert list(pool.run(iter(range(5)))) == [0, 1, 2, 3, 4]
    finally:
        pool.close()


def test_what_is_resumed_is_no_more_proven_than_it_was(tmp_path: Path, gradcalc: Shell) -> None:
    path = jsonl(tmp_path / "in.jsonl", {"expr": "abs(x)", "at": {"x": 0}})
    for option in ("--output", "--resume"):
        ran = gradcalc("run", path, option, str(tmp_path / "out.jsonl"), "--strict")
        assert (ran.code, "1 not verified" in ran.out) == (1, True)


@pytest.mark.parametrize(
    "target,message",
    [
        ("in.jsonl", "is one of the inputs"),
        (".", "is a folder"),
        ("missing/out.jsonl", "no such file or directory"),
        ("/dev/full", "no space left on device"),
        ("/proc/version", "permission denied"),
    ],
)
def test_an_output_that_cannot_be_written(
    target: str, message: str, tmp_path: Path, gradcalc: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = jsonl(tmp_path / "in.jsonl", SQUARE)
    ran = gradcalc("run", path, "--output", target)
    assert ran.code == 2
    assert message in ran.err or (target.startswith("/proc") and "cannot write" in ran.err)
    assert json.loads((tmp_path / "in.jsonl").read_text()) == SQUARE


@pytest.mark.parametrize("text", ["my notes", "my notes\n", '{"a": 1}\n', "\x00\x01"])
def test_what_is_no_file_of_results_is_left_alone(
    text: str, tmp_path: Path, gradcalc: Shell
) -> None:
    path, notes = jsonl(tmp_path / "in.jsonl", SQUARE), tmp_path / "notes"
    notes.write_text(text)
    assert gradcalc("run", path, "--resume", str(notes)).code == 2
    assert notes.read_text() == text


def test_half_of_a_character_is_no_json(tmp_path: Path, gradcalc: Shell) -> None:
    problems = [{**SQUARE, "name": name} for name in ("\ud800x", "\U0001f600")]
    found = records(gradcalc("run", jsonl(tmp_path / "in.jsonl", *problems), "--json"))
    assert [record["name"] for record in found] == ["?x", "\U0001f600"]


def test_ctrl_c_at_any_moment_of_the_start_is_quiet(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", *SLOW)
    for moment in range(12):
        running = run(path, "--json")
        time.sleep(0.05 + 0.03 * moment)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
        assert running.returncode in (130, -signal.SIGINT)  # which a shell calls 130
        assert OURS not in err  # Python's own start, before our first line, is not in our hands


def test_a_folder_is_not_written_into_while_it_is_read(tmp_path: Path, gradcalc: Shell) -> None:
    jsonl(tmp_path / "in.jsonl", SQUARE)
    assert gradcalc("run", str(tmp_path), "--output", str(tmp_path / "out.jsonl")).code == 2
    assert gradcalc("run", str(tmp_path), "--output", str(tmp_path / "out.txt")).code == 0


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    path, out = jsonl(tmp_path / "in.jsonl", *[SQUARE] * 50), tmp_path / "out.jsonl"
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (5000, 5000))
    running = run(path, "--output", str(out), "--no-check", preexec_fn=limit)
    _, err = running.communicate()
    assert running.returncode == 2
    assert b"cannot write" in err
    assert 0 < len(out.read_bytes()) <= 5000
    for line in out.read_bytes().splitlines(keepends=True):
        assert line.endswith(b"\n")
        assert json.loads(line)["status"] == "ok"
    assert run(path, "--resume", str(out), "--no-check").wait() == 0
    assert len(out.read_bytes().splitlines()) == 50


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_finishes_the_problem_under_way(jobs: str, tmp_path: Path) -> None:
    running = run(jsonl(tmp_path / "in.jsonl", *SLOW), "--json", "--jobs", jobs)
    assert running.stdout is not None
    first = running.stdout.readline()
    running.send_signal(signal.SIGINT)
    rest, err = running.communicate(timeout=30)
    found = [json.loads(line) for line in (first + rest).splitlines()]
    assert (running.returncode, err) == (130, b"")
    assert [r["name"] for r in found] == [f"p{i}" for i in range(len(found))]
    assert len(found) < 40


def test_ctrl_c_while_nothing_comes(tmp_path: Path) -> None:
    running = run("-", "--json", stdin=subprocess.PIPE)
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(json.dumps(SQUARE).encode() + b"\n")
    running.stdin.flush()
    assert json.loads(running.stdout.readline())["gradients"] == {"x": 6}  # at once
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=10) == 130
    running.stdin.close()


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", *[SQUARE] * 2000)
    command = f"{GRADCALC} run {path} --json --no-check | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("141", "")


def test_many_records_stream_through_little_memory(tmp_path: Path) -> None:
    """A part of the million that tests/benchmarks measures: memory does not grow with them."""
    command = (
        f"yes '{json.dumps(SQUARE)}' | head -n 20000 | {GRADCALC} run - --json --no-check"
        " | tail -n 1 > /dev/null"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    subprocess.run(["bash", "-c", command], check=True)
    assert max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) < 300 * 1024
