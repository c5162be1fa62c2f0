//! One line of an audit log -> what the API server decided about the permissions of a user.

use serde::Deserialize;

use super::access::Access;

/// An event of API group `audit.k8s.io`, without what is not needed here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    kind: String,
    api_version: String,
    stage: Stage,
    verb: String,
    user: User,
    /// Whom the user acts as.
    impersonated_user: Option<User>,
    #[serde(rename = "requestURI", default)]
    request_uri: String,
    object_ref: Option<ObjectRef>,
    response_status: Option<Status>,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Stage {
    RequestReceived,
    /// Only of long-running requests, such as watches.
    ResponseStarted,
    ResponseComplete,
    Panic,
}

#[derive(Debug, Default, Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    namespace: String,
    name: String,
    api_group: String,
    resource: String,
    subresource: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    message: String,
}

#[derive(Debug, Default, Deserialize)]
struct Annotations {
    #[serde(rename = "authorization.k8s.io/decision", default)]
    decision: String,
    #[serde(rename = "authorization.k8s.io/reason", default)]
    reason: String,
}

/// The API server's decision about one permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub access: Access,
    /// Empty for objects of the cluster, and for all namespaces.
    pub namespace: String,
    pub verdict: Verdict,
}

/// Whether the API server allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By which role.
    Allowed(String),
    /// With the message to the client.
    Denied(String),
}

impl Event {
    /// Parses a line.
    ///
    /// # Errors
    /// Why it is not an audit event.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let event: Self = serde_json::from_slice(line).map_err(|error| {
            let text = error.to_string();
            // The line is that of the log, which is counted elsewhere.
            let (reason, _) = text.rsplit_once(" at line ").unwrap_or((&text, ""));
            reason.to_owned()
        })?;
        if event.kind != "Event" || !event.api_version.starts_with("audit.k8s.io/") {
            return Err(format!("it is `{}` of `{}`", event.kind, event.api_version));
        }
        Ok(event)
    }

    /// The namespace and name of the `ServiceAccount` that acted; `None` for other users.
    pub fn account(&self) -> Option<(&str, &str)> {
        let name = self.user().strip_prefix("system:serviceaccount:")?;
        name.split_once(':')
    }

    fn user(&self) -> &str {
        let user = self.impersonated_user.as_ref().unwrap_or(&self.user);
        &user.username
    }

    /// The permissions that the request needed, as far as the log shows. Requests that never came to authorization needed none.
    pub fn decisions(&self) -> Vec<Decision> {
        let complete = match self.stage {
            Stage::RequestReceived => return Vec::new(),
            Stage::ResponseStarted => false,
            Stage::ResponseComplete | Stage::Panic => true,
        };
        let (asked, namespace) = self.asked();
        let decided = |access: Access, verdict: Verdict| Decision {
            access,
            namespace: namespace.to_owned(),
            verdict,
        };
        let allowed = |access: Access| {
            let reason = self.annotations.reason.clone();
            decided(access, Verdict::Allowed(reason))
        };
        let denied = |access: Access| decided(access, Verdict::Denied(self.message().to_owned()));
        let mut found = Vec::new();
        match self.annotations.decision.as_str() {
            "forbid" if complete => found.push(denied(asked)),
            // It follows when the request ends.
            "forbid" => {}
            decision => {
                if decision == "allow" {
                    found.extend(self.implied(&asked).map(allowed));
                    found.push(allowed(asked.clone()));
                }
                if complete && self.code() == 403 {
                    found.extend(self.denied_within(&asked).map(denied));
                }
            }
        }
        found
    }

    /// What the request asks for, and its namespace.
    pub fn asked(&self) -> (Access, &str) {
        let verb = self.verb.clone();
        let Some(object) = &self.object_ref else {
            let url = self.request_uri.split('?').next().unwrap_or_default();
            let access = Access {
                url: url.to_owned(),
                verb,
                ..Access::default()
            };
            return (access, "");
        };
        let (mut resource, mut name) = (object.resource.clone(), object.name.clone());
        if !object.subresource.is_empty() {
            resource = format!("{resource}/{}", object.subresource);
        } else if verb == "create" {
            // It comes from the new object; authorization does not know it.
            name.clear();
        }
        let access = Access {
            group: object.api_group.clone(),
            resource,
            name,
            url: String::new(),
            verb,
        };
        (access, &object.namespace)
    }

    /// The permission that a request needs besides its own: to create, if a patch or an update creates the object, or if a GET
    /// opens a stream to a Pod; to list, if a watch begins with a list, because clients list where lists are not streamed.
    fn implied(&self, asked: &Access) -> Option<Access> {
        const STREAMS: [&str; 3] = ["pods/attach", "pods/exec", "pods/portforward"];
        let opens_stream = asked.group.is_empty() && STREAMS.contains(&asked.resource.as_str());
        let verb = match asked.verb.as_str() {
            "patch" | "update" if self.code() == 201 => "create",
            "get" if opens_stream => "create",
            "watch" if self.request_uri.contains("sendInitialEvents=true") => "list",
            _ => return None,
        };
        Some(Access {
            verb: verb.to_owned(),
            ..asked.clone()
        })
    }

    /// The permission that the API server denied while it handled a request that was allowed.
    fn denied_within(&self, asked: &Access) -> Option<Access> {
        let message = self.message();
        let another = |resource: &str, verb: &str| Access {
            resource: resource.to_owned(),
            verb: verb.to_owned(),
            ..Access::default()
        };
        if message.contains("cannot set an ownerRef on a resource you can't delete") {
            return Some(Access {
                verb: "delete".to_owned(),
                ..asked.clone()
            });
        }
        if message.contains("a resource you can't set finalizers on") {
            // The message does not name the owner.
            return Some(Access {
                group: "<the owner's group>".to_owned(),
                ..another("<the owner's resource>/finalizers", "update")
            });
        }
        let (_, rest) = message.split_once(&format!("User \"{}\" cannot ", self.user()))?;
        let (verb, rest) = rest.split_once(" resource \"")?;
        let (resource, rest) = rest.split_once("\" in API group \"")?;
        let (group, _) = rest.split_once('"')?;
        Some(Access {
            group: group.to_owned(),
            ..another(resource, verb)
        })
    }

    /// Whether it is the begin of a watch.
    pub fn begins_watch(&self) -> bool {
        self.verb == "watch" && self.stage == Stage::ResponseStarted
    }

    /// The name of the object, also of one that is created; empty if the request does not have it.
    pub fn name(&self) -> &str {
        self.object_ref.as_ref().map_or("", |it| &it.name)
    }

    /// The HTTP status of the response; 0 before it.
    pub fn code(&self) -> u16 {
        self.response_status
            .as_ref()
            .map_or(0, |status| status.code)
    }

    /// The message of a failed response.
    pub fn message(&self) -> &str {
        self.response_status
            .as_ref()
            .map_or("", |status| &status.message)
    }
}

#[cfg(test)]
mod tests;
