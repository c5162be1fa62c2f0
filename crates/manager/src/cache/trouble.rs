//! Explains why a watch fails, and how to fix it.

use kube::runtime::watcher;

use crate::{
    cache::{object::Cached, progress::Trouble},
    error::chain,
    permission,
};

/// Explains why the watch of `K` fails with this error. The advice depends on the code of the API server, because
/// messages are for people and may change.
pub(crate) fn of<K: Cached>(error: &watcher::Error) -> Trouble {
    let (code, cause) = describe(error);
    let group = K::group(&());
    let (plural, api_version) = (K::plural(&()), K::api_version(&()));
    let help = match code {
        Some(404) if group.is_empty() => {
            format!("does this cluster serve `{plural}` of `{api_version}`?")
        }
        Some(404) => format!(
            "is the CustomResourceDefinition `{plural}.{group}` installed, and does it serve `{api_version}`?"
        ),
        Some(403) => {
            let comment = permission::comment(&group, &plural, "list;watch");
            format!("it needs the permission `{comment}`")
        }
        Some(400) => format!(
            "if `manager.cache` selects `{plural}` by fields, does the API server support these?"
        ),
        Some(401) => "does the API server accept the credentials of this process?".to_owned(),
        Some(410) => "all objects are listed again".to_owned(),
        _ => "the watch is tried again".to_owned(),
    };
    Trouble { cause, help }
}

/// The code of the API server, if it responded, and the reason.
fn describe(error: &watcher::Error) -> (Option<u16>, String) {
    use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
    let (doing, status) = match error {
        InitialListFailed(kube::Error::Api(status)) => ("list", status),
        WatchStartFailed(kube::Error::Api(status)) | WatchFailed(kube::Error::Api(status)) => {
            ("watch", status)
        }
        WatchError(status) => ("watch", status),
        _ => return (None, chain(error)),
    };
    let message = status.message.trim();
    let message = if message.is_empty() {
        &status.reason
    } else {
        message
    };
    (Some(status.code), format!("cannot {doing}: {message}"))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Secret};
    use kube::core::Status;

    use super::*;

    fn status(code: u16, message: &str) -> Box<Status> {
        Box::new(Status {
            code,
            message: message.to_owned(),
            ..Status::default()
        })
    }

    fn list(code: u16, message: &str) -> watcher::Error {
        watcher::Error::InitialListFailed(kube::Error::Api(status(code, message)))
    }

    #[test]
    fn the_help_depends_on_the_status_code() {
        let trouble = of::<Deployment>(&list(403, "deployments.apps is forbidden"));
        assert_eq!(trouble.cause, "cannot list: deployments.apps is forbidden");
        let rule = "// +kbr:rbac:groups=apps,resources=deployments,verbs=list;watch";
        assert!(trouble.help.contains(rule), "{trouble}");
        let trouble = of::<Secret>(&watcher::Error::WatchError(status(403, "")));
        assert!(
            trouble.help.contains("groups=core,resources=secrets"),
            "{trouble}"
        );
        let trouble = of::<Deployment>(&list(400, "field label not supported: spec.a"));
        assert!(
            trouble.help.contains("selects `deployments` by fields"),
            "{trouble}"
        );
        let trouble = of::<Deployment>(&list(404, "404 page not found"));
        assert!(
            trouble.help.contains("`deployments.apps` installed"),
            "{trouble}"
        );
        assert!(trouble.help.contains("serve `apps/v1`"), "{trouble}");
    }

    #[test]
    fn a_number_in_a_message_is_not_a_status_code() {
        let trouble = of::<Deployment>(&list(500, "etcd: 403 404 forbidden NotFound"));
        assert_eq!(trouble.help, "the watch is tried again");
    }
}
