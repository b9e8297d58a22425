import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;

/** A threaded service in Java: it compresses answers, and keeps direct buffers for a while. */
public class Service {
    public static void main(String[] arguments) throws Exception {
        Map<Integer, ByteBuffer> sessions = new LinkedHashMap<>();
        int port = Integer.parseInt(arguments[0]);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 64);
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.createContext("/", exchange -> {
            byte[] asked = exchange.getRequestBody().readAllBytes();
            ByteBuffer kept = ByteBuffer.allocateDirect(asked.length);
            kept.put(asked);
            synchronized (sessions) {
                sessions.put(kept.hashCode(), kept);
                if (sessions.size() > 200)
                    sessions.remove(sessions.keySet().iterator().next());
            }
            ByteArrayOutputStream packed = new ByteArrayOutputStream();
            Deflater deflater = new Deflater();
            try (DeflaterOutputStream out = new DeflaterOutputStream(packed, deflater)) {
                out.write(asked);
            }
            deflater.end();
            exchange.sendResponseHeaders(200, packed.size());
            exchange.getResponseBody().write(packed.toByteArray());
            exchange.close();
        });
        server.start();
    }
}
