//! The addresses from which kbr downloads: over HTTPS, or over HTTP from this machine.

use ureq::http::Uri;

/// How far a download travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Over a network, with HTTPS.
    Https,
    /// On this machine, with HTTP.
    Loopback,
}

/// The reach of `url`, if kbr may download from there.
pub fn reach(url: &str) -> Result<Reach, String> {
    let not_https = || format!("`{url}` is not an https:// URL");
    let uri: Uri = url.parse().map_err(|_| not_https())?;
    let host = uri.host().unwrap_or_default();
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(Reach::Https),
        Some("http") if ["127.0.0.1", "localhost", "[::1]"].contains(&host) => Ok(Reach::Loopback),
        Some("http") => Err(format!(
            "`{url}` is not HTTPS; HTTP is allowed only on this machine"
        )),
        _ => Err(not_https()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_leaves_this_machine() {
        assert_eq!(reach("https://example.com/a"), Ok(Reach::Https));
        assert_eq!(reach("https://127.0.0.1/a"), Ok(Reach::Https));
        for url in [
            "http://127.0.0.1:80/a",
            "http://localhost/a",
            "http://[::1]:8080/",
        ] {
            assert_eq!(reach(url), Ok(Reach::Loopback), "{url}");
        }
        for url in [
            "",
            "/index.yaml",
            "example.com/a",
            "file:///etc/passwd",
            "ftp://example.com/",
            "https:///a",
            "http://example.com/a",
            "http://127.0.0.1@example.com/",
            "http://127.0.0.1.example.com/",
            "http://0x7f.1/",
            "http://exa mple.com/",
        ] {
            assert!(reach(url).is_err(), "{url}");
        }
    }
}
