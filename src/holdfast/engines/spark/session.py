"""The Spark session: that of the caller where there is one, else a new one that starts quickly and logs little."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shlex
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any, NoReturn, cast
from urllib.parse import urlsplit

import pyspark
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from holdfast.engines.physical_memory import physical_memory
from holdfast.engines.spark.class_archive import class_archive_options, forget_class_archive
from holdfast.engines.spark.java import Java, find_java, newest_java, spark_java_home
from holdfast.engines.spark.java_bridge import Py4JError, Py4JJavaError, active_context, require_bridge
from holdfast.engines.spark.query_log import quiet_query_log
from holdfast.errors import OptionError, SessionError

LOG_FILE = Path(__file__).with_name("log4j2.properties")

_GIGABYTE = 1 << 30

# Java's second compiler makes long runs quicker, and costs a short one more than it brings.
_QUICK_START = "-XX:TieredStopAtLevel=1"
# On small tables, compiling a plan, and planning anew after each stage, take longer than running it.
_BRIEF_DEFAULTS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
}

_starting = threading.Lock()


def get_session(
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    app_name: str = "holdfast",
    brief: bool = False,
) -> SparkSession:
    """Returns the running session of the caller, classic or Connect; starts one only where none runs.

    `master` and `conf` are the user's settings. In a running session, settings that can change are changed; others
    must have these values already, or OptionError is raised. A new session has `local_defaults` for what is not set;
    a `brief` one does one job on a small table, so that on this machine nothing is compiled for a long run.
    `master` may also be a Spark Connect address, `sc://…`.
    """
    wanted = dict(conf or {})
    with _starting:
        running = running_session()
        if running is not None:
            _apply(running, master, wanted)
            return running
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            return _start_submitted(master, wanted)
        plan = plan_launch(os.environ, master=master, conf=wanted, app_name=app_name, brief=brief)
        return _connect(plan) if plan.remote is not None else _start(plan)


def running_session() -> SparkSession | None:
    """Returns the active session of this thread, else the default session of the process; None where none runs."""
    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None:
        # Only where Connect is imported already: the import is slow and needs extra packages.
        session = connect.SparkSession.getActiveSession() or connect.SparkSession._get_default_session()
        if session is not None:
            return cast(SparkSession, session)
    if active_context() is None:
        return None
    # A thread that has not used Spark yet has no active session, though the process has one.
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def has_own_java() -> bool:
    """Whether this process has started a Java for Spark."""
    from pyspark import SparkContext

    return SparkContext._gateway is not None


def is_connect(session: SparkSession) -> bool:
    """Whether `session` uses a Spark Connect server, and so has no JVM of its own."""
    return type(session).__module__.startswith("pyspark.sql.connect")


@dataclass(frozen=True)
class Launch:
    """How to start a session: settings and environment variables in addition to the user's own.

    `remote` is a Connect address, or a local master for a new Connect server; None for a classic session.
    """

    master: str
    conf: Mapping[str, str]
    env: Mapping[str, str]
    remote: str | None = None


def plan_launch(
    env: Mapping[str, str],
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    app_name: str = "holdfast",
    brief: bool = False,
    spark_home: Path | None = None,
) -> Launch:
    """Returns how to start a session with the user's settings, and defaults for what is not set.

    Settings come from, in this order: `master` and `conf`, PYSPARK_SUBMIT_ARGS, spark-defaults.conf, environment
    variables (also those of spark-env.sh). Reads those files and changes nothing.
    """
    wanted = dict(conf or {})
    home = spark_home or Path(env.get("SPARK_HOME") or _find_spark_home())
    conf_folder = Path(env.get("SPARK_CONF_DIR") or home / "conf")
    submitted, properties_file = _submit_arguments(env.get("PYSPARK_SUBMIT_ARGS", ""))
    configured = {
        **_properties(properties_file or conf_folder / "spark-defaults.conf"),
        **submitted,
        **wanted,
    }
    variables = {**env, **dict.fromkeys(_exported(conf_folder / "spark-env.sh"), "")}

    place, by_connect = _place(
        {"spark.master": master or ""},
        wanted,
        {"spark.remote": env.get("SPARK_REMOTE", "")},
        configured,
        {"spark.master": env.get("MASTER", "")},
    )
    api_mode = configured.get("spark.api.mode", env.get("SPARK_API_MODE", "classic"))
    remote = place if by_connect or place.startswith("sc://") or api_mode.lower() == "connect" else None
    for decided in ("spark.master", "spark.remote", "spark.api.mode"):
        wanted.pop(decided, None)
    if place.startswith("sc://"):
        return Launch(place, wanted, {}, remote=place)

    defaults = {
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if place.startswith("local"):
        defaults |= local_defaults(configured, variables) | (_BRIEF_DEFAULTS if brief else {})
    chosen = {key: value for key, value in defaults.items() if key not in configured} | wanted
    # Always set: a second session in the same JVM does not read the files of the user.
    chosen["spark.app.name"] = configured.get("spark.app.name", app_name)
    if remote is None:
        chosen["spark.master"] = place

    changes = {"SPARK_HOME": str(home)}
    python = configured.get("spark.pyspark.python") or sys.executable
    if "PYSPARK_PYTHON" not in variables and python:
        changes["PYSPARK_PYTHON"] = python
    if place.startswith("local") and "spark.driver.host" in defaults:
        changes["SPARK_LOCAL_IP"] = "127.0.0.1"
    java_options = [_QUICK_START] if brief and place.startswith("local") else []
    if not any(conf_folder.glob("log4j2.*")):
        java_options.append(f'"-Dlog4j2.configurationFile={LOG_FILE}"')
    if java_options:
        # Not in spark.driver.extraJavaOptions, which is for the user. Java takes the last of several settings, so
        # those of the user, which come after these, win.
        changes["SPARK_SUBMIT_OPTS"] = " ".join([*java_options, env.get("SPARK_SUBMIT_OPTS", "")]).rstrip()
    if "SPARK_LAUNCHER_OPTS" not in variables:
        # The program that puts together the command line of Spark's Java is a Java of its own, which ends at once.
        changes["SPARK_LAUNCHER_OPTS"] = _QUICK_START
    return Launch(place, chosen, changes, remote=remote)


def _place(*sources: Mapping[str, str]) -> tuple[str, bool]:
    """Returns the first address in the sources, and whether it is one for Spark Connect."""
    for settings in sources:
        for key in ("spark.remote", "spark.master"):
            if settings.get(key):
                return settings[key], key == "spark.remote"
    return "local[*]", False


def local_defaults(configured: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """Returns settings for Spark on this machine alone: no UI, few partitions, loopback only, half of the memory."""
    cores = os.cpu_count() or 2
    defaults = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(min(max(cores, 2), 16)),
        "spark.sql.adaptive.enabled": "true",
    }
    network = ("SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME", "SPARK_PUBLIC_DNS")
    if not any(name in variables for name in network) and not any(
        key in configured for key in ("spark.driver.host", "spark.driver.bindAddress")
    ):
        # Some machines cannot resolve their own host name; Spark then fails to fetch blocks.
        defaults |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if "SPARK_DRIVER_MEMORY" not in variables:
        defaults["spark.driver.memory"] = f"{driver_memory_gigabytes(physical_memory())}g"
    if configured.get("spark.sql.catalogImplementation") != "hive":
        # Spark creates it only when a table is saved; without a metastore nobody could find that table later.
        folder = f"holdfast-warehouse-{secrets.token_hex(6)}"
        defaults["spark.sql.warehouse.dir"] = str(Path(tempfile.gettempdir(), folder))
    return defaults


def driver_memory_gigabytes(memory: int) -> int:
    """Returns half of `memory` bytes in whole gigabytes, at least 1 and at most 8.

    >>> [driver_memory_gigabytes(gb << 30) for gb in (1, 7, 64)]
    [1, 3, 8]
    """
    return min(max(memory // 2 // _GIGABYTE, 1), 8)


_SUBMIT_OPTIONS = {
    "--master": "spark.master",
    "--remote": "spark.remote",
    "--name": "spark.app.name",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
}


def _submit_arguments(text: str) -> tuple[dict[str, str], Path | None]:
    """Returns the settings in the text of PYSPARK_SUBMIT_ARGS, and the properties file it names."""
    try:
        words = iter(shlex.split(text))
    except ValueError as error:
        raise SessionError(f"PYSPARK_SUBMIT_ARGS cannot be read: {error}. It is: {text}") from error
    settings: dict[str, str] = {}
    properties_file = None
    for word in words:
        option, equals, value = word.partition("=")
        if option not in _SUBMIT_OPTIONS and option not in ("--conf", "-c", "--properties-file"):
            continue
        if not equals:
            value = next(words, "")
        if option == "--properties-file":
            properties_file = Path(value)
        elif option in _SUBMIT_OPTIONS:
            settings[_SUBMIT_OPTIONS[option]] = value
        else:
            key, _, setting = value.partition("=")
            settings[key] = setting
    return settings, properties_file


def _properties(file: Path) -> dict[str, str]:
    """Returns the settings in a file such as spark-defaults.conf; none where there is no file."""
    lines = _text_of(file).splitlines()
    pairs = (re.match(r"\s*([^\s#!=:][^\s=:]*)\s*[=:\s]\s*(.*?)\s*$", line) for line in lines)
    return {pair[1]: pair[2] for pair in pairs if pair is not None}


def _exported(file: Path) -> list[str]:
    """Returns the names of the variables that a shell script sets."""
    return re.findall(r"^\s*(?:export\s+)?([A-Z_]+)=", _text_of(file), re.MULTILINE)


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _apply(session: SparkSession, master: str | None, conf: Mapping[str, str]) -> None:
    """Sets `conf` in a running session: all of it, or nothing and OptionError."""
    if master is not None and not _runs_on(session, master):
        raise OptionError(
            f"master '{master}' was asked for, but a Spark session is already running"
            + ("." if is_connect(session) else f" on '{session.sparkContext.master}'."),
            hint="leave master out to use the running session, or stop that session first.",
        )
    changes = {key: value for key, value in conf.items() if session.conf.get(key, None) != value}
    for key in changes:
        if not session.conf.isModifiable(key):
            raise OptionError(
                f"'{key}' was asked to be '{changes[key]}', but a Spark session is already running, with "
                f"{session.conf.get(key, None) or 'no value'}, and this setting cannot change while it runs.",
                hint="set it where that session is created, or stop that session first.",
            )
    before = {key: session.conf.get(key, None) for key in changes}
    try:
        for key, value in changes.items():
            session.conf.set(key, value)
    except PySparkException as error:
        for key, old in before.items():
            session.conf.unset(key) if old is None else session.conf.set(key, old)
        raise OptionError(f"Spark does not accept a setting: {_reason(error)}") from error


def _runs_on(session: SparkSession, master: str) -> bool:
    if not is_connect(session):
        return session.sparkContext.master == master
    host = re.match(r"sc://([^:/;]+)", master)
    return host is not None and host[1] == getattr(session.client, "host", None)


def _start_submitted(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """Returns a session under spark-submit, which has set everything but `master` and `conf`."""
    builder = SparkSession.builder.config(map=dict(conf))
    try:
        session = (builder.master(master) if master is not None else builder).getOrCreate()
        _check_settings(session)
    except (PySparkException, Py4JError) as error:
        raise _not_started(error, master or "spark-submit") from error
    return session


def _check_settings(session: SparkSession) -> None:
    """Makes Spark SQL read its settings now instead of at the first query; stops the session if one is wrong."""
    try:
        session.conf.get("spark.sql.shuffle.partitions")
    except PySparkException:
        session.stop()
        raise


def _connect(plan: Launch) -> SparkSession:
    """Returns a Spark Connect session; starts a server where `plan` has a local master."""
    remote = plan.remote
    assert remote is not None, "only called for a plan with a Connect address"
    try:
        import pyspark.sql.connect.session  # noqa: F401  its extras may be missing
    except (ImportError, PySparkException) as error:
        raise SessionError(
            f"Spark Connect at '{remote}' needs Python packages that are not installed: {_reason(error)}",
            hint="run `pip install 'holdfast[connect]'`.",
        ) from error
    if remote.startswith("sc://"):
        _check_reachable(remote)
    output = _JvmOutput()
    try:
        with _environment(plan.env, without=("SPARK_REMOTE",)), warnings.catch_warnings():
            builder = SparkSession.builder.remote(remote)
            if not remote.startswith("sc://"):
                _launch_jvm(plan, output)
                # The server starts with these settings. The client sets them again, and warns of each one that cannot
                # change in a running server.
                warnings.simplefilter("ignore", UserWarning)
                builder = builder.config(map=dict(plan.conf))
            session = builder.getOrCreate()
            # Connects now: a wrong address should fail here, not in the middle of a job.
            _ = session.version
    except (PySparkException, Py4JError, OSError) as error:
        raise _not_started(error, remote, output.first_error()) from error
    output.let_through()
    quiet_query_log()
    if remote.startswith("sc://"):
        _apply(session, None, plan.conf)
    return session


def _check_reachable(remote: str) -> None:
    """Raises SessionError where no server listens at `remote`; the Connect client would try for ten minutes."""
    if any(os.environ.get(name) for name in ("grpc_proxy", "https_proxy", "http_proxy")):
        return
    address = urlsplit(remote.replace(";", "?", 1))
    try:
        socket.create_connection((address.hostname or "", address.port or 15002), timeout=10).close()
    except (OSError, ValueError) as error:
        raise SessionError(
            f"no Spark Connect server answers at '{remote}': {error}.",
            hint="an address looks like sc://host:15002; check that the server runs and can be reached.",
        ) from error


def _start(plan: Launch) -> SparkSession:
    """Returns a classic session in a new JVM."""
    require_bridge()
    from pyspark import SparkContext

    output = _JvmOutput()
    try:
        with _environment(plan.env, without=("SPARK_REMOTE", "SPARK_API_MODE")):
            if pyspark.__version__.startswith("4.0."):
                _leave_no_artifacts(Path("artifacts").absolute())
            SparkContext(conf=_launch_jvm(plan, output))
            _raise_interrupts()
            session = SparkSession.builder.getOrCreate()
            _check_settings(session)
    except (PySparkException, Py4JError, OSError) as error:
        raise _not_started(error, plan.master, output.first_error()) from error
    output.let_through()
    quiet_query_log()
    return session


def _leave_no_artifacts(folder: Path) -> None:
    """Removes, when the process ends, the empty folders that Spark 4.0 makes in the working directory."""
    before = set(folder.parent.glob("artifacts")) | set(folder.glob("*"))

    def remove() -> None:
        for entry in (*folder.glob("spark-*"), folder):
            if entry not in before:
                with suppress(OSError):  # it is not empty, and so somebody's
                    entry.rmdir()

    atexit.register(remove)


def _raise_interrupts() -> None:
    """Makes Ctrl-C an interrupt also where jobs cannot be cancelled: PySpark before 4.1 raises that failure alone."""
    cancel = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(cancel):
        return

    def interrupt(signum: int, frame: FrameType | None) -> NoReturn:
        with suppress(Exception):
            cancel(signum, frame)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


def _launch_jvm(plan: Launch, output: _JvmOutput) -> SparkConf:
    """Returns the settings of `plan` for Spark; starts a JVM with them unless one still runs."""
    require_bridge()
    from pyspark import SparkContext

    conf = SparkConf(loadDefaults=False)
    for key, value in plan.conf.items():
        conf.set(key, value)
    if SparkContext._gateway is None:
        java = find_java(os.environ, newest=newest_java())
        try:
            gateway = _launch_gateway(conf, java, output)
        except (PySparkException, Py4JError, OSError):
            if not forget_class_archive(java, os.environ):
                raise
            output.kept.clear()
            gateway = _launch_gateway(conf, java, output)
        SparkContext._ensure_initialized(gateway=gateway)
    return conf


def _launch_gateway(conf: SparkConf, java: Java, output: _JvmOutput) -> Any:
    """Returns the way to a new JVM, started by the launcher of Spark."""
    from pyspark.java_gateway import launch_gateway

    options = f"{class_archive_options(java, os.environ)} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".strip()
    changes = {"JAVA_HOME": str(spark_java_home(java, os.environ)), "SPARK_SUBMIT_OPTS": options}
    with _environment(changes), output.pipe() as end:
        return launch_gateway(conf, popen_kwargs={"stdout": end, "stderr": end})  # type: ignore[no-untyped-call]


def _not_started(error: BaseException, master: str, java_error: str = "") -> SessionError:
    # Where Java did not start, PySpark does not know why; the output of Java says it.
    reason = _reason(error) if isinstance(error, Py4JError) or not java_error else java_error
    if master.startswith("spark://") and "stopped SparkContext" in reason:
        reason = "no Spark master answers there."
    return SessionError(
        f"Spark did not start on '{master}': {reason}",
        hint="check the master and the settings given, spark-defaults.conf and PYSPARK_SUBMIT_ARGS.",
    )


def _reason(error: BaseException) -> str:
    """Returns the message of the innermost cause of a Java or Python error, on one line."""
    # Spark 3.5 says what a cause is in an error of its own.
    while isinstance(inner := getattr(error, "_cause", None) or getattr(error, "cause", None), PySparkException):
        error = inner
    text = f"{error}\n{getattr(error, '_stackTrace', None) or ''}"
    if isinstance(error, Py4JJavaError):
        text = f"{error.java_exception.toString()}\n{text}"
    causes = re.findall(r"^Caused by: (.+)$", text, re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _without_class(causes[-1] if causes else lines[0] if lines else type(error).__name__)


def _without_class(line: str) -> str:
    """Returns `line` without the Java class of Spark before its message; other classes keep their short name.

    >>> _without_class("org.apache.spark.SparkException: Master must be yarn or local")
    'Master must be yarn or local'
    >>> _without_class("java.lang.ClassNotFoundException: Foo")
    'ClassNotFoundException: Foo'
    """
    line = re.sub(r'^Exception in thread "[^"]*" ', "", line)
    line = re.sub(r"^(?:[\w$]+\.)*Spark\w*Exception: ", "", line)
    return re.sub(r"^(?:[a-z_][\w$]*\.)+(?=[A-Z][\w$]*(?:Exception|Error))", "", line)


@contextmanager
def _environment(changes: Mapping[str, str], *, without: tuple[str, ...] = ()) -> Iterator[None]:
    """Changes os.environ within the block: sets `changes`, removes the names in `without`.

    The JVM inherits the variables; programs that the caller starts later must not see a JAVA_HOME meant for Spark.
    """
    names = (*changes, *without)
    before = {name: os.environ.get(name) for name in names}
    for name in without:
        os.environ.pop(name, None)
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_ERROR_WORDS = re.compile(r"error|invalid|exception|unrecognized|not set|no such|cannot", re.IGNORECASE)
_FOLLOW_UP = re.compile(r"at |Error: Could not create the Java|Error: A fatal exception|Error occurred during init")


@dataclass
class _JvmOutput:
    """The output of the JVM: kept while it starts, to explain a failure; printed on standard error afterwards.

    So is its standard output: a line of a JVM or a library must not get among the results of a command.
    """

    kept: deque[str] = field(default_factory=lambda: deque(maxlen=200))
    lock: threading.Lock = field(default_factory=threading.Lock)
    open: bool = False
    reader: threading.Thread | None = None

    @contextmanager
    def pipe(self) -> Iterator[int]:
        """Yields the write end of a pipe for the process, and closes it when the process has its own copy."""
        read_end, write_end = os.pipe()
        self.reader = threading.Thread(
            target=self._read, args=(os.fdopen(read_end, "r", errors="replace"),), daemon=True
        )
        self.reader.start()
        try:
            yield write_end
        finally:
            os.close(write_end)

    def first_error(self) -> str:
        """Returns the line that most likely says why the JVM did not start; empty where it printed nothing."""
        if self.reader is not None:
            self.reader.join(timeout=0.5)
        with self.lock:
            lines = [line.strip() for line in self.kept if not _is_noise(line)]
        errors = [line for line in lines if _ERROR_WORDS.search(line) and not _FOLLOW_UP.match(line)]
        return _without_class((errors or [line for line in lines if not _FOLLOW_UP.match(line)] or [""])[0])

    def let_through(self) -> None:
        with self.lock:
            self.open = True
            for line in self.kept:
                self._print(line)
            self.kept.clear()

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with self.lock:
                    if self.open:
                        self._print(line)
                    else:
                        self.kept.append(line)

    @staticmethod
    def _print(line: str) -> None:
        if not _is_noise(line) and sys.stderr is not None:
            sys.stderr.write(line)
            sys.stderr.flush()


def _is_noise(line: str) -> bool:
    """Whether the line is blank or a warning of Java about options of Spark, which a user cannot change."""
    return not line.strip() or line.startswith(("WARNING: Using incubator modules", "WARNING: package sun.security."))
