import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;

import com.sun.management.OperatingSystemMXBean;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXConfiguration.AnonymizationAlgorithm;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

/**
 * One heuristic search of ARX, as JSON: FOLDER K LIMIT ALGORITHM MILLISECONDS.
 *
 * FOLDER holds data.csv and the hierarchies COLUMN.csv, all with semicolons. The loss is ARX's own with the
 * geometric mean.
 */
public final class ArxHeuristic {
    public static void main(String[] given) throws Exception {
        Data data = Data.create(new File(given[0], "data.csv"), StandardCharsets.UTF_8, ';');
        for (int at = 0; at < data.getHandle().getNumColumns(); at++) {
            String name = data.getHandle().getAttributeName(at);
            data.getDefinition().setAttributeType(
                name, Hierarchy.create(new File(given[0], name + ".csv"), StandardCharsets.UTF_8, ';'));
        }
        ARXConfiguration configuration = ARXConfiguration.create();
        configuration.addPrivacyModel(new KAnonymity(Integer.parseInt(given[1])));
        configuration.setSuppressionLimit(Double.parseDouble(given[2]));
        configuration.setQualityModel(Metric.createLossMetric(0.5d, AggregateFunction.GEOMETRIC_MEAN));
        configuration.setAlgorithm(AnonymizationAlgorithm.valueOf(given[3]));
        configuration.setHeuristicSearchTimeLimit(Integer.parseInt(given[4]));
        OperatingSystemMXBean machine = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpu = machine.getProcessCpuTime(), wall = System.nanoTime();
        ARXResult result = new ARXAnonymizer().anonymize(data, configuration);
        cpu = machine.getProcessCpuTime() - cpu;
        wall = System.nanoTime() - wall;
        boolean found = result.isResultAvailable();
        StringBuilder levels = new StringBuilder();
        if (found) {
            for (int level : result.getGlobalOptimum().getTransformation()) {
                levels.append(levels.length() == 0 ? "" : ",").append(level);
            }
        }
        System.out.printf(
            "{\"loss\": %s, \"levels\": [%s], \"cpu\": %s, \"wall\": %s}%n",
            found ? result.getGlobalOptimum().getHighestScore().toString() : "null", levels, cpu / 1e9, wall / 1e9);
    }

    private ArxHeuristic() {
    }
}
