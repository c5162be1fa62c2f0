//! What keeps the new operator from replacing the one in Go in place, so that both would run or even lead.

use kbr_scaffold::golang::Found;
use kbr_scaffold::project::Head;

/// A sentence for each.
pub fn notes(found: &Found, head: &Head) -> Vec<String> {
    let names = head.names();
    let ours = (names.deployment, names.namespace);
    let mut notes = Vec::new();
    let theirs = found.manager.deployed.as_ref();
    match theirs {
        Some(theirs) if *theirs == ours => {}
        Some((name, namespace)) => notes.push(format!(
            "the operator in Go is the Deployment `{name}` in `{namespace}`, and this one is `{}` in `{}`, so both would run, and lead if the namespaces differ: right before you deploy, `kubectl -n {namespace} delete deployment {name}`",
            ours.0, ours.1
        )),
        None => notes.push(format!(
            "`config/default` and `config/manager` do not say which Deployment the operator in Go is, and this one is `{}` in `{}`: if it has another name or namespace, both would run; find it with `kubectl get deployments --all-namespaces`, and delete it right before you deploy",
            ours.0, ours.1
        )),
    }
    if found.lease.is_none() {
        let namespace = theirs.map_or(&ours.1, |it| &it.1);
        notes.push(format!(
            "no Go file says by which Lease the operator leads, so both would lead: find its name with `kubectl -n {namespace} get leases`, and import the project again with `--leader-election-id NAME`"
        ));
    }
    notes
}
