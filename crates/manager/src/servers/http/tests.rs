//! Requests on real connections.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::Semaphore,
};

use super::*;

/// A server that responds when the test lets it.
async fn server() -> (
    SocketAddr,
    CancellationToken,
    Arc<Semaphore>,
    tokio::task::JoinHandle<()>,
) {
    let (stop, answers) = (CancellationToken::new(), Arc::new(Semaphore::new(0)));
    let waiting = answers.clone();
    let server = Server {
        listener: bind("127.0.0.1:0").await.unwrap(),
        tls: None,
        handler: Arc::new(move |_| {
            let waiting = waiting.clone();
            Box::pin(async move {
                waiting.acquire().await.unwrap().forget();
                Reply::text(StatusCode::OK, "hello".to_owned()).into()
            })
        }),
    };
    let address = server.listener.local_addr().unwrap();
    let running = tokio::spawn(server.run(stop.clone()));
    (address, stop, answers, running)
}

async fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

async fn read(mut stream: TcpStream) -> String {
    let mut text = String::new();
    // A reset connection is as good as a closed one.
    let _ = stream.read_to_string(&mut text).await;
    text
}

#[tokio::test]
async fn a_request_in_progress_at_shutdown_is_answered() {
    let (address, stop, answers, running) = server().await;
    let stream = send(address, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    // A second connection is accepted after the first, so the first is being served by now.
    drop(send(address, "").await);
    stop.cancel();
    answers.add_permits(1);
    let text = read(stream).await;
    assert!(
        text.starts_with("HTTP/1.1 200 OK") && text.ends_with("hello"),
        "{text}"
    );
    running.await.unwrap();
}

#[tokio::test]
async fn a_request_that_is_not_http_1_is_rejected() {
    let (address, stop, _, running) = server().await;
    for text in ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "nonsense\r\n\r\n"] {
        let answer = read(send(address, text).await).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
            "{answer}"
        );
    }
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn the_error_for_a_port_in_use_names_the_address() {
    let taken = bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = bind(&address).await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot listen on `{address}`")),
        "{error}"
    );
}

#[tokio::test]
async fn an_address_without_a_host_listens_on_all_interfaces() {
    let address = bind(":0").await.unwrap().local_addr().unwrap();
    assert!(address.ip().is_unspecified());
}
