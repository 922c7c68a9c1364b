"""A catalog of Spark whose tables keep their changes: none comes with Spark, so that tests compile their own."""

from __future__ import annotations

import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

CATALOG_CLASS = "FolderCatalog"
SOURCE = Path(__file__).with_name(f"{CATALOG_CLASS}.java")


def compiled_catalog(spark: SparkSession, folder: Path) -> Path:
    """A jar with the catalog, compiled by Janino, which comes with Spark: a machine may have no javac."""
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    assert jvm is not None, "a session with a Java of its own"
    assert gateway is not None, "a session with a Java of its own"
    classes = folder / "classes"
    classes.mkdir()
    compiler = jvm.org.codehaus.janino.Compiler()
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setTargetVersion(8)  # static methods of interfaces
    compiler.setDestinationDirectory(jvm.java.io.File(str(classes)), False)
    sources = gateway.new_array(jvm.java.io.File, 1)
    sources[0] = jvm.java.io.File(str(SOURCE))
    compiler.compile(sources)
    jar = folder / "folder_catalog.jar"
    with zipfile.ZipFile(jar, "w") as packed:
        for file in sorted(classes.glob("*.class")):
            packed.write(file, file.name)
    return jar
