import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.transport.Netty4Plugin;

/**
 * One OpenSearch node on the loopback interface, with HTTP, the common analyzers and scripts.
 *
 * <p>Arguments: the folder that holds everything it writes, and its port (0 takes a free one). It prints its URL on stdout when it is up, logs to
 * stderr, and ends when stdin ends, so that it never outlives the process that started it.
 */
public final class EmbeddedOpenSearch extends Node {

  private EmbeddedOpenSearch(Path home, String port) {
    super(
        InternalSettingsPreparer.prepareEnvironment(
            Settings.builder()
                .put("path.home", home)
                .put("node.name", "local")
                .put("cluster.name", "sagaline-local")
                .put("discovery.type", "single-node")
                .put("network.host", "127.0.0.1")
                .put("http.port", port)
                .put("transport.port", "0")
                // A laptop's disk is often fuller than a cluster's may be: without this the indices turn read-only.
                .put("cluster.routing.allocation.disk.threshold_enabled", false)
                .build(),
            Map.of(),
            null,
            () -> "local"),
        List.of(Netty4Plugin.class, CommonAnalysisPlugin.class, PainlessPlugin.class),
        false);
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream answer = System.out;
    System.setOut(System.err);
    Path home = Path.of(arguments[0]).toAbsolutePath();
    // Its own folder has no config/ with log4j2.properties: the root logger of log4j is told by property.
    Files.createDirectories(home.resolve("config"));
    System.setProperty("log4j2.level", "WARN");

    try (Node node = new EmbeddedOpenSearch(home, arguments[1])) {
      node.start();
      // What an earlier run stored is served only when its shards have started.
      node.client().admin().cluster().prepareHealth().setWaitForYellowStatus().get();
      InetSocketAddress address =
          node.injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress().address();
      answer.println("http://127.0.0.1:" + address.getPort());
      answer.flush();
      // The node's own threads do not keep the process alive: this one does, until the caller is gone.
      while (System.in.read() >= 0) {}
    }
    System.exit(0);
  }
}
