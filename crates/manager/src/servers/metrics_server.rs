//! Serves `/metrics`, and the handlers of the author, to clients that are authorized in the cluster.

use std::sync::Arc;

use hyper::{Method, Response, StatusCode, header::AUTHORIZATION};

use crate::{
    metrics::{MEDIA_TYPE, Metrics},
    servers::{
        access_reviews::{Reviews, User},
        handlers::{self, Handlers},
        http::{Handler, Reply, Request},
        room::Room,
    },
};

/// The path of the metrics.
const METRICS: &str = "/metrics";

/// The room for the bodies that the handlers of the author get, in bytes.
const ROOM: usize = 24 << 20;

/// What the server serves.
pub(crate) struct Pages {
    pub(crate) metrics: Metrics,
    pub(crate) handlers: Handlers,
    /// Decides who may use which method on which path; `None` to serve everyone.
    pub(crate) reviews: Option<Reviews>,
}

pub(crate) fn handler(pages: Pages) -> Handler {
    let (pages, room) = (Arc::new(pages), Room::of(ROOM));
    Arc::new(move |request| {
        let (pages, room) = (pages.clone(), room.clone());
        Box::pin(async move { pages.answer(&room, request).await })
    })
}

impl Pages {
    async fn answer(&self, room: &Room, mut request: Request) -> Response<Vec<u8>> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let handler = self.handlers.get(&path);
        // No review is needed for a path that does not exist.
        if handler.is_none() && path != METRICS {
            return Reply::status(StatusCode::NOT_FOUND).into();
        }
        if handler.is_none() && method != Method::GET && method != Method::HEAD {
            return Reply::status(StatusCode::METHOD_NOT_ALLOWED).into();
        }
        // RBAC has verbs in lower case alone, so the permission to `GET` must not be that to `get`, which a handler
        // may take for a method that changes something.
        if method.as_str().contains(|at: char| at.is_ascii_lowercase()) {
            return Reply::status(StatusCode::METHOD_NOT_ALLOWED).into();
        }
        if let Some(reviews) = &self.reviews {
            let answer = match token(&request).map(str::to_owned) {
                Some(token) => reviews.ask(&token, &method, &path).await,
                None => Err(StatusCode::UNAUTHORIZED),
            };
            match answer {
                Ok(user) => request.insert(User::clone(&user)),
                Err(status) => return Reply::status(status).into(),
            }
        }
        match handler {
            Some(handler) => handlers::answer(handler, room, request).await,
            None => self.metrics().into(),
        }
    }

    fn metrics(&self) -> Reply {
        match self.metrics.text() {
            Ok(body) => Reply {
                status: StatusCode::OK,
                media_type: MEDIA_TYPE,
                body,
            },
            Err(_) => Reply::status(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

/// The bearer token of a request.
fn token(request: &Request) -> Option<&str> {
    let header = request.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use kbr_testing::FakeApi;

    use super::*;
    use crate::harness;

    /// A server with a page that echoes the body and the number of headers, and pages that fail, panic and hang.
    fn pages(reviews: Option<Reviews>) -> Pages {
        let mut manager = harness::on(&FakeApi::new());
        manager.serve("/echo", async |request| {
            let headers = request.headers().len();
            let mut text = format!("{} {headers} ", request.method()).into_bytes();
            text.extend_from_slice(request.body());
            Ok(Response::builder().status(202).body(text)?)
        });
        manager.serve("/fail", async |_| anyhow::bail!("no steam"));
        manager.serve("/panic", async |_| panic!("no steam"));
        manager.serve("/hang", |_| std::future::pending());
        assert_eq!(manager.mistakes, [""; 0]);
        Pages {
            metrics: Metrics::new(),
            handlers: manager.handlers,
            reviews,
        }
    }

    async fn get(pages: &Pages, method: &str, path: &str, token: Option<&str>) -> (u16, String) {
        let mut request = hyper::Request::builder().method(method).uri(path);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let response = pages.answer(&Room::of(ROOM), parts.into()).await;
        let body = String::from_utf8(response.body().clone()).unwrap();
        (response.status().as_u16(), body)
    }

    #[tokio::test]
    async fn without_access_reviews_everyone_gets_metrics_and_the_pages_of_the_author() {
        let pages = pages(None);
        assert_eq!(get(&pages, "GET", "/metrics", None).await.0, 200);
        assert_eq!(get(&pages, "POST", "/metrics", None).await.0, 405);
        assert_eq!(get(&pages, "GET", "/", None).await.0, 404);
        assert_eq!(get(&pages, "GET", "/echo/more", None).await.0, 404);
        let answer = get(&pages, "POST", "/echo?a=b", Some("Bearer secret")).await;
        assert_eq!(answer, (202, "POST 0 ".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_handler_that_fails_panics_or_hangs_is_answered_for_without_the_cause() {
        let pages = pages(None);
        for path in ["/fail", "/panic"] {
            let answer = get(&pages, "GET", path, None).await;
            assert_eq!(answer, (500, "Internal Server Error\n".to_owned()));
        }
        let answer = get(&pages, "GET", "/hang", None).await;
        assert_eq!(answer, (504, "Gateway Timeout\n".to_owned()));
    }

    #[tokio::test]
    async fn requests_without_a_valid_token_are_rejected() {
        let api = FakeApi::new();
        let pages = pages(Some(Reviews::new(api.client()).unwrap()));
        for path in ["/metrics", "/echo"] {
            for token in [None, Some("Basic eDp5"), Some("Bearer"), Some("Bearer ")] {
                assert_eq!(get(&pages, "GET", path, token).await.0, 401);
            }
        }
        assert_eq!(api.requests(), [""; 0]);
        let asked = "POST /apis/authentication.k8s.io/v1/tokenreviews";
        for (path, questions) in [("/metrics", 1), ("/echo", 2)] {
            let token = Some("bearer unknown");
            assert_eq!(get(&pages, "GET", path, token).await.0, 401);
            assert_eq!(api.requests(), vec![asked; questions]);
        }
    }

    #[tokio::test]
    async fn a_method_in_lower_case_is_rejected_because_reviews_ignore_the_case() {
        let api = FakeApi::new();
        for pages in [
            pages(None),
            pages(Some(Reviews::new(api.client()).unwrap())),
        ] {
            for method in ["get", "Get", "GeT"] {
                let answer = get(&pages, method, "/echo", Some("Bearer token")).await;
                assert_eq!(answer, (405, "Method Not Allowed\n".to_owned()), "{method}");
            }
        }
        assert_eq!(api.requests(), [""; 0]);
    }

    #[tokio::test]
    async fn a_path_that_cannot_be_served_is_a_mistake() {
        let mut manager = harness::on(&FakeApi::new());
        for path in [
            "debug",
            "/a?b",
            "/a#b",
            "/a*",
            "/a b",
            "/ä",
            "",
            "/metrics",
            "/debug",
            "/debug",
            "/a%20b/%C3%A4",
        ] {
            manager.serve(path, async |_| Ok(Response::new(Vec::new())));
        }
        let first = |mistake: &String| mistake.lines().next().unwrap_or_default().to_owned();
        let mistakes: Vec<_> = manager.mistakes.iter().map(first).collect();
        assert_eq!(
            mistakes,
            [
                "`debug` is not a path that can be served",
                "`/a?b` is not a path that can be served",
                "`/a#b` is not a path that can be served",
                "`/a*` is not a path that can be served",
                "`/a b` is not a path that can be served",
                "`/ä` is not a path that can be served",
                "`` is not a path that can be served",
                "`/metrics` has two handlers",
                "`/debug` has two handlers",
            ]
        );
    }
}
