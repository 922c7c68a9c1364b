"""Plants bugs in a copy of the sources, one at a time, and tells the share that tests without Spark catch.

    python scripts/mutate.py --mutants 100 --seed 1
    python scripts/mutate.py --files programs/lower.py --mutants 20
    python scripts/mutate.py --mutants 100 --seed 1 --again     # only those that escaped before

A bug is a comparison or a sign that is another one, a number that is one off, a condition that is turned round or never
met, a statement that is left out, two arguments or names that are exchanged, a loop that skips its first item.

Which tests execute which line is learned once, by running them all, and again for tests that have changed; where a
source has changed, everything is learned anew, which takes some minutes. A bug is put to tests that execute its line:
some of every file of tests, for SECONDS in all, the quickest first, until one fails. Kernels run without their
compiler; what escapes so is put to the same tests with `--compiled`, which takes a minute or more each.

Each bug is one of: caught; escaped; `not executed` by any test without Spark; equivalent, which is known of those in
equivalent_mutants.txt, with the reason. What is known of a bug is kept in build/mutants.jsonl, and it is not tried
again as long as its file is the same, but for `--again`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "holdfast"
LOG = ROOT / "build" / "mutants.jsonl"
EXECUTED = ROOT / "build" / "executed_lines.pickle"
EQUIVALENT = ROOT / "scripts" / "equivalent_mutants.txt"

# All of them do without Spark, but for tests that quick_tests.py leaves out.
TESTS = ("tests/unit", "tests/laws", "tests/golden", "tests/oracle", "tests/agreement", "tests/cli", "tests/faults")
# Those that run kernels, and can do so without their compiler.
KERNEL_TESTS = (
    *(f"tests/unit/{room}" for room in ("kernels", "live_rows", "search", "violations", "evolving")),
    *("tests/oracle/test_kernels_match_reference.py", "tests/oracle/test_local_check_matches_reference.py"),
    "tests/unit/encode/test_spark_hash.py",
)
# Not asked: they say how the code looks, run the compiler, the whole suite or a JVM, or wait for what is killed.
NOT_ASKED = (
    *("test_kept_kernels.py", "test_repository.py", "test_names.py", "test_import_order.py", "test_import_weight.py"),
    *(
        "test_without_assertions.py",
        "test_class_archive.py",
        "test_java.py",
        "test_session.py",
        "test_help_examples.py",
    ),
    *("test_gpu_evidence.py", "test_interrupts.py", "test_without_spark.py", "test_demo.py", "test_mcp_command.py"),
    *("test_object_store_crashes.py", "test_local_crashes.py", "test_watch_crashes.py"),
    *("test_evolve_crashes.py", "test_fragments_crashes.py", "test_tables_crashes.py", "test_watch_disk.py"),
    *("test_session_not_started.py", "test_hash_agrees.py"),
)
# Not planted in: what only runs on a graphics card, and what says how long something takes or how it is shown.
LEFT_OUT = ("kernels/gpu_evidence.py", "kernels/__main__.py", "kernels/__init__.py", "checking/plan_text.py")
ROOMS = (
    *("programs", "checking", "violations", "kernels", "states", "encode", "rules", "search", "live_rows", "monitor"),
    *("fragments", "evolving"),
)
EXAMPLES = 25
EXAMPLES_TO_LEARN = 5
# What tests import, and is the same in all of them: it is imported once, before the process is forked for each bug.
SHARED = (
    *("numpy", "pyarrow", "pyarrow.compute", "pyarrow.parquet", "pyarrow.csv", "numba", "hypothesis", "pytest"),
    *(
        "hypothesis.extra.numpy",
        "hypothesis.strategies",
        "_pytest.assertion.rewrite",
        "duckdb",
        "typer.testing",
        "rich",
    ),
    *("pandas", "yaml", "pyspark.sql"),
)

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """A bug: the file, its function and lines, what was there and what is there now, and the whole file with it."""

    file: str
    function: str
    line: int
    lines: tuple[int, ...]
    kind: str
    was: str
    now: str
    text: str

    @property
    def name(self) -> str:
        """The bug by its line's text, since the number of the line moves as the file changes."""
        before = (PACKAGE / self.file).read_text("utf-8").splitlines()
        pairs = zip(before, self.text.splitlines(), strict=True)
        line, planted = next((line.strip(), now.strip()) for line, now in pairs if line != now)
        return f"{self.file}: {self.function or 'module'}: {line} => {planted}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: `{self.was}` is `{self.now}`"


def places_in(path: Path) -> list[tuple[int, int]]:
    """Where bugs can be planted in the file: which node of its tree, and which of the changes to it."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = _not_run(tree)
    kept = [(i, node) for i, node in enumerate(ast.walk(tree)) if id(node) not in skipped]
    return [(i, number) for i, node in kept for number in range(len(_changes(node)))]


def mutant_at(path: Path, place: int, number: int) -> Mutant:
    """The bug at such a place. All other lines stay what and where they are."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    node: Any = next(node for i, node in enumerate(ast.walk(tree)) if i == place)
    was, line = ast.unparse(node).splitlines()[0], node.lineno
    function, lines = _around(tree, node)
    replaced = node
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        replaced = node.test
    elif isinstance(node, ast.For):
        replaced = node.iter
    span = (replaced.lineno, replaced.col_offset, replaced.end_lineno, replaced.end_col_offset)
    kind, change = _changes(node)[number]
    change()
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        replaced = node.test
    elif isinstance(node, ast.For):
        replaced = node.iter
    now = ast.unparse(ast.fix_missing_locations(replaced))
    text = _with_text(source, span, now, statement=isinstance(replaced, ast.stmt))
    file = str(path.relative_to(PACKAGE))
    return Mutant(file, function, line, lines, kind, was, ast.unparse(node).splitlines()[0], text)


def _with_text(source: str, span: tuple[int, int, int, int], now: str, *, statement: bool) -> str:
    """The source with another text at that place, and as many lines as before."""
    first, start, last, end = span
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    whole = b"".join(lines)
    fill = "\n" * (last - first - now.count("\n"))
    replacement = now + fill if statement else f"({now}{fill})"
    return (whole[: offsets[first - 1] + start] + replacement.encode() + whole[offsets[last - 1] + end :]).decode()


def _around(tree: ast.AST, node: ast.AST) -> tuple[str, tuple[int, ...]]:
    """The function that the node is in, and the lines of which one is executed where the node is; none in a module."""
    functions = [
        owner
        for owner in ast.walk(tree)
        if isinstance(owner, ast.FunctionDef) and any(inner is node for part in owner.body for inner in ast.walk(part))
    ]
    name = ".".join(function.name for function in functions)
    if not functions:
        return name, ()
    statements = [
        owner
        for owner in ast.walk(functions[-1])
        if isinstance(owner, ast.stmt)
        and owner is not functions[-1]
        and any(inner is node for inner in ast.walk(owner))
    ]
    inner: Any = statements[-1] if statements else node
    bodies = [getattr(inner, part)[0].lineno for part in ("body", "handlers") if getattr(inner, part, None)]
    last = max(inner.lineno, min(bodies) - 1) if bodies else inner.end_lineno
    own: Any = node
    if isinstance(node, ast.stmt) or own.lineno == own.end_lineno == inner.lineno:
        return name, (own.lineno,)
    return name, tuple(range(inner.lineno, last + 1))


def _not_run(tree: ast.AST) -> set[int]:
    """Nodes whose change means nothing: types, texts of errors, assertions, docstrings, what is printed."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr | ast.ImportFrom | ast.Import):
            parts = [node]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            arguments = node.args
            every = [*arguments.args, *arguments.kwonlyargs, *arguments.posonlyargs, arguments.vararg, arguments.kwarg]
            parts = [node.returns, *(argument.annotation for argument in every if argument), *node.decorator_list]
            if node.name in ("__repr__", "__str__", "assert_invariants"):
                parts = [node]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            parts = [node]
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            parts = [node]  # of zip: it asserts that lengths are equal
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
            parts = [node] if ast.unparse(node.targets[0])[:1].isupper() else []  # another name for a type
        for part in parts:
            found |= {id(inner) for inner in ast.walk(part)} if part is not None else set()
    return found


def _changes(node: ast.AST) -> list[tuple[str, Any]]:
    """What can be done to the node: a word for it, and what does it."""

    def setting(owner: Any, name: str, value: Any) -> Any:
        return lambda: setattr(owner, name, value)

    made: list[tuple[str, Any]] = []
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        made.append(("comparison", setting(node, "ops", [SWAPPED[type(node.ops[0])](), *node.ops[1:]])))
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
        made.append(("sign", setting(node, "op", SWAPPED[type(node.op)]())))
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 1000:
        made.append(("one off", setting(node, "value", node.value + 1)))
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        made.append(("truth", setting(node, "value", not node.value)))
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        made.append(("turned round", setting(node, "test", ast.UnaryOp(ast.Not(), node.test))))
    if isinstance(node, ast.If):
        made.append(("branch dropped", setting(node, "test", ast.Constant(False))))
    if isinstance(node, ast.For):
        rest = ast.Subscript(
            ast.Call(ast.Name("list", ast.Load()), [node.iter], []), ast.Slice(ast.Constant(1)), ast.Load()
        )
        made.append(("first item skipped", setting(node, "iter", rest)))
    if isinstance(node, ast.Call) and len(node.args) > 1 and _could_be_exchanged(node):
        made.append(("exchanged", setting(node, "args", [node.args[1], node.args[0], *node.args[2:]])))
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        made.append(("left out", setting(node, "__class__", ast.Pass)))
    if isinstance(node, ast.Continue):
        made.append(("left out", setting(node, "__class__", ast.Pass)))
    return made


def _could_be_exchanged(call: ast.Call) -> bool:
    """Whether the first two arguments are values of which one could be taken for the other."""
    called = ast.unparse(call.func)
    alike = all(isinstance(argument, ast.Name | ast.Attribute | ast.Subscript) for argument in call.args[:2])
    alike = alike and ast.unparse(call.args[0]) != ast.unparse(call.args[1])
    return alike and called not in ("isinstance", "getattr", "zip") and not called.startswith(("np.", "pa."))


# How kernels run: compiled as kept from other runs, by Python, or compiled anew where the bug is and is called.
Way: TypeAlias = Literal["kept", "interpreted", "compiled"]
# Of each test: how long it takes, and the lines of each file that it executes.
Learned: TypeAlias = dict[str, tuple[float, dict[str, set[int]]]]


class ExecutedLines:
    """Which tests execute which lines, learned by running them and kept in a file."""

    def __init__(self) -> None:
        self._learned: dict[Way, dict[str, tuple[str, Learned]]] = {"kept": {}, "interpreted": {}}
        sources = {str(path.relative_to(PACKAGE)): _sum(path) for path in sorted(PACKAGE.rglob("*.py"))}
        if EXECUTED.exists():
            known, learned = pickle.loads(EXECUTED.read_bytes())
            self._learned = learned if known == sources else self._learned
        ways: tuple[tuple[Way, Sequence[str]], ...] = (("kept", TESTS), ("interpreted", KERNEL_TESTS))
        for way, folders in ways:
            of_way = self._learned[way]
            files = [path for name in folders for path in _tests_at(ROOT / name)]
            sums = {str(path.relative_to(ROOT)): _sum(path) for path in files if path.name not in NOT_ASKED}
            for gone in of_way.keys() - sums.keys():
                del of_way[gone]
            changed = [name for name, digest in sums.items() if name not in of_way or of_way[name][0] != digest]
            for start in range(0, len(changed), 4):
                learned = _run_to_learn(changed[start : start + 4], way)
                for name in changed[start : start + 4]:
                    of_name = {test: what for test, what in learned.items() if test.split("::")[0] == name}
                    of_way[name] = (sums[name], of_name)
                EXECUTED.parent.mkdir(exist_ok=True)
                EXECUTED.write_bytes(pickle.dumps((sources, self._learned)))

    def tests_of(self, mutant: Mutant, way: Way, seconds: float, *, anywhere: bool = False) -> list[str]:
        """Tests that execute the lines of a bug, the quickest first.

        Those of the unit test of its file, then of each file of tests in turn the quickest. With `anywhere`, tests that
        execute anything in its file.
        """
        own_name = f"tests/unit/{Path(mutant.file).parent}/test_{Path(mutant.file).stem}.py"
        module = "holdfast." + mutant.file.removesuffix(".py").replace("/", ".")
        own: list[tuple[float, str]] = []
        by_file: list[list[tuple[float, str]]] = []
        for name, (_, learned) in self._learned["kept" if way == "kept" else "interpreted"].items():
            # What stands in a module itself is executed by the first test that imports it, and tested by any.
            imported = not mutant.lines and module in (ROOT / name).read_text("utf-8")
            of_file = [
                (duration, test)
                for test, (duration, lines) in learned.items()
                if imported
                or (
                    mutant.file in lines
                    and (anywhere or not mutant.lines or not lines[mutant.file].isdisjoint(mutant.lines))
                )
            ]
            if name == own_name:
                own = sorted(of_file)
            else:
                by_file.append(sorted(of_file, reverse=True))
        chosen: list[tuple[float, str]] = []
        left = seconds
        turns = [own]
        while any(by_file):
            turns.append(sorted(of_file.pop() for of_file in by_file if of_file))
        for duration, test in (pair for turn in turns for pair in turn):
            if duration < left:
                chosen.append((duration, test))
                left -= duration
        if not chosen:
            # All of them take longer: the quickest has to do.
            chosen = sorted(pair for turn in turns for pair in turn)[:1]
        return [test for _, test in sorted(chosen)]


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run_to_learn(files: Sequence[str], way: Way) -> Learned:
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines"
        started = time.monotonic()
        environment = {
            **_environment(ROOT, way),
            "EXECUTED_LINES": str(lines),
            "LONGEST": "12" if way == "interpreted" else "90",
            "MOST_EXAMPLES": str(EXAMPLES_TO_LEARN),
        }
        command = [sys.executable, "-m", "pytest", *_OPTIONS, "-p", "executed_lines", *files]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(600)
        process.kill()
        process.wait()
        learned: Learned = pickle.loads(lines.read_bytes()) if lines.exists() else {}
        print(
            f"learned: {len(learned)} tests of {files[0]} and {len(files) - 1} more files, kernels {way}, "
            f"{time.monotonic() - started:.0f} s",
            flush=True,
        )
        return learned


_OPTIONS = (
    *("-q", "--tb=no", "-p", "no:cacheprovider", "-p", "quick_tests", "--no-header", "--hypothesis-seed=0"),
    *("-o", "addopts=", "--strict-markers", "--import-mode=importlib", "-m", "not soak"),
)


def _environment(folder: Path, way: Way) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder / "scripts")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MOST_EXAMPLES": str(EXAMPLES),
        "NUMBA_DISABLE_JIT": "1" if way == "interpreted" else "0",
    }


class OnlyThese:
    """A plugin of pytest: only these tests run, in this order, and the first that fails is kept in a file."""

    def __init__(self, tests: Sequence[str], said: Path) -> None:
        self._places = {test: place for place, test in enumerate(tests)}
        self._said = said

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._places), key=lambda item: self._places[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self._said.exists():
            self._said.write_text(report.nodeid, "utf-8")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self._said.exists():
            self._said.write_text(f"{report.nodeid}, when it is imported", "utf-8")


@dataclass
class Copy:
    """A copy of the tree in which bugs are planted; the working tree is never touched."""

    folder: Path
    _failing: dict[Way, set[str]] = field(
        default_factory=lambda: {"kept": set(), "interpreted": set(), "compiled": set()}
    )

    @classmethod
    def of_tree(cls, folder: Path) -> Copy:
        for name in ("src", "tests", "scripts", "docs", "examples", "pyproject.toml", "README.md", "CHANGELOG.md"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)
            else:
                shutil.copy2(source, folder / name)
        for name in SHARED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        return cls(folder)

    def caught_by(self, mutant: Mutant, tests: Sequence[str], way: Way, seconds: float) -> str | None:
        """The test that fails with the bug, and not without it; None where all pass."""
        while by := self._failing_test(mutant, tests, way, seconds):
            fails_always = by in self._failing[way] or (
                by in tests and self._failing_test(None, [by], way, seconds) is not None
            )
            if not fails_always:
                return by
            self._failing[way].add(by)
            tests = [test for test in tests if test not in self._failing[way]]
        return None

    def _failing_test(self, mutant: Mutant | None, tests: Sequence[str], way: Way, seconds: float) -> str | None:
        """The test that fails; None where all pass."""
        if mutant is None:
            return self._run(tests, way, 60 + 4 * seconds, None)
        path = self.folder / "src" / "holdfast" / mutant.file
        clean, stamp = path.read_text("utf-8"), path.stat()
        touched = [path, *self._users(path)] if way == "compiled" else []
        kept = path.parent / "__pycache__"
        stamps = {user: user.stat() for user in touched}
        try:
            if way == "compiled":
                shutil.copytree(kept, self.folder / "kept")
            path.write_text(mutant.text, "utf-8")
            for user in touched:
                user.touch()  # so that numba compiles it anew, with what it calls
            limit = 60 + 4 * seconds + (400 if way == "compiled" else 0)
            return self._run(tests, way, limit, (path, (stamp.st_mtime, stamp.st_size)))
        finally:
            path.write_text(clean, "utf-8")
            stamps.setdefault(path, stamp)
            for user, was in stamps.items():
                os.utime(user, ns=(was.st_atime_ns, was.st_mtime_ns))
            if way == "compiled":
                shutil.rmtree(kept)
                (self.folder / "kept").rename(kept)

    def _users(self, path: Path) -> list[Path]:
        """Kernels that call those of the file, themselves or by others."""
        kernels = list(path.parent.glob("*.py"))
        texts = {kernel: kernel.read_text("utf-8") for kernel in kernels}
        reached = {path}
        while True:
            more = {
                kernel
                for kernel in kernels
                if kernel not in reached
                and any(f"holdfast.kernels.{user.stem} import" in texts[kernel] for user in reached)
            }
            if not more:
                return sorted(reached - {path})
            reached |= more

    def _run(
        self, tests: Sequence[str], way: Way, limit: float, changed: tuple[Path, tuple[float, int]] | None
    ) -> str | None:
        """The test that fails in a process that is forked from this one."""
        said = self.folder / "said"
        said.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._run_tests(tests, way, changed, said)
        ends = time.monotonic() + limit
        while time.monotonic() < ends:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                if said.exists():
                    return said.read_text("utf-8")
                # 5: nothing is left to run.
                return None if os.waitstatus_to_exitcode(status) in (0, 5) else "the run breaks off"
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return said.read_text("utf-8") if said.exists() else "it takes too long"

    def _run_tests(
        self, tests: Sequence[str], way: Way, changed: tuple[Path, tuple[float, int]] | None, said: Path
    ) -> None:
        """Runs the tests, and ends this process."""
        code = 1
        try:
            os.setsid()
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silent, stream)
            os.chdir(self.folder)
            os.environ.update(_environment(self.folder, way))
            sys.dont_write_bytecode = True
            sys.path[:0] = [str(self.folder / "src"), str(self.folder / "scripts")]
            import pytest
            from numba.core import caching, config

            config.DISABLE_JIT = int(way == "interpreted")
            if way == "kept" and changed is not None:
                # The bug is in what is not compiled. What is kept of kernels in the same file stays good.
                locator: Any = caching._SourceFileBackedLocatorMixin
                stamp_of = locator.get_source_stamp
                path, stamp = str(changed[0]), changed[1]
                locator.get_source_stamp = lambda self: stamp if self._py_file == path else stamp_of(self)
            files = list(dict.fromkeys(test.split("::")[0] for test in tests))
            code = pytest.main([*_OPTIONS, "-x", *files], plugins=[OnlyThese(tests, said)])
        finally:
            os._exit(int(code))


def planted(files: Sequence[str], many: int, seed: int) -> list[Mutant]:
    """So many bugs, spread over the files by chance: first the file, by its length, then one of its bugs."""
    chance = random.Random(seed)
    paths = [path for name in files for path in _files_at(PACKAGE / name)]
    paths = sorted(path for path in paths if str(path.relative_to(PACKAGE)) not in LEFT_OUT)
    lines = [len(path.read_text("utf-8").splitlines()) for path in paths]
    wanted = Counter(chance.choices(paths, lines, k=many))
    found: list[Mutant] = []
    for path in sorted(wanted):
        every = places_in(path)
        found += [mutant_at(path, *at) for at in chance.sample(every, min(wanted[path], len(every)))]
    return found


def _tests_at(path: Path) -> list[Path]:
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def _files_at(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def equivalent_mutants() -> dict[str, str]:
    """Bugs that nobody can see, by name, and why."""
    lines = EQUIVALENT.read_text("utf-8").splitlines() if EQUIVALENT.exists() else []
    return dict(line.split(" -- ") for line in lines if line and not line.startswith("#"))


def known_verdicts() -> dict[str, dict[str, str]]:
    """What the log says of each bug, by its key."""
    lines = LOG.read_text("utf-8").splitlines() if LOG.exists() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def verdict(mutant: Mutant, tree: Copy, executed: ExecutedLines, seconds: float, *, compiled: bool) -> tuple[str, str]:
    """What becomes of a bug, and by which test."""
    ways: Sequence[Way] = ("kept",)
    if mutant.file.startswith("kernels") and not executed.tests_of(mutant, "kept", seconds):
        ways = ("interpreted", "compiled") if compiled else ("interpreted",)
    asked = 0
    for way in ways:
        tests = executed.tests_of(mutant, way, seconds)
        asked += len(tests)
        if tests and (by := tree.caught_by(mutant, tests, way, seconds)):
            return "caught", by
    if asked == 0:
        # Of functions that are called very often some lines are not seen, although they are executed.
        for way in ways:
            tests = executed.tests_of(mutant, way, seconds, anywhere=True)
            if tests and (by := tree.caught_by(mutant, tests, way, seconds)):
                return "caught", by
    return ("escaped", f"{asked} tests") if asked else ("not executed", "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", nargs="+", default=list(ROOMS), help="files or folders of the package")
    parser.add_argument("--minutes", type=float, default=600.0, help="no bug is planted after that")
    parser.add_argument("--seconds", type=float, default=25.0, help="how long the tests of a bug may take in all")
    parser.add_argument("--again", action="store_true", help="try those once more that escaped or were not executed")
    parser.add_argument("--compiled", action="store_true", help="kernels also with the compiler, a minute or more each")
    parser.add_argument("--list", action="store_true", help="only list the bugs")
    options = parser.parse_args()
    mutants = planted(options.files, options.mutants, options.seed)
    random.Random(options.seed).shuffle(mutants)
    if options.list:
        print(*mutants, sep="\n")
        return 0
    ends, equivalent, known = time.monotonic() + 60 * options.minutes, equivalent_mutants(), known_verdicts()
    verdicts: dict[Mutant, str] = {}
    executed = ExecutedLines()
    with tempfile.TemporaryDirectory(prefix="holdfast-mutants-") as folder:
        tree = Copy.of_tree(Path(folder))
        for mutant in mutants:
            key = hashlib.sha256(f"{mutant.file}\n{mutant.text}".encode()).hexdigest()
            if mutant.name in equivalent:
                verdicts[mutant] = "equivalent"
                continue
            if key in known and (known[key]["verdict"] == "caught" or not options.again):
                verdicts[mutant] = known[key]["verdict"]
                continue
            if time.monotonic() > ends:
                break
            started = time.monotonic()
            word, by = verdict(mutant, tree, executed, options.seconds, compiled=options.compiled)
            verdicts[mutant] = word
            entry = {"key": key, "verdict": word, "by": by, "mutant": str(mutant), "name": mutant.name}
            LOG.parent.mkdir(exist_ok=True)
            with LOG.open("a", encoding="utf-8") as log:
                log.write(json.dumps(entry) + "\n")
            print(f"{word:12} {time.monotonic() - started:3.0f} s {mutant} ({by})", flush=True)
    print(account(verdicts, options.mutants))
    for mutant, word in verdicts.items():
        if word == "equivalent":
            print(f"equivalent: {mutant}: {equivalent[mutant.name]}")
        elif word != "caught":
            print(f"{word}: {mutant}")
    return 0


def account(verdicts: dict[Mutant, str], wanted: int) -> str:
    """How many bugs became what, in each room and in all."""
    rooms: dict[str, Counter[str]] = {}
    for mutant, word in verdicts.items():
        rooms.setdefault(mutant.file.split("/")[0], Counter())[word] += 1
    rooms["all"] = Counter(verdicts.values())
    words = ("caught", "escaped", "not executed", "equivalent")
    lines = [f"of {wanted} bugs {len(verdicts)} are judged", "| Room | planted | " + " | ".join(words) + " |"]
    for room, counted in sorted(rooms.items(), key=lambda pair: (pair[0] == "all", pair[0])):
        lines.append(f"| {room} | {counted.total()} | " + " | ".join(str(counted[word]) for word in words) + " |")
    seen = rooms["all"].total() - rooms["all"]["equivalent"]
    return "\n".join(lines) + (
        f"\ncaught of those that change something: {rooms['all']['caught'] / seen:.1%}" if seen else ""
    )


if __name__ == "__main__":
    sys.exit(main())
