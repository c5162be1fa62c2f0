//! Counts the requests that the API server has served.

use std::collections::BTreeMap;

use kube::Client;

use crate::row;

/// How many requests of each kind the API server has served.
pub async fn requests(client: &Client) -> anyhow::Result<BTreeMap<String, usize>> {
    let request = hyper::Request::get("/metrics").body(Vec::new())?;
    let metrics = client.request_text(request).await?;
    let mut requests = BTreeMap::new();
    for line in metrics.lines() {
        let Some((labels, count)) = line
            .strip_prefix("apiserver_request_total{")
            .and_then(|line| line.rsplit_once("} "))
        else {
            continue;
        };
        let label = |name: &str| {
            let value = labels
                .split_once(&format!(",{name}=\""))
                .unwrap_or_default()
                .1;
            value.split_once('"').unwrap_or_default().0
        };
        let resource = label("resource");
        if !["foos", "deployments", "events", "leases"].contains(&resource) {
            continue;
        }
        let what = match label("subresource") {
            "" => format!("{resource} {}", label("verb")),
            sub => format!("{resource}/{sub} {}", label("verb")),
        };
        *requests.entry(what).or_default() += count.parse::<usize>()?;
    }
    Ok(requests)
}

pub fn print_requests(
    before: &BTreeMap<String, usize>,
    after: &BTreeMap<String, usize>,
    objects: usize,
) {
    let mut all = 0;
    let mut each = Vec::new();
    for (what, count) in after {
        let count = count.saturating_sub(before.get(what).copied().unwrap_or_default());
        if count > 0 {
            each.push(format!("{count} {what}"));
            all += count;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "they are no more than millions")]
    let share = all as f64 / objects.max(1) as f64;
    row(
        "requests an object",
        &format!("{share:.2} ({})", each.join(", ")),
    );
}
