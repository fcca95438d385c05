// Reads the small files of a log directory with Kafka's own code and prints what it finds, one line each: run by
// `npm run interop -- kafka-dump`. Arguments: log directory, then partition directories in it.
import java.io.File;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.EpochEntry;

public class ReadCheckpoints {
    public static void main(String[] args) throws Exception {
        File directory = new File(args[0]);
        LogDirFailureChannel failures = new LogDirFailureChannel(1);
        for (String name : new String[] {
                "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"}) {
            File file = new File(directory, name);
            if (!file.exists()) continue;
            scala.collection.Map<TopicPartition, Object> offsets =
                new kafka.server.checkpoints.OffsetCheckpointFile(file, failures).read();
            scala.collection.Iterator<scala.Tuple2<TopicPartition, Object>> all = offsets.iterator();
            while (all.hasNext()) {
                scala.Tuple2<TopicPartition, Object> one = all.next();
                System.out.println(name + " " + one._1() + " " + one._2());
            }
        }
        for (int i = 1; i < args.length; i++) {
            File partition = new File(directory, args[i]);
            for (EpochEntry entry : new LeaderEpochCheckpointFile(LeaderEpochCheckpointFile.newFile(partition), failures).read()) {
                System.out.println("leader-epoch-checkpoint " + args[i] + " " + entry.epoch + " " + entry.startOffset);
            }
            PartitionMetadataFile metadata = new PartitionMetadataFile(PartitionMetadataFile.newFile(partition), failures);
            System.out.println("partition.metadata " + args[i] + " " + metadata.read().topicId());
        }
    }
}
