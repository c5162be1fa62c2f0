use std::time::Duration;

use api::ajd::v2::{Address, HomeSpec, Room};
use k8s_openapi::{
    api::events::v1::Event,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Time},
};
use kbr_testing::{FakeApi, eventually, is_ready, simulate};

use super::*;

const SOON: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn room(name: &str, temperature: Option<&str>) -> Room {
    Room {
        name: name.to_owned(),
        temperature: temperature.map(|degrees| Quantity(degrees.to_owned())),
    }
}

fn home() -> Home {
    let spec = HomeSpec {
        owners: vec!["ann".to_owned()],
        address: Address {
            street: "12 Quay Street".to_owned(),
            city: "Galway".to_owned(),
        },
        rooms: vec![room("kitchen", None), room("bedroom", Some("17.5"))],
        temperature: Quantity("20".to_owned()),
        away_until: None,
    };
    Home::new("sample", spec)
}

/// The temperatures of kitchen and bedroom.
fn temperatures(api: &FakeApi) -> Option<[String; 2]> {
    let thermostats: ConfigMap = api.get("default", "sample")?;
    let mut data = thermostats.data?;
    Some([data.remove("kitchen")?, data.remove("bedroom")?])
}

#[tokio::test]
async fn each_room_has_its_own_temperature_or_that_of_the_home() {
    let api = FakeApi::new();
    api.put(&home());
    api.reconcile(register, "sample").await.unwrap();
    assert_eq!(temperatures(&api).unwrap(), ["20", "17.5"]);
    let home: Home = api.get("default", "sample").unwrap();
    assert!(is_ready(&home.status.unwrap().conditions));
}

#[tokio::test]
async fn a_room_that_is_gone_has_no_thermostat() {
    let api = FakeApi::new();
    api.put(&home());
    api.reconcile(register, "sample").await.unwrap();
    let mut home: Home = api.get("default", "sample").unwrap();
    home.spec.rooms.pop();
    api.put(&home);
    api.reconcile(register, "sample").await.unwrap();
    let thermostats: ConfigMap = api.get("default", "sample").unwrap();
    let rooms: Vec<_> = thermostats.data.unwrap().into_keys().collect();
    assert_eq!(rooms, ["kitchen"]);
}

/// HOM-10: a time is a time of Kubernetes. The object does not change at that time.
#[tokio::test]
async fn the_heating_is_lowered_until_the_owners_come_back() {
    let api = FakeApi::new();
    let mut away = home();
    away.spec.away_until = Some(Time(Timestamp::now() + HOUR));
    let mut run = api.run(register).unwrap();
    api.put(&away);
    let lowered =
        || async { Ok((temperatures(&api) == Some(["7", "7"].map(str::to_owned))).then_some(())) };
    eventually(SOON, "lower temperatures", lowered)
        .await
        .unwrap();
    run.idle().await.unwrap();

    api.advance(HOUR);
    run.idle().await.unwrap();
    assert_eq!(temperatures(&api).unwrap(), ["20", "17.5"]);

    let status = || async {
        let home: Home = api.get("default", "sample").unwrap();
        Ok(home.status.filter(|status| status.heating == "Comfort"))
    };
    eventually(SOON, "the status", status).await.unwrap();
    let events = || async {
        let mut events: Vec<_> = api
            .all::<Event>()
            .into_iter()
            .filter_map(|event| event.reason)
            .collect();
        events.sort();
        Ok((events == ["Away", "Comfort"]).then_some(()))
    };
    eventually(SOON, "two events", events).await.unwrap();
}

#[test]
fn a_home_survives_faults() {
    let register = |manager: &mut Manager| {
        register(manager);
        crate::webhooks::register(manager);
    };
    simulate(register).run();
}
