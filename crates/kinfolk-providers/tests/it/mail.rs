//! SMTP, and the outbox.

use kinfolk_providers::Then;
use kinfolk_testkit::{Mail, MailSite, message_id};
use serde_json::{Value, json};

use crate::provider;

fn smtp(port: u16) -> Value {
    json!({"kind": "smtp", "host": "127.0.0.1", "port": port, "tls": "none", "from": "shop@example.org", "timeout_secs": 1})
}

#[tokio::test]
async fn a_mail_server_gets_the_letter_with_an_id_made_from_the_key() {
    let site = MailSite::new(Vec::new()).unwrap();
    let email =
        json!({"to": "Ann <ann@example.org>", "subject": "Paid", "text": "Thank you.", "html": "<p>Thank you."});
    let answer = provider("email", &smtp(site.port())).send(&email, "k1").await.unwrap();
    assert_eq!(answer["id"], "<k1@127.0.0.1>");
    let letters = site.letters();
    assert_eq!((letters.len(), message_id(&letters[0])), (1, "<k1@127.0.0.1>"));
    for part in ["Subject: Paid", "ann@example.org", "multipart/alternative", "<p>Thank you."] {
        assert!(letters[0].contains(part), "{part}: {}", letters[0]);
    }
}

#[tokio::test]
async fn a_mail_server_that_refuses_stalls_breaks_off_or_is_away_says_what_may_help() {
    let email = json!({"to": "ann@example.org", "subject": "Paid", "text": "Thank you."});
    for (mail, then, words, taken) in [
        (Mail::Refuse("550 no such user"), Then::GiveUp, "no such user", 0),
        (Mail::Refuse("451 later"), Then::Retry, "later", 0),
        (Mail::Return("552 too large"), Then::GiveUp, "too large", 0),
        (Mail::Return("451 look again"), Then::Retry, "look again", 0),
        (Mail::HangUp, Then::Retry, "mail server", 0),
        (Mail::Stall, Then::Retry, "mail server", 0),
        // It may have been sent: nobody can know.
        (Mail::BreakOff, Then::Retry, "mail server", 1),
    ] {
        let site = MailSite::new(vec![mail]).unwrap();
        let fault = provider("email", &smtp(site.port())).send(&email, "k1").await.unwrap_err();
        assert_eq!((fault.then, site.letters().len()), (then, taken), "{mail:?}: {fault}");
        assert!(fault.message.contains(words), "{mail:?}: {fault}");
    }
    assert_eq!(provider("email", &smtp(1)).send(&email, "k").await.unwrap_err().then, Then::Retry);
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
