"""The Spark session: the caller's where there is one, else a new one, quick and quiet on one machine."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import socket
import sys
import tempfile
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from holdfast.engines.spark.class_archive import class_archive_options
from holdfast.engines.spark.java import find_java, newest_java, spark_java_home
from holdfast.engines.spark.query_log import quiet_query_log
from holdfast.errors import OptionError, SessionError

LOG_FILE = Path(__file__).with_name("log4j2.properties")

_GIGABYTE = 1 << 30

_starting = threading.Lock()


def get_session(
    *, master: str | None = None, conf: Mapping[str, str] | None = None, app_name: str = "holdfast"
) -> SparkSession:
    """The caller's running session, classic or Connect; a new one only where none runs.

    `master` and `conf` are what the user asked for. On a running session, settings that can still change
    are changed and others must already be so: OptionError names the one that is not. A new session has
    `local_defaults` for whatever nobody has set. `master` may also be a Spark Connect address, `sc://…`.
    """
    wanted = dict(conf or {})
    with _starting:
        running = running_session()
        if running is not None:
            _apply(running, master, wanted)
            return running
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            return _start_submitted(master, wanted)
        plan = plan_launch(os.environ, master=master, conf=wanted, app_name=app_name)
        return _connect(plan) if plan.remote is not None else _start(plan)


def running_session() -> SparkSession | None:
    """The session that a caller in this process would mean: the thread's active one, else the default one."""
    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None:
        # Looked up only where Connect was imported already: its import is slow and needs extras.
        session = connect.SparkSession.getActiveSession() or connect.SparkSession._get_default_session()
        if session is not None:
            return cast(SparkSession, session)
    if SparkContext._active_spark_context is None:
        return None
    # In a thread that Spark has not met there is no active session, though the process has one.
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def is_connect(session: SparkSession) -> bool:
    """Whether `session` talks to a Spark Connect server; it then has no JVM of its own."""
    return type(session).__module__.startswith("pyspark.sql.connect")


@dataclass(frozen=True)
class Launch:
    """How a session will be started: settings and environment variables beyond those the user has.

    `remote` is a Connect address, or a local master that a Connect server is to run on; else None.
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
    spark_home: Path | None = None,
) -> Launch:
    """What starts a session as the user wants it, with defaults only where nothing is set.

    The user's are, first wins: `master` and `conf`, PYSPARK_SUBMIT_ARGS, spark-defaults.conf, environment
    variables (also those of spark-env.sh). Pure but for reading those files.
    """
    wanted = dict(conf or {})
    home = _spark_home(env) if spark_home is None else spark_home
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
        defaults |= local_defaults(configured, variables)
    chosen = {key: value for key, value in defaults.items() if key not in configured} | wanted
    # Said in any case: a second session in one JVM would not find it in the user's files.
    chosen["spark.app.name"] = configured.get("spark.app.name", app_name)
    if remote is None:
        chosen["spark.master"] = place

    changes = {"SPARK_HOME": str(home)}
    python = configured.get("spark.pyspark.python") or sys.executable
    if "PYSPARK_PYTHON" not in variables and python:
        changes["PYSPARK_PYTHON"] = python
    if place.startswith("local") and "spark.driver.host" in defaults:
        changes["SPARK_LOCAL_IP"] = "127.0.0.1"
    if not any(conf_folder.glob("log4j2.*")):
        # Not spark.driver.extraJavaOptions: that is the user's own, and stays so. Java takes the later of
        # two settings, and those of SPARK_SUBMIT_OPTS and of the user come after ours.
        quiet = f'"-Dlog4j2.configurationFile={LOG_FILE}"'
        changes["SPARK_SUBMIT_OPTS"] = f"{quiet} {env.get('SPARK_SUBMIT_OPTS', '')}".rstrip()
    return Launch(place, chosen, changes, remote=remote)


def _place(*sources: Mapping[str, str]) -> tuple[str, bool]:
    """The first address that the sources name, and whether they name it as one for Spark Connect."""
    for settings in sources:
        for key in ("spark.remote", "spark.master"):
            if settings.get(key):
                return settings[key], key == "spark.remote"
    return "local[*]", False


def local_defaults(configured: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """Settings for a driver that is the whole cluster: no UI, few partitions, loopback only, a fair heap."""
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
        # Some machines cannot resolve their own name, and block fetches then fail.
        defaults |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if "SPARK_DRIVER_MEMORY" not in variables:
        defaults["spark.driver.memory"] = f"{driver_memory_gigabytes(physical_memory())}g"
    if configured.get("spark.sql.catalogImplementation") != "hive":
        # Made only when a table is saved; without a metastore nobody could find that table again.
        folder = f"holdfast-warehouse-{secrets.token_hex(6)}"
        defaults["spark.sql.warehouse.dir"] = str(Path(tempfile.gettempdir(), folder))
    return defaults


def driver_memory_gigabytes(memory: int) -> int:
    """Half of `memory` bytes in whole gigabytes, at least 1 and at most 8.

    >>> [driver_memory_gigabytes(gb << 30) for gb in (1, 7, 64)]
    [1, 3, 8]
    """
    return min(max(memory // 2 // _GIGABYTE, 1), 8)


def physical_memory() -> int:
    """Bytes of memory this process may use: the machine's, or its container's where that is less."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        machine = 4 * _GIGABYTE
    for limit_file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limit = Path(limit_file).read_text().strip()
        except OSError:
            continue
        if limit.isdigit():
            return min(machine, int(limit))
    return machine


def _spark_home(env: Mapping[str, str]) -> Path:
    return Path(env.get("SPARK_HOME") or _find_spark_home())


_SUBMIT_OPTIONS = {
    "--master": "spark.master",
    "--remote": "spark.remote",
    "--name": "spark.app.name",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
}


def _submit_arguments(text: str) -> tuple[dict[str, str], Path | None]:
    """What the options in PYSPARK_SUBMIT_ARGS set, and the properties file they name."""
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
    """The settings of a Java properties file as spark-defaults.conf uses it; none where there is no file."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (re.match(r"\s*([^\s#!=:][^\s=:]*)\s*[=:\s]\s*(.*?)\s*$", line) for line in lines)
    return {pair[1]: pair[2] for pair in pairs if pair is not None}


def _exported(file: Path) -> list[str]:
    """Names of the variables that the shell script `file` sets."""
    try:
        script = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return re.findall(r"^\s*(?:export\s+)?([A-Z_]+)=", script, re.MULTILINE)


def _apply(session: SparkSession, master: str | None, conf: Mapping[str, str]) -> None:
    """Makes `conf` true of a running session, all or nothing."""
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
    """A session under spark-submit, where everything but `master` and `conf` was decided already."""
    builder = SparkSession.builder.config(map=dict(conf))
    try:
        session = (builder.master(master) if master is not None else builder).getOrCreate()
        _check_settings(session)
    except (PySparkException, Py4JError) as error:
        raise _not_started(error, master or "spark-submit") from error
    return session


def _check_settings(session: SparkSession) -> None:
    """Has Spark SQL read its settings, which it would do at the first query; stops `session` if one is wrong."""
    try:
        session.conf.get("spark.sql.shuffle.partitions")
    except PySparkException:
        session.stop()
        raise


def _connect(plan: Launch) -> SparkSession:
    """A Spark Connect session; starts the server too where `plan` names a local master."""
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
    voice = _JvmVoice()
    try:
        with _environment(plan.env, without=("SPARK_REMOTE",)), warnings.catch_warnings():
            builder = SparkSession.builder.remote(remote)
            if not remote.startswith("sc://"):
                _launch_jvm(plan, voice)
                # The server starts with these settings; the client then tries to set them once more, and
                # warns of each that a running server does not take.
                warnings.simplefilter("ignore", UserWarning)
                builder = builder.config(map=dict(plan.conf))
            session = builder.getOrCreate()
            # Connecting is lazy; a wrong address should be told here, not in the middle of a job.
            _ = session.version
    except (PySparkException, Py4JError, OSError) as error:
        raise _not_started(error, remote, voice.said()) from error
    voice.let_through()
    quiet_query_log()
    if remote.startswith("sc://"):
        _apply(session, None, plan.conf)
    return session


def _check_reachable(remote: str) -> None:
    """Raises SessionError where nothing listens at `remote`; the Connect client itself tries for ten minutes."""
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
    """A classic session in a JVM of its own."""
    voice = _JvmVoice()
    try:
        with _environment(plan.env, without=("SPARK_REMOTE", "SPARK_API_MODE")):
            SparkContext(conf=_launch_jvm(plan, voice))
            session = SparkSession.builder.getOrCreate()
            _check_settings(session)
    except (PySparkException, Py4JError, OSError) as error:
        raise _not_started(error, plan.master, voice.said()) from error
    voice.let_through()
    quiet_query_log()
    return session


def _launch_jvm(plan: Launch, voice: _JvmVoice) -> SparkConf:
    """The settings of `plan` as Spark's; starts the JVM that takes them, unless one lives on from before."""
    conf = SparkConf(loadDefaults=False)
    for key, value in plan.conf.items():
        conf.set(key, value)
    if SparkContext._gateway is None:
        with _environment(_java_environment()), voice.pipe() as end:
            gateway = launch_gateway(conf, popen_kwargs={"stdout": end, "stderr": end})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
    return conf


def _java_environment() -> dict[str, str]:
    """The variables by which Spark's launcher finds Java, and what Java is to do for a quicker start."""
    java = find_java(os.environ, newest=newest_java())
    options = f"{class_archive_options(java, os.environ)} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".strip()
    return {"JAVA_HOME": str(spark_java_home(java, os.environ)), "SPARK_SUBMIT_OPTS": options}


def _not_started(error: BaseException, master: str, said: str = "") -> SessionError:
    # When Java itself did not start, PySpark knows only that; what Java printed says why.
    reason = _reason(error) if isinstance(error, Py4JError) or not said else said
    if master.startswith("spark://") and "stopped SparkContext" in reason:
        reason = "no Spark master answers there."
    return SessionError(
        f"Spark did not start on '{master}': {reason}",
        hint="check the master and the settings given, spark-defaults.conf and PYSPARK_SUBMIT_ARGS.",
    )


def _reason(error: BaseException) -> str:
    """The one line of a Java or Python error that a person can use: the innermost cause, in its own words."""
    text = f"{error}\n{getattr(error, '_stackTrace', None) or ''}"
    if isinstance(error, Py4JJavaError):
        text = f"{error.java_exception.toString()}\n{text}"
    causes = re.findall(r"^Caused by: (.+)$", text, re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _without_class(causes[-1] if causes else lines[0] if lines else type(error).__name__)


def _without_class(line: str) -> str:
    """`line` without the Java class before its message; other libraries' classes say something, by short name.

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
    """os.environ with `changes` and `without` some names while a session starts; as before afterwards.

    What the JVM needs of it, the JVM has inherited by then; programs that the caller starts later should
    not meet a JAVA_HOME that was meant for Spark.
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


_TELLING = re.compile(r"error|invalid|exception|unrecognized|not set|no such|cannot", re.IGNORECASE)
_CLOSING = re.compile(r"at |Error: Could not create the Java|Error: A fatal exception|Error occurred during init")


@dataclass
class _JvmVoice:
    """What the JVM prints: kept while it starts, to tell why it did not; on standard error afterwards.

    Standard output too: a line that a JVM or a library prints must not land among a command's results.
    """

    kept: deque[str] = field(default_factory=lambda: deque(maxlen=200))
    lock: threading.Lock = field(default_factory=threading.Lock)
    open: bool = False
    reader: threading.Thread | None = None

    @contextmanager
    def pipe(self) -> Iterator[int]:
        """The write end to hand to the process; closed here once the process has its own."""
        read_end, write_end = os.pipe()
        self.reader = threading.Thread(
            target=self._read, args=(os.fdopen(read_end, "r", errors="replace"),), daemon=True
        )
        self.reader.start()
        try:
            yield write_end
        finally:
            os.close(write_end)

    def said(self) -> str:
        if self.reader is not None:
            self.reader.join(timeout=0.5)
        with self.lock:
            lines = [line.strip() for line in self.kept if not _is_noise(line)]
        told = [line for line in lines if _TELLING.search(line) and not _CLOSING.match(line)]
        return _without_class((told or [line for line in lines if not _CLOSING.match(line)] or [""])[0])

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
    """What Java says of the options that Spark's launcher gives it; nothing a user could act on."""
    return not line.strip() or line.startswith(("WARNING: Using incubator modules", "WARNING: package sun.security."))
