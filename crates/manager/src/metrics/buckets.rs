//! Bucket bounds of histograms: dashboards match on them.

/// controller-runtime's buckets for the length of a reconcile, in seconds.
pub(super) const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

/// controller-runtime's buckets for fast operations, in seconds: 10 ns to 1,000 s, each ten times the previous one.
pub(super) fn exponential_buckets() -> impl Iterator<Item = f64> {
    // Multiplied step by step as in Go, where 10 µs becomes 9.999999999999999e-06: dashboards match on it.
    std::iter::successors(Some(10e-9), |bound| Some(bound * 10.0)).take(12)
}
