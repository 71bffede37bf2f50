/** Metrics of the process, under the names that common Prometheus clients for Node use. */
import { type IntervalHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks";
import type { MetricFamily, MetricSource } from "portico/metrics";
import { counter, gauge } from "./families.ts";

const RESOLUTION_MS = 20;

export interface ProcessSource extends MetricSource {
  stop(): void;
}

/** Creates the source. Lag is measured only from the first scrape on, so that it costs nothing without scrapes. */
export function processSource(): ProcessSource {
  let lag: IntervalHistogram | undefined;
  let loop = performance.eventLoopUtilization();

  function collectEventLoop(): MetricFamily[] {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, loop);
    loop = now;
    // The measured time includes the timer's own interval.
    const lagSeconds = (ns: number) =>
      Number.isFinite(ns) ? Math.max(0, ns / 1e6 - RESOLUTION_MS) / 1000 : 0;
    const measuredLag = lag && lag.count > 0 ? lag : undefined;
    const families = [
      gauge(
        "nodejs_eventloop_utilization_ratio",
        "Share of the time since the last scrape in which the event loop was busy.",
        [utilization],
      ),
      gauge(
        "nodejs_eventloop_lag_mean_seconds",
        "Mean lag of the event loop since the last scrape.",
        [measuredLag ? lagSeconds(measuredLag.mean) : 0],
      ),
      gauge(
        "nodejs_eventloop_lag_p99_seconds",
        "99th percentile of the event loop's lag since the last scrape.",
        [measuredLag ? lagSeconds(measuredLag.percentile(99)) : 0],
      ),
      gauge(
        "nodejs_eventloop_lag_max_seconds",
        "Largest lag of the event loop since the last scrape.",
        [measuredLag ? lagSeconds(measuredLag.max) : 0],
      ),
    ];
    if (lag) lag.reset();
    else {
      lag = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      lag.enable();
    }
    return families;
  }

  return {
    name: "process",
    collect() {
      const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
      const { user, system } = process.cpuUsage();
      return [
        gauge("process_resident_memory_bytes", "Resident memory.", [rss]),
        gauge("nodejs_heap_size_used_bytes", "Used heap.", [heapUsed]),
        gauge("nodejs_heap_size_total_bytes", "Size of the heap.", [heapTotal]),
        gauge(
          "nodejs_external_memory_bytes",
          "Memory of buffers and other objects outside the heap.",
          [external],
        ),
        counter("process_cpu_seconds_total", "User and system CPU time of the process.", [
          (user + system) / 1e6,
        ]),
        gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.", [
          performance.timeOrigin / 1000,
        ]),
        ...collectEventLoop(),
      ];
    },
    stop() {
      lag?.disable();
    },
  };
}
