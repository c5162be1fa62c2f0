//! Plain HTTP, for servers without TLS: probes, metrics, etcd.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use anyhow::Context as _;
pub use hyper::Request;

pub struct Answer {
    pub status: u16,
    pub body: String,
}

pub fn get(port: u16, path: &str) -> anyhow::Result<Answer> {
    exchange(port, &format!("GET {path} HTTP/1.0\r\nhost: x\r\n\r\n"))
}

pub fn post(port: u16, path: &str, body: &str) -> anyhow::Result<Answer> {
    let length = body.len();
    exchange(
        port,
        &format!("POST {path} HTTP/1.0\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}"),
    )
}

fn exchange(port: u16, request: &str) -> anyhow::Result<Answer> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").context("an answer")?;
    let status = head.split(' ').nth(1).context("a status")?.parse()?;
    Ok(Answer {
        status,
        body: body.to_owned(),
    })
}
