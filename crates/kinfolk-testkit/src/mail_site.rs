//! A mail server that treats letters as it is told, and keeps those that it takes.
//!
//! It lives as long as the process of its test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};

/// What becomes of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mail {
    /// It is taken.
    Take,
    /// Its receiver is refused with these words.
    Refuse(&'static str),
    /// The letter is read, and refused with these words.
    Return(&'static str),
    /// The server hangs up when it hears of the receiver.
    HangUp,
    /// The letter is taken, and the server hangs up in the middle of saying so.
    BreakOff,
    /// The server says nothing more when it hears of the receiver.
    Stall,
}

type Judge = Box<dyn FnMut(&str) -> Mail + Send>;

/// The server.
#[derive(Debug)]
pub struct MailSite {
    port: u16,
    letters: Arc<Mutex<Vec<String>>>,
}

impl MailSite {
    /// A server that treats connections like this, one after another, and takes everything after that.
    pub fn new(mails: Vec<Mail>) -> Result<Self> {
        let mut mails = mails.into_iter();
        Self::serve(move || mails.next().unwrap_or(Mail::Take), Box::new(|_| Mail::Take))
    }

    /// A server that decides by the letter, once it has it: [`Mail::Take`], [`Mail::Return`] or [`Mail::BreakOff`].
    pub fn by(judge: impl FnMut(&str) -> Mail + Send + 'static) -> Result<Self> {
        Self::serve(|| Mail::Take, Box::new(judge))
    }

    fn serve(mut greet: impl FnMut() -> Mail + Send + 'static, judge: Judge) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        let port = listener.local_addr()?.port();
        let letters: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, judge) = (Arc::clone(&letters), Arc::new(Mutex::new(judge)));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (mail, kept, judge) = (greet(), Arc::clone(&kept), Arc::clone(&judge));
                // A client that hangs up is none of our business.
                thread::spawn(move || drop(converse(stream, mail, &judge, &kept)));
            }
        });
        Ok(Self { port, letters })
    }

    /// Where it is on this machine.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The letters that it took.
    pub fn letters(&self) -> Vec<String> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The Message-ID of a letter.
pub fn message_id(letter: &str) -> &str {
    letter.lines().find_map(|line| line.strip_prefix("Message-ID: ")).unwrap_or_default()
}

fn converse(stream: TcpStream, mail: Mail, judge: &Mutex<Judge>, letters: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    say(&mut stream, "220 here")?;
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        match (line.get(..4).unwrap_or_default().to_ascii_uppercase().as_str(), mail) {
            ("RCPT", Mail::HangUp) => return Ok(()),
            ("RCPT", Mail::Stall) => return stream.read(&mut [0]).map(drop),
            ("RCPT", Mail::Refuse(words)) => say(&mut stream, words)?,
            ("DATA", _) => {
                say(&mut stream, "354 go on")?;
                let letter = read_letter(&mut stream)?;
                let judged = judge.lock().unwrap_or_else(PoisonError::into_inner)(&letter);
                match if mail == Mail::Take { judged } else { mail } {
                    Mail::Return(words) => {
                        say(&mut stream, words)?;
                        continue;
                    }
                    Mail::BreakOff => {
                        letters.lock().unwrap_or_else(PoisonError::into_inner).push(letter);
                        return stream.get_mut().write_all(b"25");
                    }
                    _ => letters.lock().unwrap_or_else(PoisonError::into_inner).push(letter),
                }
                say(&mut stream, "250 taken")?;
            }
            ("QUIT", _) => return say(&mut stream, "221 bye"),
            _ => say(&mut stream, "250 fine")?,
        }
    }
}

fn read_letter(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut letter = String::new();
    while !letter.ends_with("\r\n.\r\n") {
        if stream.read_line(&mut letter)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(letter)
}

fn say(stream: &mut BufReader<TcpStream>, words: &str) -> std::io::Result<()> {
    stream.get_mut().write_all(format!("{words}\r\n").as_bytes())
}
