import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.github.shyiko.mysql.binlog.BinaryLogFileReader;
import com.github.shyiko.mysql.binlog.event.*;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDeserializer;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDeserializer.CompatibilityMode;
import com.github.shyiko.mysql.binlog.event.deserialization.json.JsonBinary;
import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * DecodeFile FILE decode|json PASSES: a whole binlog file by mysql-binlog-connector-java, one JSON line a pass.
 *
 * <p>json is decode and then the envelope by Jackson's generator. The library does not verify CRC32.
 */
public final class DecodeFile {
    static final class Counter extends OutputStream {
        long bytes;
        @Override public void write(int b) { bytes++; }
        @Override public void write(byte[] b, int off, int len) { bytes += len; }
    }

    final Map<Long, TableMapEventData> tables = new HashMap<>();
    final Map<Long, String[]> names = new HashMap<>();
    final JsonFactory factory = new JsonFactory();
    final Counter counter = new Counter();
    boolean json;
    long events, inserts, updates, deletes, cells, pkSum, check;

    public static void main(String[] args) throws Exception {
        int passes = Integer.parseInt(args[2]);
        for (int pass = 1; pass <= passes; pass++) {
            DecodeFile p = new DecodeFile();
            p.json = args[1].equals("json");
            long cpu0 = cpu(), t0 = System.nanoTime();
            p.read(args[0]);
            double wall = (System.nanoTime() - t0) / 1e9, cpu = (cpu() - cpu0) / 1e9;
            System.out.printf("{\"peer\":\"mysql-binlog-connector-java\",\"mode\":\"%s\",\"pass\":%d,\"events\":%d,\"ins\":%d,\"upd\":%d,"
                + "\"del\":%d,\"cells\":%d,\"pk_sum\":%d,\"json_bytes\":%d,\"wall_s\":%.3f,\"cpu_s\":%.3f}%n", args[1], pass, p.events,
                p.inserts, p.updates, p.deletes, p.cells, p.pkSum, p.counter.bytes, wall, cpu);
        }
    }

    static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    void read(String path) throws Exception {
        EventDeserializer d = new EventDeserializer();
        d.setCompatibilityMode(CompatibilityMode.DATE_AND_TIME_AS_LONG_MICRO);   // its fast way: no Date objects
        InputStream in = new BufferedInputStream(new FileInputStream(path), 1 << 20);
        try (BinaryLogFileReader reader = new BinaryLogFileReader(in, d)) {
            for (Event e; (e = reader.readEvent()) != null; ) {
                events++;
                EventData data = e.getData();
                EventHeaderV4 h = e.getHeader();
                if (data instanceof TableMapEventData t) {
                    tables.put(t.getTableId(), t);
                    names.put(t.getTableId(), t.getEventMetadata().getColumnNames().toArray(new String[0]));
                } else if (data instanceof WriteRowsEventData w) {
                    for (Serializable[] row : w.getRows()) { inserts++; change("c", w.getTableId(), h, null, row); }
                } else if (data instanceof UpdateRowsEventData u) {
                    for (Map.Entry<Serializable[], Serializable[]> row : u.getRows()) {
                        updates++;
                        change("u", u.getTableId(), h, row.getKey(), row.getValue());
                    }
                } else if (data instanceof DeleteRowsEventData x) {
                    for (Serializable[] row : x.getRows()) { deletes++; change("d", x.getTableId(), h, row, null); }
                }
            }
        }
    }

    void change(String op, long table, EventHeaderV4 h, Serializable[] before, Serializable[] after) throws Exception {
        TableMapEventData t = tables.get(table);
        pkSum += ((Number) (after != null ? after : before)[0]).longValue();
        if (!json) {
            touch(t, before);
            touch(t, after);
            return;
        }
        JsonGenerator g = factory.createGenerator(counter);
        g.writeStartObject();
        g.writeStringField("op", op);
        g.writeStringField("db", t.getDatabase());
        g.writeStringField("table", t.getTable());
        g.writeNumberField("ts", h.getTimestamp());
        g.writeNumberField("pos", h.getNextPosition());
        image(g, "before", t, names.get(table), before);
        image(g, "after", t, names.get(table), after);
        g.writeEndObject();
        g.close();
    }

    /** Full decode: text to String and JSON to text, as a consumer needs them (the library leaves both as bytes). */
    void touch(TableMapEventData t, Serializable[] row) throws Exception {
        if (row == null) return;
        cells += row.length;
        for (int i = 0; i < row.length; i++)
            if (row[i] instanceof byte[] b) check += text(t.getColumnTypes()[i], b).length();
    }

    static String text(byte type, byte[] b) throws Exception {
        return (type & 0xff) == 245 ? JsonBinary.parseAsString(b) : new String(b, StandardCharsets.UTF_8);
    }

    void image(JsonGenerator g, String field, TableMapEventData t, String[] names, Serializable[] row) throws Exception {
        if (row == null) { g.writeNullField(field); return; }
        cells += row.length;
        g.writeObjectFieldStart(field);
        for (int i = 0; i < row.length; i++) {
            g.writeFieldName(names[i]);
            Serializable v = row[i];
            if (v == null) g.writeNull();
            else if (v instanceof Integer n) g.writeNumber(n);
            else if (v instanceof Long n) g.writeNumber(n);
            else if (v instanceof String s) g.writeString(s);
            else if (v instanceof byte[] b) {
                if ((t.getColumnTypes()[i] & 0xff) == 245) g.writeRawValue(text((byte) 245, b));
                else g.writeString(new String(b, StandardCharsets.UTF_8));
            }
            else if (v instanceof BigDecimal n) g.writeString(n.toPlainString());
            else if (v instanceof Double n) g.writeNumber(n);
            else if (v instanceof Float n) g.writeNumber(n);
            else g.writeString(v.toString());
        }
        g.writeEndObject();
    }
}
