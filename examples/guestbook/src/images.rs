//! The images that Guestbooks may run: configuration of the operator that its controller and its webhooks share.

/// The flags of this configuration.
#[derive(Clone, Debug, clap::Args)]
pub struct Images {
    /// The repositories whose images Guestbooks may run, separated by commas; one that ends with `/` includes those below it
    #[arg(
        long = "allowed-images",
        value_name = "REPOSITORY",
        value_delimiter = ','
    )]
    #[arg(default_value = "us-docker.pkg.dev/google-samples/")]
    #[arg(help_heading = "Images")]
    pub allowed: Vec<String>,

    /// The image of a Guestbook that names none
    #[arg(long = "default-image", value_name = "IMAGE")]
    #[arg(default_value = "us-docker.pkg.dev/google-samples/containers/gke/gb-frontend:v5")]
    #[arg(help_heading = "Images")]
    pub default: String,
}

impl Images {
    /// Rejects a default image that the webhook would reject.
    pub fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.allow(&self.default),
            "the default image `{}` is not allowed; nothing was started\n\
             help: add its repository to `--allowed-images`",
            self.default
        );
        Ok(())
    }

    /// Whether a Guestbook may run `image`.
    pub fn allow(&self, image: &str) -> bool {
        let repository = repository(image);
        self.allowed.iter().any(|allowed| {
            repository == allowed || allowed.ends_with('/') && repository.starts_with(allowed)
        })
    }
}

/// The image without its tag and digest.
fn repository(image: &str) -> &str {
    let (name, _digest) = image.split_once('@').unwrap_or((image, ""));
    match name.rsplit_once(':') {
        // Not the port of a registry.
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(allowed: &[&str], default: &str) -> Images {
        Images {
            allowed: allowed.iter().copied().map(str::to_owned).collect(),
            default: default.to_owned(),
        }
    }

    #[track_caller]
    fn check(allowed: &str, image: &str, expected: bool) {
        assert_eq!(images(&[allowed], "").allow(image), expected, "{image}");
    }

    #[test]
    fn a_repository_allows_its_tags_and_digests_and_no_other_repository() {
        check("ghcr.io/a/book", "ghcr.io/a/book", true);
        check("ghcr.io/a/book", "ghcr.io/a/book:v1", true);
        check("ghcr.io/a/book", "ghcr.io/a/book:v1@sha256:00", true);
        check("ghcr.io/a/book", "ghcr.io/a/books:v1", false);
        check("ghcr.io/a/book", "ghcr.io/a/book/x:v1", false);
    }

    #[test]
    fn a_slash_at_the_end_allows_everything_below() {
        check("ghcr.io/a/", "ghcr.io/a/book:v1", true);
        check("ghcr.io/a/", "ghcr.io/ab:v1", false);
        check("ghcr.io/a/", "evil.io/ghcr.io/a/book", false);
    }

    #[test]
    fn the_port_of_a_registry_is_not_a_tag() {
        check("localhost:5000/book", "localhost:5000/book", true);
        check("localhost:5000/book", "localhost:5000/book:v1", true);
        check("localhost", "localhost:5000/book", false);
    }

    #[test]
    fn the_default_image_must_be_allowed() {
        assert!(images(&["a/"], "a/b:v1").check().is_ok());
        let error = images(&["a/"], "c:v1").check().unwrap_err().to_string();
        assert!(error.contains("`c:v1` is not allowed"), "{error}");
    }
}
