"""The law of the rooms: which part of Holdfast may import which. Exits 1, naming file and line, where broken.

A room imports only itself and rooms above it; an import for types alone counts, and so does one inside a
function. `ROOMS` is the order, `_reason_against` has what goes beyond it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "holdfast"

ROOMS = (
    "errors",
    "presented",
    "rules",
    "reference",
    "kernels",
    "encode",
    "programs",
    "tables",
    "states",
    "violations",
    "live_rows",
    "search",
    "linting",
    "checking",
    "discovery",
    "explaining",
    "watching",
    "evolving",
    "fragments",
    "monitor",
    "exchange",
    "engines",
    "report",
    "api",
    "serving",
    "demo",
    "cli",
    "__main__",
    "__init__",
)

# A job has a room of its own, and no job imports the room of another.
JOBS = frozenset({"linting", "checking", "discovery", "explaining", "watching", "evolving", "fragments", "monitor"})
SPARK_LIBRARIES = frozenset({"pyspark", "py4j"})
SPARK_FOLDER = ("engines", "spark")
KERNEL_LIBRARIES = frozenset({"cupy", "numba", "numpy"})


def broken_imports(package: Path) -> list[str]:
    """One `file:line: what and why` for each import that breaks the law, in file and line order."""
    found = []
    for file in sorted(package.rglob("*.py")):
        room = _room_of_file(file.relative_to(package))
        tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
        if room not in ROOMS:
            found.append(f"{file}:1: '{room}' is not a room. Rooms: {', '.join(ROOMS)}.")
            continue
        for line, module in sorted(set(_imports(tree, _module_path(file.relative_to(package))))):
            in_spark = file.relative_to(package).parts[:2] == SPARK_FOLDER
            reason = _reason_against(room, module, in_spark=in_spark)
            if reason is not None:
                found.append(f"{file}:{line}: {room} imports {module}: {reason}.")
    return found


def _room_of_file(path: Path) -> str:
    return path.parts[0] if len(path.parts) > 1 else path.stem


def _module_path(path: Path) -> tuple[str, ...]:
    """The package that relative imports in `path` start from."""
    return (PACKAGE, *path.parts[:-1])


def _imports(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of each import, also of `importlib.import_module("…")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *(node.module.split(".") if node.module else ())))
            if module == PACKAGE:
                # `from holdfast import rules` means the room; any other name is one of the package itself.
                for alias in node.names:
                    yield node.lineno, f"{PACKAGE}.{alias.name}" if alias.name in ROOMS else PACKAGE
            else:
                yield node.lineno, module
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            value = node.args[0].value
            if name in ("import_module", "__import__") and isinstance(value, str):
                yield node.lineno, value


def _reason_against(room: str, module: str, *, in_spark: bool = False) -> str | None:
    """Why `room` must not import `module`; None when it may."""
    top, _, rest = module.partition(".")
    if top != PACKAGE:
        if top in SPARK_LIBRARIES and not in_spark:
            return "only engines/spark imports Spark"
        if room == "kernels" and top not in KERNEL_LIBRARIES and top not in sys.stdlib_module_names:
            return "kernels know numpy and its compiler only"
        return None
    target = rest.partition(".")[0] or "__init__"
    if target == room or room == "__init__":
        return "only tests and docs import reference" if target == "reference" != room else None
    if target not in ROOMS:
        return "there is no such room"
    if target == "reference":
        return "only tests and docs import reference"
    if room == "kernels":
        return "kernels import nothing of ours"
    if room == "reference" and target not in ("rules", "errors"):
        return "reference imports rules only"
    if room in JOBS and target in JOBS:
        return "no job imports the room of another: what they share has a room of its own"
    if room in ("report", "cli", "demo") and module.startswith(f"{PACKAGE}.engines.spark"):
        return f"{room} knows no engine"
    if ROOMS.index(target) > ROOMS.index(room):
        return f"{target} is below {room}"
    return None


def main(arguments: list[str]) -> int:
    packages = [Path(argument) for argument in arguments]
    if not packages:
        packages = [Path(__file__).resolve().parent.parent / "src" / PACKAGE]
    missing = [str(package) for package in packages if not package.is_dir()]
    if missing:
        print(f"no such folder: {', '.join(missing)}", file=sys.stderr)
        return 2
    broken = [line for package in packages for line in broken_imports(package)]
    for line in broken:
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
