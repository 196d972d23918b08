//! Payloads from the command line, from stdin and from files of one JSON value a line. All of it is read and checked
//! before the first task is made, so a bad line leaves nothing half-written.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};

use kinfolk_core::limits::PAYLOAD_BYTES_MAX;
use kinfolk_core::{InputError, Json};

use crate::fault::Fault;

/// Text is longer than the canonical JSON it becomes, by spaces and escapes; far beyond that nothing can fit.
const TEXT_BYTES_MAX: u64 = 8 * PAYLOAD_BYTES_MAX as u64;

/// The payload given as an argument; `-` is stdin, and none is the empty object.
pub(crate) fn one(argument: Option<&str>) -> Result<Json, Fault> {
    match argument {
        None => Ok(Json::object()),
        Some("-") => checked(&text_of(io::stdin().lock())?),
        Some(text) => checked(text),
    }
}

/// The payloads of a file, one a line; `-` is stdin, empty lines are passed over.
pub(crate) fn lines(path: &str) -> Result<Vec<Json>, Fault> {
    let source: Box<dyn Read> = match path {
        "-" => Box::new(io::stdin().lock()),
        _ => Box::new(File::open(path).map_err(|fault| Fault::unreadable("payload file", path, &fault))?),
    };
    let mut payloads = Vec::new();
    for (index, line) in BufReader::new(source).lines().enumerate() {
        let at = |fault: &dyn std::fmt::Display| Fault::input(format!("line {} of {path}: {fault}", index + 1));
        let line = line.map_err(|fault| at(&fault))?;
        if !line.trim().is_empty() {
            payloads.push(Json::parse(&line).and_then(sized).map_err(|fault| at(&fault))?);
        }
    }
    Ok(payloads)
}

fn text_of(source: impl Read) -> Result<String, Fault> {
    let mut text = String::new();
    let bytes = source
        .take(TEXT_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|fault| Fault::input(format!("stdin can't be read as JSON: {fault}")))?;
    match bytes as u64 > TEXT_BYTES_MAX {
        true => Err(InputError::TooLarge { what: "payload", bytes, max: PAYLOAD_BYTES_MAX }.into()),
        false => Ok(text),
    }
}

fn checked(text: &str) -> Result<Json, Fault> {
    match Json::parse(text).and_then(sized) {
        Err(fault @ InputError::NotJson(_)) => {
            Err(Fault::input(format!("the payload is {fault}; quote it for the shell, like '{{\"order\": 7}}'")))
        }
        other => Ok(other?),
    }
}

fn sized(payload: Json) -> Result<Json, InputError> {
    match payload.bytes() {
        bytes if bytes > PAYLOAD_BYTES_MAX => {
            Err(InputError::TooLarge { what: "payload", bytes, max: PAYLOAD_BYTES_MAX })
        }
        _ => Ok(payload),
    }
}
