//! The kinds that an API server serves.

use anyhow::Context as _;
use serde_json::Value;

/// The answer to a GET of a path.
pub type Get<'a> = &'a dyn Fn(&str) -> anyhow::Result<Value>;

/// A kind in one version, which can be listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Served {
    /// Empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The name in URLs.
    pub plural: String,
    /// The name in objects.
    pub kind: String,
    /// Whether each object has a namespace.
    pub namespaced: bool,
    /// Whether clients should use this version of the group.
    pub preferred: bool,
}

impl Served {
    /// `/apis/crew.example.com/v1/namespaces/navy/captains`; all namespaces if it is empty.
    #[must_use]
    pub fn path(&self, namespace: &str) -> String {
        path(&self.group, &self.version, &self.plural, namespace)
    }
}

/// The path of a collection.
#[must_use]
pub fn path(group: &str, version: &str, plural: &str, namespace: &str) -> String {
    let root = root(group, version);
    match namespace {
        "" => format!("{root}/{plural}"),
        namespace => format!("{root}/namespaces/{namespace}/{plural}"),
    }
}

fn root(group: &str, version: &str) -> String {
    match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    }
}

/// All kinds of the groups that `is_wanted`, in each served version. A group that does not answer, such as that of an aggregated API, is
/// left out, and named in `unread`.
///
/// # Errors
/// The API server does not answer.
pub fn served(
    get: Get<'_>,
    is_wanted: &dyn Fn(&str) -> bool,
    unread: &mut Vec<String>,
) -> anyhow::Result<Vec<Served>> {
    let mut versions = vec![(String::new(), "v1".to_owned(), true)];
    let groups = get("/apis")?;
    for group in list(&groups["groups"]) {
        let name = text(&group["name"]);
        let preferred = &group["preferredVersion"]["version"];
        versions.extend(list(&group["versions"]).map(|it| {
            let is_preferred = it["version"] == *preferred;
            (
                name.to_owned(),
                text(&it["version"]).to_owned(),
                is_preferred,
            )
        }));
    }
    let mut all = Vec::new();
    for (group, version, preferred) in versions {
        if !is_wanted(&group) {
            continue;
        }
        let found = match get(&root(&group, &version)) {
            Ok(found) => found,
            Err(error) => {
                unread.push(format!("the API `{group}/{version}`: {error:#}"));
                continue;
            }
        };
        let resources = list(&found["resources"]).filter(|it| can_be_listed(it));
        all.extend(resources.map(|it| Served {
            group: group.clone(),
            version: version.clone(),
            plural: text(&it["name"]).to_owned(),
            kind: text(&it["kind"]).to_owned(),
            namespaced: it["namespaced"] == true,
            preferred,
        }));
    }
    Ok(all)
}

fn can_be_listed(resource: &Value) -> bool {
    !text(&resource["name"]).contains('/') && list(&resource["verbs"]).any(|it| it == "list")
}

/// All objects at the path of a collection, page after page. Each gets the `apiVersion` and `kind` that lists leave out.
///
/// # Errors
/// The API server does not answer, or refuses.
pub fn objects(get: Get<'_>, path: &str, selector: &str) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    let mut page = String::new();
    loop {
        let mut answer = get(&format!("{path}?limit=500{selector}{page}"))?;
        let version = answer["apiVersion"].clone();
        let kind = text(&answer["kind"]);
        let kind = Value::from(
            kind.strip_suffix("List")
                .context("the answer is not a list")?,
        );
        let Value::Array(items) = answer["items"].take() else {
            return Ok(all);
        };
        for mut item in items {
            if let Some(object) = item.as_object_mut() {
                object
                    .entry("apiVersion")
                    .or_insert_with(|| version.clone());
                object.entry("kind").or_insert_with(|| kind.clone());
                all.push(item);
            }
        }
        match text(&answer["metadata"]["continue"]) {
            "" => return Ok(all),
            token => page = format!("&continue={}", percent_encoded(token)),
        }
    }
}

/// As the value of a parameter of a URL.
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// The elements of a list; none of anything else.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text; empty for anything else.
#[must_use]
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
