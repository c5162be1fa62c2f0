//! Rotations: one certificate replaces another while the API server still uses the old one.

use serde_json::json;
use tokio::time::advance;

use super::{
    super::*,
    place::{
        CRD, DAY, HOUR, MINUTE, MUTATING, Place, SECOND, SECRET, VALIDATING, configuration, crd,
        names,
    },
};
use crate::request;

#[tokio::test(start_paused = true)]
async fn a_new_certificate_is_trusted_after_60_days_and_served_3_s_later() {
    let place = Place::new().await;
    let (one, first) = place.rotator_and_served();
    let mut rotators = [one, place.rotator()];
    for rotator in &mut rotators {
        rotator.look(place.now).await.unwrap();
    }
    let old = place.pair().await;
    let mut served = first.await.unwrap();
    served.mark_unchanged();
    rotators[0].look(place.now + 60 * DAY).await.unwrap();
    assert!(place.pair().await == old);

    advance(60 * DAY).await;
    let now = place.now + 60 * DAY + SECOND;
    for rotator in &mut rotators {
        assert_eq!(rotator.look(now).await.unwrap(), 3 * SECOND);
        assert!(rotator.served.as_ref() == Some(&old));
    }
    let new = place.pair().await;
    assert!(new != old && new.serves(&names(), now + 89 * DAY));
    let both = format!("{}{}", new.ca, old.ca);
    assert_eq!(place.trusted().await, both);

    assert!(!served.has_changed().unwrap());

    advance(Duration::from_millis(2900)).await;
    for rotator in &mut rotators {
        assert_eq!(rotator.look(now).await.unwrap(), SECOND / 10);
        assert!(rotator.served.as_ref() == Some(&old));
    }
    advance(SECOND / 10).await;
    for rotator in &mut rotators {
        assert_eq!(rotator.look(now).await.unwrap(), MINUTE);
        assert!(rotator.served.as_ref() == Some(&new));
    }

    assert!(served.has_changed().unwrap());

    // The monotonic clock.
    advance(3597 * SECOND).await;
    rotators[0].look(now + 2 * HOUR).await.unwrap();
    assert_eq!(place.trusted().await, both);
    advance(SECOND).await;
    rotators[0].look(now).await.unwrap();
    assert_eq!(place.trusted().await, new.ca);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_replaces_a_pending_one_waits_as_long() {
    let place = Place::new().await;
    let mut rotator = place.rotator();
    rotator.look(place.now).await.unwrap();
    let old = place.pair().await;
    for round in 0..2 {
        advance(2 * SECOND).await;
        request::apply(
            &place.client,
            SECRET,
            &json!({ "data": {} }),
            "guests.example.com/webhooks",
            true,
        )
        .await
        .unwrap();
        assert_eq!(
            rotator.look(place.now).await.unwrap(),
            3 * SECOND,
            "{round}"
        );
        assert!(rotator.served.as_ref() == Some(&old));
    }
    let cas = place.trusted().await;
    assert_eq!(cas.matches("BEGIN").count(), 3, "{cas}");
    advance(3 * SECOND).await;
    rotator.look(place.now).await.unwrap();
    assert!(rotator.served == Some(place.pair().await));
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_reappears_waits_again() {
    let place = Place::new().await;
    let mut rotator = place.rotator();
    rotator.look(place.now).await.unwrap();
    let (old, new) = (place.pair().await, Pair::new(&names(), place.now).unwrap());
    for (pair, wait) in [(&new, 3 * SECOND), (&old, MINUTE), (&new, 3 * SECOND)] {
        place.put(pair).await;
        assert_eq!(rotator.look(place.now).await.unwrap(), wait);
        assert!(rotator.served.as_ref() == Some(&old));
        advance(4 * SECOND).await;
    }
}

#[tokio::test]
async fn an_expired_certificate_is_replaced_immediately() {
    let place = Place::new().await;
    let mut rotator = place.rotator();
    rotator.look(place.now).await.unwrap();
    // Like after a long sleep of the machine.
    let now = place.now + 91 * DAY;
    assert_eq!(rotator.look(now).await.unwrap(), MINUTE);
    let pair = place.pair().await;
    assert!(pair.serves(&names(), now) && rotator.served == Some(pair));
}

/// Other replicas serve the old one until then, and a replica that is ready is called at once.
#[tokio::test(start_paused = true)]
async fn a_replica_started_during_a_rotation_waits_before_it_serves() {
    let place = Place::new().await;
    let (mut one, mut other) = (place.rotator(), place.rotator());
    one.look(place.now).await.unwrap();
    place.put(&Pair::new(&names(), place.now).unwrap()).await;
    for _ in 0..2 {
        assert_eq!(other.look(place.now).await.unwrap(), 3 * SECOND);
        assert!(other.served.is_none());
        one.look(place.now).await.unwrap();
    }
    advance(3 * SECOND).await;
    for rotator in [&mut one, &mut other] {
        assert_eq!(rotator.look(place.now).await.unwrap(), MINUTE);
        assert!(rotator.served == Some(place.pair().await));
    }
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_missed_a_rotation_keeps_the_cas_of_the_others() {
    let place = Place::new().await;
    let (mut one, mut other) = (place.rotator(), place.rotator());
    one.look(place.now).await.unwrap();
    advance(2 * HOUR).await;
    let mut cas = vec![place.pair().await.ca];
    for rotator in [&mut other, &mut one] {
        let pair = Pair::new(&names(), place.now).unwrap();
        place.put(&pair).await;
        rotator.look(place.now).await.unwrap();
        cas.insert(0, pair.ca);
    }
    for ca in &cas {
        assert!(place.trusted().await.contains(ca));
    }
}

/// Like `kubectl replace`.
#[tokio::test(start_paused = true)]
async fn a_ca_bundle_lost_during_a_rotation_is_restored_with_the_served_ca() {
    let place = Place::new().await;
    let mut rotators = [place.rotator(), place.rotator()];
    for rotator in &mut rotators {
        rotator.look(place.now).await.unwrap();
    }
    let (old, new) = (place.pair().await, Pair::new(&names(), place.now).unwrap());
    place.put(&new).await;
    for rotator in &mut rotators {
        rotator.look(place.now).await.unwrap();
    }
    place.merge(MUTATING, &configuration(&["a"])).await;
    for rotator in &mut rotators {
        rotator.look(place.now).await.unwrap();
        assert!(rotator.served.as_ref() == Some(&old));
    }
    let both = format!("{}{}", new.ca, old.ca);
    assert_eq!(place.trusted().await, both);

    // If no CA is trusted any more, nothing can be lost.
    for path in [MUTATING, VALIDATING] {
        place.deploy(path, &json!({ "webhooks": [] })).await;
    }
    place.deploy(CRD, &crd("None")).await;
    rotators[0].look(place.now).await.unwrap();
    assert!(rotators[0].served.as_ref() == Some(&new));
}

#[tokio::test(start_paused = true)]
async fn a_clock_jump_removes_no_ca() {
    let place = Place::new().await;
    let mut rotator = place.rotator();
    rotator.look(place.now).await.unwrap();
    let (old, new) = (place.pair().await, Pair::new(&names(), place.now).unwrap());
    place.put(&new).await;
    let both = format!("{}{}", new.ca, old.ca);
    for now in [place.now, place.now + 2 * HOUR, place.now - HOUR] {
        rotator.look(now).await.unwrap();
        assert_eq!(place.trusted().await, both);
        assert!(rotator.served.as_ref() == Some(&old));
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_name_is_served_once_trusted_and_an_invalid_name_is_left_out() {
    let place = Place::new().await;
    let mut rotator = place.rotator();
    rotator.look(place.now).await.unwrap();
    let old = place.pair().await;
    let urls = [
        "https://127.0.0.1:1/a",
        "https://[::1]:1/a",
        "https://a!b/a",
    ];
    let webhooks = urls.map(|url| json!({ "name": url, "clientConfig": { "url": url } }));
    place
        .deploy(MUTATING, &json!({ "webhooks": webhooks }))
        .await;
    assert_eq!(rotator.look(place.now).await.unwrap(), 3 * SECOND);
    let mut names = names();
    names.extend(["127.0.0.1", "::1"].map(str::to_owned));
    let new = place.pair().await;
    assert!(!old.serves(&names, place.now) && new.serves(&names, place.now));
    assert!(rotator.served.as_ref() == Some(&old));
    // A bundle that was empty gets both CAs, because the old certificate is served.
    let both = format!("{}{}", new.ca, old.ca);
    assert_eq!(place.trusted().await, both);
    advance(3 * SECOND).await;
    rotator.look(place.now).await.unwrap();
    assert!(place.pair().await == new && rotator.served == Some(new));
}

#[tokio::test]
async fn new_names_are_served_immediately_if_no_old_name_is_in_use() {
    let place = Place::new().await;
    let mut rotator = place.rotator();
    rotator.look(place.now).await.unwrap();
    let config = json!({ "url": "https://127.0.0.1:1/a" });
    let webhooks = json!([{ "name": "a", "clientConfig": config }]);
    for path in [MUTATING, VALIDATING] {
        place.deploy(path, &json!({ "webhooks": webhooks })).await;
    }
    place.deploy(CRD, &crd("None")).await;
    assert_eq!(rotator.look(place.now).await.unwrap(), MINUTE);
    assert!(rotator.served == Some(place.pair().await));
}

/// Two versions of an operator, each with a webhook that the other does not know.
#[tokio::test(start_paused = true)]
async fn replicas_with_different_names_share_one_certificate_until_its_renewal() {
    let place = Place::new().await;
    let mut rotators = [place.rotator(), place.rotator()];
    for (rotator, path) in rotators.iter_mut().zip([VALIDATING, MUTATING]) {
        rotator.targets.retain(|(_, name)| !path.ends_with(name));
    }
    let hosts = ["127.0.0.1", "127.0.0.2"];
    for (path, host) in [MUTATING, VALIDATING].into_iter().zip(hosts) {
        let config = json!({ "url": format!("https://{host}:1/a") });
        let webhooks = json!({ "webhooks": [{ "name": "a", "clientConfig": config }] });
        place.deploy(path, &webhooks).await;
    }
    let mut all = names();
    all.extend(hosts.map(str::to_owned));
    for rotator in &mut rotators {
        rotator.look(place.now).await.unwrap();
    }
    let settled = place.pair().await;
    assert!(settled.serves(&all, place.now));
    let has = &place.get(SECRET).await["metadata"]["annotations"];
    all.sort();
    assert_eq!(has["guests.example.com/certificate-names"], all.join(","));
    for _ in 0..2 {
        for rotator in &mut rotators {
            rotator.look(place.now).await.unwrap();
        }
        advance(3 * SECOND).await;
    }
    assert!(place.pair().await == settled);
    assert!(
        rotators
            .iter()
            .all(|it| it.served.as_ref() == Some(&settled))
    );

    // One of them is gone, and its name with it.
    let later = place.now + 61 * DAY;
    rotators[0].look(later).await.unwrap();
    let renewed = place.pair().await;
    let gone = all.iter().position(|name| name == hosts[1]).unwrap();
    all.remove(gone);
    assert!(renewed.serves(&all, later));
    assert!(!renewed.serves(&[hosts[1].to_owned()], later));
}

#[tokio::test]
async fn annotated_names_that_the_certificate_lacks_are_ignored() {
    let place = Place::new().await;
    let mut rotator = place.rotator();
    let wrong = Pair::new(&["elsewhere".to_owned()], place.now).unwrap();
    for has in ["", "elsewhere,another", "a!b"] {
        rotator.look(place.now).await.unwrap();
        let has = json!({ "guests.example.com/certificate-names": has });
        let metadata = json!({ "metadata": { "annotations": has } });
        place.merge(SECRET, &metadata).await;
        place.put(&wrong).await;
        rotator.look(place.now).await.unwrap();
        let secret = place.get(SECRET).await;
        let has = &secret["metadata"]["annotations"]["guests.example.com/certificate-names"];
        assert_eq!(has, "guests-webhook.guests-system.svc,localhost");
    }
}
