# The Java virtual machine's own memory, without Java's heap: eight threads hash, sort and compile.
# Packages: openjdk-17-jdk-headless
cat > Work.java <<'J'
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Counts and sorts words in eight threads. */
class Work {
    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(8);
        for (int job = 0; job < 200; job++) {
            int seed = job;
            pool.submit(() -> count(seed));
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
    }

    static int count(int seed) {
        var random = new Random(seed);
        var counts = new HashMap<String, Integer>();
        for (int i = 0; i < 2000; i++)
            counts.merge("word" + random.nextInt(500), 1, Integer::sum);
        List<String> words = new ArrayList<>(counts.keySet());
        words.sort((one, other) -> counts.get(other) - counts.get(one));
        return String.join(" ", words).length();
    }
}
J
javac Work.java
$RECORD java -Xmx64m -XX:+UseSerialGC -Xshare:auto -cp . Work
