//! The API server's audit log: one line of JSON for each request.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::folder;

/// The name of the policy in the folder of a control plane.
const POLICY: &str = "audit-policy.json";

/// Creates an empty log that only the user can read, with its folder, and writes the policy into the folder of the control plane.
///
/// # Errors
/// The log cannot be written.
pub fn prepare(control_plane: &Path, log: &Path) -> anyhow::Result<()> {
    let mut create = OpenOptions::new();
    create.write(true).create(true).truncate(true).mode(0o600);
    let parent = log.parent().unwrap_or(log);
    let created = fs::create_dir_all(parent).and_then(|()| create.open(log));
    created.with_context(|| format!("cannot write the audit log `{}`", log.display()))?;
    folder::write(&control_plane.join(POLICY), &policy().to_string())
}

/// What is logged: who requested what, the decision of RBAC, and the status of the response, but no objects.
///
/// The API server evaluates a policy before impersonation: requests of service accounts that the administrator impersonates look
/// like the administrator's own. Long-running requests, such as watches, are logged when they start and when they end; others
/// when they end.
fn policy() -> Value {
    let discovery = ["/api", "/api/*", "/apis", "/apis/*", "/openapi/*"];
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": true,
        "rules": [
            { "level": "None", "users": ["system:apiserver"] },
            { "level": "None", "nonResourceURLs": discovery },
            { "level": "Metadata" },
        ],
    })
}

/// The flags of kube-apiserver that write the log, with their values.
pub fn flags(control_plane: &Path, log: &Path) -> [(&'static str, OsString); 6] {
    [
        ("--audit-policy-file", control_plane.join(POLICY).into()),
        ("--audit-log-path", log.into()),
        // Each event is written before its request ends, so none is lost when the server is killed.
        ("--audit-log-mode", "blocking".into()),
        // One file, however long: the unit is a megabyte. In some versions, 0 means 100.
        ("--audit-log-maxsize", "1000000000".into()),
        // Otherwise the server deletes files next to the log whose names look like older parts of it.
        ("--audit-log-maxage", "0".into()),
        ("--audit-log-maxbackup", "0".into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_new_log_is_private_and_an_old_one_is_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        prepare(folder.path(), &log).unwrap();
        assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&log, "old").unwrap();
        prepare(folder.path(), &log).unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), "");
    }

    #[test]
    fn the_folder_of_a_log_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("target/audit.log");
        prepare(folder.path(), &log).unwrap();
        assert!(log.is_file());
    }

    #[test]
    fn a_log_below_a_file_is_an_error_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "").unwrap();
        let error = prepare(folder.path(), &folder.path().join("a/log")).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot write the audit log `"));
    }
}
