//! The process of a test is killed, or its supervisors.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Child;

use kbr_envtest::{Envtest, progress};
use rustix::process::{Pid, Signal, kill_process};

use super::processes::{
    CLUSTER, CONTROL_PLANE, ROLE, processes, servers, start_in_another_process, wait_until,
};

#[test]
#[ignore = "other tests run it as a process"]
fn the_process_of_a_test() {
    match std::env::var(ROLE).as_deref() {
        Ok(role @ ("control plane" | "cluster")) => {
            let builder = Envtest::builder();
            let builder = if role == "cluster" {
                builder.cluster()
            } else {
                builder
            };
            let env = builder.start().unwrap();
            progress("still", "reported");
            println!("\nkubeconfig {}", env.kubeconfig().display());
            // Until this process is killed.
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
        Ok(store) => println!(
            "\n{:?}",
            Envtest::builder().store(store).start().unwrap_err()
        ),
        Err(_) => {}
    }
}

/// Kills the process and waits until nothing is left of its servers.
fn kill(mut process: Child, folder: &Path) {
    process.kill().unwrap();
    process.wait().unwrap();
    wait_until("its processes have ended", || processes(folder).is_empty());
}

#[test]
fn the_servers_end_and_their_folder_vanishes_if_the_process_is_killed() {
    for (role, expected) in [("control plane", &CONTROL_PLANE[..]), ("cluster", &CLUSTER)] {
        let (mut process, folder) = start_in_another_process(role);
        let mut stderr = process.stderr.take().unwrap();
        assert_eq!(servers(&folder), expected);
        kill(process, &folder);
        assert!(!folder.exists(), "the last process removes it");
        // The library prints nothing, and leaves it to its caller what that prints.
        let mut printed = String::new();
        stderr.read_to_string(&mut printed).unwrap();
        assert_eq!(printed, "       still reported\n");
    }
}

#[test]
fn the_servers_end_with_the_process_even_if_the_supervisors_are_killed() {
    let (process, folder) = start_in_another_process("cluster");
    let test = Pid::from_child(&process);
    let mut supervisors = processes(&folder);
    supervisors.retain(|supervisor| supervisor.parent == test);
    assert_eq!(supervisors.len(), CLUSTER.len(), "{supervisors:?}");
    for supervisor in supervisors {
        kill_process(supervisor.id, Signal::KILL).unwrap();
    }
    assert_eq!(servers(&folder), CLUSTER);
    kill(process, &folder);
    // Unless the start of another test has found it already.
    let _ = fs::remove_dir_all(&folder);
}
