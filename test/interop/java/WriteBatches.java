// Writes one batch per codec as Kafka's own client builds it, for packages/record/golden/kafka: run by `npm run interop -- kafka-vectors`.
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;

public class WriteBatches {
    private static final int RECORDS = 200;
    private static final long BASE_OFFSET = 1000;
    private static final long BASE_TIMESTAMP = 1_700_000_000_000L;

    public static void main(String[] args) throws Exception {
        for (CompressionType type : CompressionType.values()) {
            write(Path.of(args[0], type.name + ".batch"), type, 1);
            // Larger than one block of the framings (snappy 32 KiB, lz4 64 KiB, zstd 128 KiB).
            if (type != CompressionType.NONE) write(Path.of(args[0], type.name + "-blocks.batch"), type, 50);
        }
    }

    private static void write(Path path, CompressionType type, int repeats) throws Exception {
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            ByteBuffer.allocate(1 << 20), RecordBatch.MAGIC_VALUE_V2, Compression.of(type).build(),
            TimestampType.CREATE_TIME, BASE_OFFSET, RecordBatch.NO_TIMESTAMP, 4711L, (short) 3, 17,
            false, false, 5, 1 << 20);
        for (int i = 0; i < RECORDS; i++) {
            byte[] key = i % 5 == 0 ? null : utf8("key-" + i % 7);
            byte[] value = i % 11 == 0 ? null : utf8(("value " + i + " of a log line that compresses ").repeat(repeats));
            Header[] headers = i % 3 == 0
                ? new Header[] {new RecordHeader("n", utf8("" + i)), new RecordHeader("none", null)}
                : new Header[0];
            builder.appendWithOffset(BASE_OFFSET + i, BASE_TIMESTAMP + i % 13, key, value, headers);
        }
        MemoryRecords built = builder.build();
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE,
                StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            built.writeFullyTo(file);
        }
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
