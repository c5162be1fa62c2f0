//! A gauge with a value for each cached object of a kind.

use std::{fmt, sync::Arc};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder},
    metrics::MetricType,
};

use crate::{
    cache::{object::Object, store::Cache},
    leader::fence::Fence,
};

/// Its values are made of the objects when they are scraped, so that none outlives its object.
pub(crate) struct ObjectGauge<K, F> {
    pub(crate) cache: Arc<Cache<K>>,
    /// Only the leader has values: other replicas may cache nothing, and two would count twice.
    pub(crate) fence: Fence,
    /// The value of an object, by code of the author.
    pub(crate) value: F,
}

impl<K, F> fmt::Debug for ObjectGauge<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectGauge").finish_non_exhaustive()
    }
}

impl<K: Object, F: Fn(&K) -> Option<f64>> EncodeMetric for ObjectGauge<K, F> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        if !self.fence.is_open() {
            return Ok(());
        }
        for key in self.cache.keys() {
            let Some(value) = self.cache.get(&key).and_then(|it| (self.value)(&it)) else {
                continue;
            };
            let namespace = key.namespace().map(|namespace| ("namespace", namespace));
            let labels: Vec<_> = namespace
                .into_iter()
                .chain([("name", key.name())])
                .collect();
            encoder.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kbr_testing::{FakeApi, eventually};

    use crate::{Action, harness};

    #[tokio::test]
    async fn a_gauge_has_the_values_of_the_objects_that_exist() {
        let api = FakeApi::new();
        for (name, sails) in [("argo", Some("3")), ("raft", None), ("snark", Some("2"))] {
            let mut map = ConfigMap::default();
            map.metadata.name = Some(name.to_owned());
            map.data = sails.map(|sails| [("sails".to_owned(), sails.to_owned())].into());
            api.put(&map);
        }
        let mut manager = harness::on(&api);
        manager.options.health_probe_bind_address = "0".parse().unwrap();
        manager
            .controller::<ConfigMap>("ship")
            .gauge("ship_sails", "Sails of a ship", |map| {
                map.data.as_ref()?.get("sails")?.parse().ok()
            })
            .reconcile(async |_, _| Ok(Action::await_change()));
        assert_eq!(manager.mistakes, [""; 0]);
        let metrics = manager.metrics.clone();
        let values = || {
            let text = metrics.text().unwrap();
            let own = text.lines().filter(|line| line.starts_with("ship_"));
            own.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(values(), [""; 0], "it does not lead");

        let running = tokio::spawn(async move { manager.run_until(std::future::pending()).await });
        let argo = r#"ship_sails{namespace="default",name="argo"} 3.0"#;
        let snark = r#"ship_sails{namespace="default",name="snark"} 2.0"#;
        let become_values = async |wanted: &[&str]| {
            let limit = Duration::from_secs(60);
            let are = async || Ok((values() == wanted).then_some(()));
            eventually(limit, "the gauge", are).await.unwrap();
        };
        become_values(&[argo, snark]).await;
        api.delete::<ConfigMap>("default", "argo");
        become_values(&[snark]).await;
        running.abort();
    }
}
