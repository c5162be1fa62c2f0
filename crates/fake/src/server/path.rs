//! The path of an object.

use std::fmt;

/// The path of an object, a collection or a subresource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// `/api/v1` or `/apis/<group>/<version>`
    pub root: String,
    pub plural: String,
    /// Empty for a cluster-scoped kind, and for a collection in all namespaces.
    pub namespace: String,
    /// Empty for a collection.
    pub name: String,
    pub subresource: String,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.resource())?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        Ok(())
    }
}

impl Path {
    /// Parses the path of a request; `None` if it is not a path of objects.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let roots = match *parts.first()? {
            "api" => 2,
            "apis" => 3,
            _ => return None,
        };
        if parts.len() <= roots {
            return None;
        }
        let root = format!("/{}", parts[..roots].join("/"));
        parts.drain(..roots);
        let mut namespace = "";
        if parts.len() > 2
            && parts[0] == "namespaces"
            && !["status", "finalize"].contains(&parts[2])
        {
            namespace = parts[1];
            parts.drain(..2);
        }
        let part = |n: usize| parts.get(n).copied().unwrap_or_default().to_owned();
        Some(Self {
            root,
            plural: part(0),
            namespace: namespace.to_owned(),
            name: part(1),
            subresource: parts.get(2..).unwrap_or_default().join("/"),
        })
    }

    /// A path that is not a path of objects.
    #[must_use]
    pub fn nowhere(path: &str) -> Self {
        Self {
            root: "/api/v1".to_owned(),
            plural: path.to_owned(),
            namespace: String::new(),
            name: String::new(),
            subresource: String::new(),
        }
    }

    /// `v1` or `<group>/<version>`, as in `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        let root = self.root.trim_start_matches("/apis/");
        root.trim_start_matches("/api/")
    }

    /// The group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        let found = self.api_version().split_once('/');
        found.map_or("", |(group, _)| group)
    }

    #[must_use]
    pub fn version(&self) -> &str {
        let api_version = self.api_version();
        api_version.rsplit('/').next().unwrap_or(api_version)
    }

    /// `pods`, or `<plural>.<group>`.
    #[must_use]
    pub fn resource(&self) -> String {
        match self.group() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// The path as it is in a URL.
    #[must_use]
    pub fn url(&self) -> String {
        let Self {
            root,
            plural,
            namespace,
            name,
            ..
        } = self;
        match namespace.as_str() {
            "" => format!("{root}/{plural}/{name}"),
            _ => format!("{root}/namespaces/{namespace}/{plural}/{name}"),
        }
    }

    /// Whether both have the same kind, possibly in different versions.
    #[must_use]
    pub fn same_kind(&self, other: &Self) -> bool {
        self.plural == other.plural && self.group() == other.group()
    }

    /// Whether this collection contains the object at `path`.
    pub(super) fn holds(&self, path: &Self) -> bool {
        path.root == self.root
            && path.plural == self.plural
            && (self.namespace.is_empty() || path.namespace == self.namespace)
    }

    /// The path of the object that this subresource belongs to.
    #[must_use]
    pub fn object(&self) -> Self {
        Self {
            subresource: String::new(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_parsed() {
        let path = |text| {
            let path = Path::parse(text).unwrap();
            let parts = [
                path.api_version(),
                &path.namespace,
                &path.plural,
                &path.name,
                &path.subresource,
            ];
            parts.join(" ")
        };
        for (text, parts) in [
            ("/api/v1/pods", "v1  pods  "),
            ("/api/v1/namespaces/a/pods/b/status", "v1 a pods b status"),
            ("/api/v1/namespaces/a", "v1  namespaces a "),
            ("/api/v1/namespaces/a/status", "v1  namespaces a status"),
            ("/apis/g/v1/namespaces/a/things", "g/v1 a things  "),
            ("/apis/g/v1/things/a/b/c", "g/v1  things a b/c"),
        ] {
            assert_eq!(path(text), parts);
        }
        for text in ["/version", "/apis/g/v1", "/api"] {
            assert!(Path::parse(text).is_none(), "{text}");
        }
    }
}
