import java.io.PrintWriter;
import java.io.Writer;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.eclipse.jdt.core.compiler.batch.BatchCompiler;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/**
 * Compiles mutants of one class each and runs the Java tests on them, all in one process: a mutant takes milliseconds.
 * Prints for each `found`, `survived`, or `unusable` if it does not compile. `.ci/mutants_java.py` starts it.
 */
final class MutantRunner {
    private static final int SECONDS = 20;

    private MutantRunner() {
    }

    /** Tries each mutant; the arguments are the folder of the unchanged classes, a file with one source a line, and
     * the tests' class names. */
    public static void main(String[] args) throws Exception {
        Path classes = Path.of(args[0]);
        List<String> tests = List.of(args).subList(2, args.length);
        if (!passes(new URL[] {classes.toUri().toURL()}, tests)) {
            throw new IllegalStateException("a test fails without a mutant");
        }
        for (String source : Files.readAllLines(Path.of(args[1]))) {
            System.out.println(outcome(Path.of(source), classes, tests));
        }
        Runtime.getRuntime().halt(0);
    }

    private static String outcome(Path source, Path classes, List<String> tests) throws Exception {
        Path made = source.resolveSibling("classes");
        String path = classes + System.getProperty("path.separator") + System.getProperty("java.class.path");
        var nowhere = new PrintWriter(Writer.nullWriter());
        String[] options = {"-17", "-nowarn", "-proc:none", "-cp", path, "-d", made.toString(), source.toString()};
        if (!BatchCompiler.compile(options, nowhere, nowhere, null)) {
            return "unusable";
        }
        URL[] urls = {made.toUri().toURL(), classes.toUri().toURL()};
        var thread = Executors.newSingleThreadExecutor(MutantRunner::daemon);
        try {
            return thread.submit(() -> passes(urls, tests)).get(SECONDS, TimeUnit.SECONDS) ? "survived" : "found";
        } catch (TimeoutException hangs) {
            return "found";
        } finally {
            thread.shutdownNow();
        }
    }

    private static Thread daemon(Runnable work) {
        var thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    private static boolean passes(URL[] urls, List<String> tests) throws Exception {
        var loader = new URLClassLoader(urls, MutantRunner.class.getClassLoader());
        Thread.currentThread().setContextClassLoader(loader);
        List<DiscoverySelector> selected = new ArrayList<>();
        for (String test : tests) {
            selected.add(DiscoverySelectors.selectClass(loader.loadClass(test)));
        }
        var listener = new SummaryGeneratingListener();
        var request = LauncherDiscoveryRequestBuilder.request().selectors(selected).build();
        LauncherFactory.create().execute(request, listener);
        var summary = listener.getSummary();
        return summary.getTotalFailureCount() == 0 && summary.getTestsSucceededCount() > 0;
    }
}
