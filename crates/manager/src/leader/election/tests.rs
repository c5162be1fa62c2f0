//! Candidates for one lease, on the fake API server.

use kbr_testing::FakeApi;

use super::*;

fn election(identity: &str) -> Election {
    Election {
        namespace: "ns".to_owned(),
        name: "l".to_owned(),
        identity: identity.to_owned(),
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    }
}

fn elector(api: &FakeApi, identity: &str) -> Elector {
    Elector::new(api.client(), election(identity), Fence::closed())
}

fn spec(api: &FakeApi) -> LeaseSpec {
    api.get::<Lease>("ns", "l").unwrap().spec.unwrap()
}

fn holder(api: &FakeApi) -> String {
    spec(api).holder_identity.unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_candidate_leads_and_then_hands_over() {
    let api = FakeApi::new();
    let (mut a, mut b) = (elector(&api, "a"), elector(&api, "b"));
    let deadline = a.acquire().await;
    let both = async {
        tokio::select! { () = a.hold(deadline) => {}, _ = b.acquire() => {} }
    };
    assert!(timeout(Duration::from_secs(60), both).await.is_err());
    assert_eq!(holder(&api), "a");
    assert!(a.fence.is_open() && !b.fence.is_open());
    a.release().await;
    assert!(!a.fence.is_open());
    let next = timeout(Duration::from_secs(5), b.acquire()).await;
    next.expect("a released lease is free at once");
    assert_eq!(holder(&api), "b");
    assert_eq!(spec(&api).lease_transitions, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_stops_before_another_starts() {
    let api = FakeApi::new();
    let mut a = elector(&api, "a");
    let deadline = a.acquire().await;
    api.cut_off(true);
    let start = Instant::now();
    a.hold(deadline).await;
    assert!(start.elapsed() <= Duration::from_secs(10));
    assert!(!a.fence.is_open());

    api.cut_off(false);
    elector(&api, "b").acquire().await;
    assert!(start.elapsed() > Duration::from_secs(15));
    assert_eq!(holder(&api), "b");
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_renewal_leaves_time_for_another_attempt() {
    let api = FakeApi::new();
    let mut a = elector(&api, "a");
    let deadline = a.acquire().await;
    // Requests sent while it is cut off are never answered.
    let cut_off = async |seconds| {
        api.cut_off(true);
        sleep(Duration::from_secs(seconds)).await;
        api.cut_off(false);
    };
    let faults = async {
        for _ in 0..3 {
            cut_off(3).await;
            sleep(Duration::from_secs(60)).await;
        }
    };
    tokio::select! {
        () = a.hold(deadline) => panic!("it stopped leading"),
        () = faults => {}
    }
    tokio::join!(cut_off(1), a.release());
    assert_eq!(holder(&api), "");
}

#[tokio::test(start_paused = true)]
async fn the_fence_closes_at_the_deadline_without_the_elector() {
    let api = FakeApi::new();
    let mut a = elector(&api, "a");
    a.acquire().await;
    tokio::time::advance(Duration::from_secs(9)).await;
    assert!(a.fence.is_open());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!a.fence.is_open());
}

#[tokio::test(start_paused = true)]
async fn one_of_two_candidates_acquires_an_expired_lease() {
    let api = FakeApi::new();
    elector(&api, "gone").acquire().await;
    let (mut a, mut b) = (elector(&api, "a"), elector(&api, "b"));
    let both = async { tokio::join!(a.acquire(), b.acquire()) };
    assert!(timeout(Duration::from_secs(25), both).await.is_err());
    assert_eq!(spec(&api).lease_transitions, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_taken_stops() {
    let api = FakeApi::new();
    let mut a = elector(&api, "a");
    let deadline = a.acquire().await;
    let mut lease = api.get::<Lease>("ns", "l").unwrap();
    lease.spec.as_mut().unwrap().holder_identity = Some("b".to_owned());
    api.put(&lease);
    let start = Instant::now();
    a.hold(deadline).await;
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(!a.fence.is_open());
}

#[test]
fn inconsistent_durations_are_rejected() {
    let mut election = election("a");
    assert!(election.check().is_ok());
    election.renew_deadline = election.lease_duration;
    let error = election.check().unwrap_err().to_string();
    assert!(
        error.contains("help: `--leader-election-lease-duration`"),
        "{error}"
    );
}
