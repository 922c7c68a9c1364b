"""Plants bugs in a copy of the sources, one at a time, and tells the share that tests without Spark catch.

    python scripts/mutate.py --mutants 100 --seed 1
    python scripts/mutate.py --files programs/lower.py --mutants 20

A bug is a comparison or a sign that is another one, a number that is one off, a condition that is turned round or never
met, a statement that is left out, two arguments or names that are exchanged, a loop that skips its first item. Each is
put to the tests that are about its file, the quickest first, until one fails. What escapes is listed with its line.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
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

LOCAL = "tests/oracle/test_local_check_matches_reference.py"
MONITOR = "tests/unit/monitor/test_monitor.py"
KERNELS = "tests/oracle/test_kernels_match_reference.py"
KEEPER = "tests/oracle/test_keeper_matches_reference.py"
WATCH = "tests/oracle/test_watch_tasks_match_reference.py"
FRAGMENTS = "tests/oracle/test_fragment_tasks_match_reference.py"
DISCOVERED = ("tests/unit/search", "tests/unit/discovery", "tests/golden/test_golden_evolve.py")
STATES = (
    "tests/unit/states",
    "tests/golden/test_golden_fragments.py",
    "tests/faults/test_many_small_batches.py",
    "tests/faults/test_damaged_states.py",
    "tests/cli/test_watch_command.py",
    "tests/faults/test_local_crashes.py",
)

# By the beginning of a file's path: the tests about it, the quickest and likeliest first. All of them do without Spark.
TESTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("kernels/evidence.py", ("tests/unit/kernels/test_evidence.py", *DISCOVERED, KEEPER)),
    ("kernels/hitting_sets.py", ("tests/unit/kernels/test_hitting_sets.py", *DISCOVERED, KEEPER)),
    ("kernels/nearly_hitting_sets.py", ("tests/unit/kernels/test_nearly_hitting_sets.py", *DISCOVERED)),
    ("kernels/extended_sets.py", ("tests/unit/kernels/test_extended_sets.py", "tests/unit/evolving", KEEPER)),
    ("kernels/dual_tree.py", ("tests/unit/kernels/test_dual_tree.py", *DISCOVERED)),
    ("kernels/support.py", ("tests/unit/kernels/test_support.py", *DISCOVERED)),
    ("kernels/chains.py", ("tests/unit/evolving", KEEPER)),
    ("kernels/partitions.py", ("tests/unit/kernels", *DISCOVERED, "tests/cli/test_discover_dirty_command.py")),
    ("kernels/contradiction.py", ("tests/unit/kernels/test_contradiction.py", *DISCOVERED)),
    ("kernels/cover.py", ("tests/unit/kernels/test_cover.py", LOCAL)),
    ("kernels/xxhash64.py", ("tests/unit/encode/test_spark_hash.py", "tests/unit/states", FRAGMENTS)),
    ("kernels/key_table.py", (MONITOR, "tests/unit/live_rows", "tests/oracle/test_monitor_matches_reference.py")),
    (
        "kernels/slot_search.py",
        ("tests/unit/kernels/test_hitting_sets.py", "tests/unit/kernels/test_nearly_hitting_sets.py", *DISCOVERED),
    ),
    ("kernels", ("tests/unit/kernels", KERNELS, LOCAL, MONITOR, *DISCOVERED)),
    (
        "programs/condition.py",
        ("tests/unit/programs", LOCAL, "tests/unit/fragments", MONITOR),
    ),
    ("exchange", ("tests/unit/exchange", "tests/cli/test_exchange_commands.py")),
    ("programs/export_sql.py", ("tests/oracle/test_sql_matches_reference.py", "tests/cli/test_sql_command.py")),
    ("programs/sql", ("tests/unit/programs", "tests/unit/checking", "tests/oracle/test_sql_matches_reference.py")),
    ("programs/function_sql.py", ("tests/unit/programs", "tests/unit/checking")),
    (
        "programs",
        ("tests/unit/programs", LOCAL, MONITOR, WATCH, "tests/unit/checking", "tests/cli/test_check_command.py"),
    ),
    (
        "checking",
        (
            "tests/unit/checking",
            LOCAL,
            "tests/cli/test_check_command.py",
            "tests/cli/test_baseline_metrics_redact.py",
            "tests/cli/test_report.py",
        ),
    ),
    ("fragments", ("tests/unit/fragments", "tests/golden/test_golden_fragments.py", FRAGMENTS)),
    ("states", (*STATES, WATCH, FRAGMENTS)),
    ("violations/witness.py", (LOCAL, "tests/cli/test_baseline_metrics_redact.py")),
    ("violations", ("tests/unit/violations", KERNELS, LOCAL, WATCH)),
    ("watching", (WATCH, "tests/cli/test_watch_command.py")),
)
# Not planted in: what only runs on a graphics card, and what says how long something takes or how it is shown.
LEFT_OUT = ("kernels/gpu_evidence.py", "kernels/__main__.py", "kernels/__init__.py", "checking/plan_text.py")
ROOMS = ("kernels", "programs", "states", "checking", "violations", "fragments/shipment_plan.py")
EXAMPLES = 60

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
    """A bug: the file, its line, what was there and what is there now, and the whole file with it."""

    file: str
    line: int
    kind: str
    was: str
    now: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: `{self.was}` is `{self.now}`"


def places_in(path: Path) -> list[tuple[int, int]]:
    """Where bugs can be planted in the file: which node of its tree, and which of the changes to it."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = _not_run(tree)
    kept = [(i, node) for i, node in enumerate(ast.walk(tree)) if id(node) not in skipped]
    return [(i, number) for i, node in kept for number in range(len(_changes(node)))]


def mutant_at(path: Path, place: int, number: int) -> Mutant:
    """The bug at such a place."""
    tree = ast.parse(path.read_text("utf-8"))
    node: Any = next(node for i, node in enumerate(ast.walk(tree)) if i == place)
    was, line = ast.unparse(node).splitlines()[0], getattr(node, "lineno", 0)
    kind, change = _changes(node)[number]
    change()
    text = ast.unparse(ast.fix_missing_locations(tree))
    return Mutant(str(path.relative_to(PACKAGE)), line, kind, was, ast.unparse(node).splitlines()[0], text)


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
    return alike and called not in ("isinstance", "getattr", "zip") and not called.startswith(("np.", "pa."))


# How kernels run: by Python, compiled as kept from other runs, or compiled from nothing.
Way: TypeAlias = Literal["interpreted", "kept", "compiled anew"]


@dataclass
class Copy:
    """A copy of the tree in which bugs are planted; the working tree is never touched.

    Kernels run without their compiler first when a bug is in them: compiling takes longer than the tests. What fails
    without a bug, in that way of running, is left out; what escapes so is put to the same tests once more, with kernels
    compiled anew, since what is kept of other files would not notice the bug.
    """

    folder: Path
    failing: dict[tuple[str, Way], list[str]] = field(default_factory=dict)
    seconds: dict[tuple[str, Way], float] = field(default_factory=dict)

    @classmethod
    def of_tree(cls, folder: Path) -> Copy:
        for name in ("src", "tests", "scripts", "docs", "examples", "pyproject.toml", "README.md", "CHANGELOG.md"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)
            else:
                shutil.copy2(source, folder / name)
        return cls(folder)

    def caught_by(self, mutant: Mutant) -> str | None:
        """The tests that fail with the bug; None where all pass."""
        ways: tuple[Way, ...] = ("interpreted", "compiled anew") if mutant.file.startswith("kernels") else ("kept",)
        path = self.folder / "src" / "holdfast" / mutant.file
        clean = path.read_text("utf-8")
        stamp = path.stat()
        for way in ways:
            for tests in tests_of(mutant.file):
                self._learn(tests, way)
                try:
                    path.write_text(mutant.text, "utf-8")
                    if self._run(tests, way, 60 + 4 * self.seconds[tests, way]):
                        return tests
                finally:
                    path.write_text(clean, "utf-8")
                    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # what is compiled of it stays good
        return None

    def _learn(self, tests: str, way: Way) -> None:
        """What fails without any bug, and how long the tests take."""
        if (tests, way) in self.failing:
            return
        self.failing[tests, way] = []
        started = time.monotonic()
        said = self._run(tests, way, 900, stop=False)
        self.failing[tests, way] = [
            line.split()[1] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))
        ]
        self.seconds[tests, way] = time.monotonic() - started
        left_out = len(self.failing[tests, way])
        print(f"  {tests}, kernels {way}: {self.seconds[tests, way]:.0f} s, {left_out} left out", flush=True)

    def _run(self, tests: str, way: Way, limit: float, *, stop: bool = True) -> str:
        """What pytest says where tests fail, and nothing where all pass."""
        left_out = [f"--deselect={test}" for test in self.failing[tests, way]]
        paths = [str(self.folder / "src"), str(self.folder / "scripts")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MOST_EXAMPLES": str(EXAMPLES),
            "NUMBA_DISABLE_JIT": "1" if way == "interpreted" else "0",
        }
        fresh = self.folder / "compiled"
        shutil.rmtree(fresh, ignore_errors=True)
        if way == "compiled anew":
            environment["NUMBA_CACHE_DIR"] = str(fresh)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rfE",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            "-p",
            "quick_tests",
        ]
        command += ["--no-header", "--hypothesis-seed=0", *(["-x"] if stop else []), *left_out, tests]
        try:
            ran = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return "it takes too long"
        # 5: nothing is left to run.
        return "" if ran.returncode in (0, 5) else ran.stdout or ran.stderr


def tests_of(file: str) -> tuple[str, ...]:
    """The tests about a file of the package, the quickest first."""
    return next(tests for start, tests in TESTS if file.startswith(start))


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


def _files_at(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", nargs="+", default=list(ROOMS), help="files or folders of the package")
    parser.add_argument("--minutes", type=float, default=600.0, help="no bug is planted after that")
    parser.add_argument("--list", action="store_true", help="only list the bugs")
    options = parser.parse_args()
    mutants = planted(options.files, options.mutants, options.seed)
    random.Random(options.seed).shuffle(mutants)
    if options.list:
        print(*mutants, sep="\n")
        return 0
    ends, survivors, tried = time.monotonic() + 60 * options.minutes, list[Mutant](), Counter[str]()
    caught: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="holdfast-mutants-") as folder:
        tree = Copy.of_tree(Path(folder))
        for mutant in mutants:
            if time.monotonic() > ends:
                break
            room = mutant.file.split("/")[0]
            by = tree.caught_by(mutant)
            tried[room] += 1
            caught[room] += by is not None
            survivors += [mutant] if by is None else []
            print(f"{'ESCAPED' if by is None else 'caught '} {mutant}" + (f" ({by})" if by else ""), flush=True)
    for room in sorted(tried):
        print(f"{room}: {caught[room]} of {tried[room]} caught, {caught[room] / tried[room]:.0%}")
    print(
        f"all: {caught.total()} of {tried.total()} caught"
        + (f", {caught.total() / tried.total():.1%}" if tried else "")
    )
    print(*(f"escaped: {mutant}" for mutant in survivors), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
