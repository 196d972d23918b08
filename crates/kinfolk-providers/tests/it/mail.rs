//! SMTP, and the outbox.

use std::sync::{Arc, Mutex};

use kinfolk_providers::Then;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::server::provider;

/// A mail server that answers every receiver with these lines, one connection after another.
async fn mail_server(answers: Vec<&'static str>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let letters: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&letters);
    tokio::spawn(async move {
        for answer in answers {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that hangs up is none of our business.
            let _ = converse(stream, answer, &kept).await;
        }
    });
    (port, letters)
}

async fn converse(stream: TcpStream, answer: &str, letters: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 here\r\n").await?;
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        match line.get(..4).unwrap_or_default().to_ascii_uppercase().as_str() {
            "RCPT" if answer.is_empty() => return Ok(()),
            "RCPT" => stream.write_all(format!("{answer}\r\n").as_bytes()).await?,
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await?;
                let mut letter = String::new();
                while !letter.ends_with("\r\n.\r\n") {
                    stream.read_line(&mut letter).await?;
                }
                letters.lock().unwrap().push(letter);
                stream.write_all(b"250 taken\r\n").await?;
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            _ => stream.write_all(b"250 fine\r\n").await?,
        }
    }
}

#[tokio::test]
async fn a_mail_server_gets_the_letter_with_an_id_made_from_the_key() {
    let (port, letters) = mail_server(vec!["250 fine"]).await;
    let config = json!({"kind": "smtp", "host": "127.0.0.1", "port": port, "tls": "none", "from": "shop@example.org"});
    let email =
        json!({"to": "Ann <ann@example.org>", "subject": "Paid", "text": "Thank you.", "html": "<p>Thank you."});
    let answer = provider("email", &config).send(&email, "k1").await.unwrap();
    assert_eq!(answer["id"], "<k1@127.0.0.1>");
    let letters = letters.lock().unwrap();
    assert_eq!(letters.len(), 1);
    for part in
        ["Message-ID: <k1@127.0.0.1>", "Subject: Paid", "ann@example.org", "multipart/alternative", "<p>Thank you."]
    {
        assert!(letters[0].contains(part), "{part}: {}", letters[0]);
    }
}

#[tokio::test]
async fn a_mail_server_that_refuses_breaks_off_or_is_away_says_what_may_help() {
    let (port, letters) = mail_server(vec!["550 no such user", "451 later", ""]).await;
    let config = json!({"kind": "smtp", "host": "127.0.0.1", "port": port, "tls": "none", "from": "shop@example.org"});
    let email = json!({"to": "ann@example.org", "subject": "Paid", "text": "Thank you."});
    for then in [Then::GiveUp, Then::Retry, Then::Retry] {
        // Each on a connection of its own.
        let fault = provider("email", &config).send(&email, "k1").await.unwrap_err();
        assert_eq!(fault.then, then, "{fault}");
    }
    assert!(letters.lock().unwrap().is_empty());
    let away = json!({"kind": "smtp", "host": "127.0.0.1", "port": 1, "tls": "none", "from": "shop@example.org"});
    assert_eq!(provider("email", &away).send(&email, "k").await.unwrap_err().then, Then::Retry);
}

#[tokio::test]
async fn an_email_that_is_wrong_is_refused_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let outbox = provider("email", &json!({"kind": "outbox", "folder": folder.path(), "from": "shop@example.org"}));
    let smtp = provider("email", &json!({"kind": "smtp", "host": "127.0.0.1", "port": 1, "tls": "none"}));
    for email in [json!({}), json!({"to": [], "subject": "s", "text": "t"}), json!({"to": "a@b.c", "subject": "s"})] {
        assert_eq!(outbox.send(&email, "k").await.unwrap_err().then, Then::GiveUp, "{email}");
        assert_eq!(smtp.send(&email, "k").await.unwrap_err().then, Then::GiveUp, "{email}");
    }
    let nobody = json!({"to": "nobody\r\nBcc: all@example.org", "from": "a@b.c", "subject": "s", "text": "t"});
    assert_eq!(smtp.send(&nobody, "k").await.unwrap_err().then, Then::GiveUp);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_outbox_keeps_a_message_once_under_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let outbox = provider("sms", &json!({"kind": "outbox", "folder": folder.path().join("out"), "from": "+1"}));
    let sms = json!({"to": "+47", "body": "hello"});
    let fault = outbox.send(&sms, "k1").await.unwrap_err();
    assert_eq!(fault.then, Then::Retry, "the folder is not there yet: {fault}");
    std::fs::create_dir(folder.path().join("out")).unwrap();
    for _ in 0..2 {
        assert_eq!(outbox.send(&sms, "k1").await.unwrap(), json!({"provider": "outbox", "id": "k1"}));
    }
    let files: Vec<_> =
        std::fs::read_dir(folder.path().join("out")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    let kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&files[0]).unwrap()).unwrap();
    assert_eq!(kept, json!({"to": "+47", "body": "hello", "from": "+1"}));
    assert_eq!(outbox.send(&sms, "../k").await.unwrap_err().then, Then::GiveUp);
}
