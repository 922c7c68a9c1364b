import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.ChangelogRange;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A catalog whose tables keep their changes, for tests: a table is a folder, and a commit a file VERSION.csv in it, whose
 * lines are `change,id,zip,city,n`. A file `kept` holds the first version that is still kept, a file `text` says that
 * versions are text. Written so that Janino compiles it: without lambdas and diamonds.
 */
public class FolderCatalog implements TableCatalog {
  private String name;
  private File folder;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.folder = new File(options.get("folder"));
  }

  public String name() {
    return name;
  }

  public Identifier[] listTables(String[] namespace) {
    File[] tables = folder.listFiles();
    Identifier[] found = new Identifier[tables.length];
    for (int i = 0; i < tables.length; i++) found[i] = Identifier.of(namespace, tables[i].getName());
    return found;
  }

  public Table loadTable(Identifier table) throws NoSuchTableException {
    return new FolderTable(placeOf(table));
  }

  public Changelog loadChangelog(Identifier table, ChangelogContext context, CaseInsensitiveStringMap options)
      throws NoSuchTableException {
    return new FolderChangelog(placeOf(table), context.range());
  }

  private File placeOf(Identifier table) throws NoSuchTableException {
    File place = new File(folder, table.name());
    if (!place.isDirectory()) throw new NoSuchTableException(table);
    return place;
  }

  public Table createTable(Identifier table, StructType schema, Transform[] partitions, Map properties) {
    throw new UnsupportedOperationException("createTable");
  }

  public Table alterTable(Identifier table, TableChange[] changes) {
    throw new UnsupportedOperationException("alterTable");
  }

  public boolean dropTable(Identifier table) {
    throw new UnsupportedOperationException("dropTable");
  }

  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException("renameTable");
  }

  static StructType dataSchema() {
    return new StructType()
        .add("id", DataTypes.LongType)
        .add("zip", DataTypes.StringType)
        .add("city", DataTypes.StringType)
        .add("n", DataTypes.IntegerType);
  }

  static Column[] columnsOf(StructType schema) {
    Column[] columns = new Column[schema.fields().length];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = Column.create(schema.fields()[i].name(), schema.fields()[i].dataType());
    }
    return columns;
  }

  /** The number of the newest commit; -1 where there is none. */
  static long newest(File place) {
    long newest = -1;
    String[] files = place.list();
    for (int i = 0; i < files.length; i++) {
      if (files[i].endsWith(".csv")) {
        newest = Math.max(newest, Long.parseLong(files[i].substring(0, files[i].length() - 4)));
      }
    }
    return newest;
  }

  /** Lines of the commits from `first` to `last`, each with its version in front. */
  static List lines(File place, long first, long last) {
    List found = new ArrayList();
    for (long version = first; version <= last; version++) {
      File commit = new File(place, version + ".csv");
      if (!commit.exists()) continue;
      List own = read(commit);
      for (int i = 0; i < own.size(); i++) found.add(version + "," + own.get(i));
    }
    return found;
  }

  static List read(File file) {
    try {
      return Files.readAllLines(file.toPath(), StandardCharsets.UTF_8);
    } catch (IOException problem) {
      throw new RuntimeException(problem);
    }
  }

  /** A row of the table, and where `whole` also of the changelog, from a line. */
  static InternalRow row(String line, boolean whole, boolean text) {
    String[] parts = line.split(",", -1);
    List values = new ArrayList();
    values.add(Long.valueOf(parts[2]));
    values.add(UTF8String.fromString(parts[3]));
    values.add(UTF8String.fromString(parts[4]));
    values.add(Integer.valueOf(parts[5]));
    if (whole) {
      values.add(UTF8String.fromString(parts[1]));
      if (text) values.add(UTF8String.fromString(parts[0]));
      else values.add(Long.valueOf(parts[0]));
      values.add(Long.valueOf(Long.parseLong(parts[0]) * 1000000L));
    }
    return new GenericInternalRow(values.toArray());
  }

  static class FolderTable implements SupportsRead {
    private final File place;

    FolderTable(File place) {
      this.place = place;
    }

    public String name() {
      return place.getName();
    }

    public Column[] columns() {
      return columnsOf(dataSchema());
    }

    public Set capabilities() {
      return EnumSet.of(TableCapability.BATCH_READ);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      List present = new ArrayList();
      List all = lines(place, 0, newest(place));
      // Rows of one commit have no order: what comes is taken first, and what goes after it.
      for (int coming = 1; coming >= 0; coming--) {
        for (int i = 0; i < all.size(); i++) {
          String[] parts = ((String) all.get(i)).split(",", 3);
          boolean comes = parts[1].equals("insert") || parts[1].equals("update_postimage");
          if (comes != (coming == 1)) continue;
          if (comes) present.add(parts[2]);
          else present.remove(parts[2]);
        }
      }
      List rows = new ArrayList();
      for (int i = 0; i < present.size(); i++) rows.add("0,insert," + present.get(i));
      return new FolderScan(place, dataSchema(), rows, false, false, 0);
    }
  }

  static class FolderChangelog implements Changelog {
    private final File place;
    private final ChangelogRange range;
    private final boolean text;

    FolderChangelog(File place, ChangelogRange range) {
      this.place = place;
      this.range = range;
      this.text = new File(place, "text").exists();
    }

    public String name() {
      return place.getName();
    }

    public Column[] columns() {
      return columnsOf(all());
    }

    private StructType all() {
      return dataSchema()
          .add("_change_type", DataTypes.StringType)
          .add("_commit_version", text ? DataTypes.StringType : DataTypes.LongType)
          .add("_commit_timestamp", DataTypes.TimestampType);
    }

    public boolean containsCarryoverRows() {
      return false;
    }

    public boolean containsIntermediateChanges() {
      return false;
    }

    public boolean representsUpdateAsDeleteAndInsert() {
      return false;
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      File kept = new File(place, "kept");
      long oldest = kept.exists() ? Long.parseLong(((String) read(kept).get(0)).trim()) : 0;
      long first = oldest;
      long last = newest(place);
      if (range instanceof ChangelogRange.VersionRange) {
        ChangelogRange.VersionRange versions = (ChangelogRange.VersionRange) range;
        first = Long.parseLong(versions.startingVersion());
        if (!versions.startingBoundInclusive()) first++;
        if (versions.endingVersion().isPresent()) {
          last = Math.min(last, Long.parseLong((String) versions.endingVersion().get()));
          if (!versions.endingBoundInclusive()) last--;
        }
        if (first < oldest) {
          throw new IllegalArgumentException("version " + first + " has expired, the oldest is " + oldest);
        }
      }
      return new FolderScan(place, all(), lines(place, first, last), true, text, first);
    }
  }

  static class FolderScan implements ScanBuilder, Scan, Batch {
    private final File place;
    private final StructType schema;
    private final List rows;
    private final boolean whole;
    private final boolean text;
    private final long first;

    FolderScan(File place, StructType schema, List rows, boolean whole, boolean text, long first) {
      this.place = place;
      this.schema = schema;
      this.rows = rows;
      this.whole = whole;
      this.text = text;
      this.first = first;
    }

    public Scan build() {
      return this;
    }

    public StructType readSchema() {
      return schema;
    }

    public Batch toBatch() {
      return this;
    }

    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new FolderStream(place, text, first);
    }

    public InputPartition[] planInputPartitions() {
      return new InputPartition[] {new Lines(rows, whole, text)};
    }

    public PartitionReaderFactory createReaderFactory() {
      return new Readers();
    }
  }

  static class FolderStream implements MicroBatchStream {
    private final File place;
    private final boolean text;
    private final long first;

    FolderStream(File place, boolean text, long first) {
      this.place = place;
      this.text = text;
      this.first = first;
    }

    public Offset initialOffset() {
      return new Commit(first - 1);
    }

    public Offset latestOffset() {
      return new Commit(newest(place));
    }

    public Offset deserializeOffset(String json) {
      return new Commit(Long.parseLong(json));
    }

    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      List rows = lines(place, ((Commit) start).version + 1, ((Commit) end).version);
      return new InputPartition[] {new Lines(rows, true, text)};
    }

    public PartitionReaderFactory createReaderFactory() {
      return new Readers();
    }

    public void commit(Offset end) {}

    public void stop() {}
  }

  static class Commit extends Offset {
    final long version;

    Commit(long version) {
      this.version = version;
    }

    public String json() {
      return Long.toString(version);
    }
  }

  static class Lines implements InputPartition {
    final ArrayList lines;
    final boolean whole;
    final boolean text;

    Lines(List lines, boolean whole, boolean text) {
      this.lines = new ArrayList(lines);
      this.whole = whole;
      this.text = text;
    }
  }

  static class Readers implements PartitionReaderFactory {
    public PartitionReader createReader(InputPartition partition) {
      return new Reader((Lines) partition);
    }
  }

  static class Reader implements PartitionReader {
    private final Lines lines;
    private int next = -1;

    Reader(Lines lines) {
      this.lines = lines;
    }

    public boolean next() {
      next++;
      return next < lines.lines.size();
    }

    public Object get() {
      return row((String) lines.lines.get(next), lines.whole, lines.text);
    }

    public void close() {}
  }
}
