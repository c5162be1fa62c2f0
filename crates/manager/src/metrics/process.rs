//! The kernel's statistics of this process, like the process collector of the Prometheus client for Go.
//!
//! Source: `github.com/prometheus/client_golang/prometheus/process_collector_procfsenabled.go`, proc(5). Without
//! `/proc`, only CPU time and start time are available.

use std::{
    fmt, fs,
    time::{Duration, SystemTime},
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};
use rustix::time::{ClockId, clock_gettime};

/// Reads the statistics at each scrape.
#[derive(Debug)]
pub(super) struct Process {
    started: SystemTime,
}

impl Process {
    /// A process that has just started.
    pub(super) fn starting() -> Self {
        Self {
            started: SystemTime::now(),
        }
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let e = &mut encoder;
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH);
        let started = started.unwrap_or_default().as_secs_f64();
        gauge(e, "start_time_seconds", "Start, since the epoch", started)?;
        counter(e, "cpu_seconds", "CPU time, of user and system", cpu())?;
        if let Ok(entries) = fs::read_dir("/proc/self/fd") {
            // The open directory itself is one of them.
            let open = number(entries.count().saturating_sub(1) as u64);
            gauge(e, "open_fds", "Open file descriptors", open)?;
        }
        limits(e)?;
        memory(e)?;
        network(e)
    }
}

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let time = Duration::try_from(time).unwrap_or_default();
    time.as_secs_f64()
}

fn limits(e: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let text = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    if let Some(most) = limit(&text, "Max open files") {
        gauge(e, "max_fds", "The most open file descriptors", most)?;
    }
    if let Some(most) = limit(&text, "Max address space") {
        let help = "The most virtual memory; the greatest number there is for no limit";
        gauge(e, "virtual_memory_max_bytes", help, most)?;
    }
    Ok(())
}

/// The soft limit of this name, in a table with fixed-width columns.
fn limit(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    match rest.split_whitespace().next()? {
        // The value that client_golang uses.
        "unlimited" => Some(number(u64::MAX)),
        limit => limit.parse().ok(),
    }
}

fn memory(e: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (field, name, help) in [
        ("VmRSS:", "resident_memory_bytes", "Resident memory"),
        ("VmSize:", "virtual_memory_bytes", "Virtual memory"),
    ] {
        if let Some(kilobytes) = status(&text, field) {
            gauge(e, name, help, kilobytes * 1024.0)?;
        }
    }
    Ok(())
}

/// The number in this field of `/proc/self/status`.
fn status(text: &str, field: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(field))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn network(e: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let text = fs::read_to_string("/proc/self/net/netstat").unwrap_or_default();
    for (field, name, help) in [
        (
            "InOctets",
            "network_receive_bytes",
            "Bytes that came in over the network",
        ),
        (
            "OutOctets",
            "network_transmit_bytes",
            "Bytes that went out over the network",
        ),
    ] {
        if let Some(bytes) = octets(&text, field) {
            counter(e, name, help, bytes)?;
        }
    }
    Ok(())
}

/// The value of this column of `IpExt`: a line with names, and one with numbers.
fn octets(text: &str, column: &str) -> Option<f64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("IpExt:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|name| name == column)?;
    numbers.split_whitespace().nth(at)?.parse().ok()
}

fn counter(e: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let name = format!("process_{name}");
    let metric = ConstCounter::new(value);
    metric.encode(e.encode_descriptor(&name, help, None, metric.metric_type())?)
}

fn gauge(e: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let name = format!("process_{name}");
    let metric = ConstGauge::new(value);
    metric.encode(e.encode_descriptor(&name, help, None, metric.metric_type())?)
}

/// Every number in Prometheus is a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "that is the format")]
fn number(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_by_their_names() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
                    Max open files            1024                 524288               files\n\
                    Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(limit(text, "Max open files"), Some(1024.0));
        assert_eq!(limit(text, "Max address space"), Some(number(u64::MAX)));
        assert_eq!(limit(text, "Max cpu time"), None);
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let text =
            "TcpExt: InOctets\nTcpExt: 9\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 0 17 4\n";
        assert_eq!(octets(text, "InOctets"), Some(17.0));
        assert_eq!(octets(text, "OutOctets"), Some(4.0));
        assert_eq!(octets("", "OutOctets"), None);
    }

    #[test]
    fn fields_are_found_by_their_names() {
        let text = "VmSize:\t    8192 kB\nVmRSS:\t    2048 kB\n";
        assert_eq!(status(text, "VmRSS:"), Some(2048.0));
        assert_eq!(status("", "VmRSS:"), None);
    }
}
