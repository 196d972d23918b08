//! A real browser without a window: Chromium, driven by `chromedriver` over the WebDriver protocol.
//!
//! It is for tests: what can't be done panics, and says what it was.

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::tools::program;

/// How long a state is waited for. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// A browser with a fresh profile.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

/// How the browser is set up.
#[derive(Clone, Copy, Default)]
pub struct Setup {
    /// No script of a page runs.
    pub without_scripts: bool,
}

impl Browser {
    /// Whether this machine has one, and its driver.
    pub fn installed() -> bool {
        program("chromedriver").is_some() && ["chromium", "google-chrome"].iter().any(|name| program(name).is_some())
    }

    /// Starts a browser; `None`, with a word about it, on a machine that has none.
    pub fn start(what: &str, setup: Setup) -> Option<Self> {
        if !Self::installed() {
            // Written around the harness, which would keep it to itself.
            let _ = writeln!(std::io::stdout(), "NOT TESTED: {what}: this machine has no Chromium, or no chromedriver");
            return None;
        }
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver can't be started");
        let port = port_of(&mut driver);
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        browser.open(setup);
        Some(browser)
    }

    fn open(&mut self, setup: Setup) {
        let profile = self._profile.path().display().to_string();
        let arguments = [
            "--headless".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-quic".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            "--disable-breakpad".to_owned(),
            format!("--user-data-dir={profile}"),
        ];
        let scripts = if setup.without_scripts { 2 } else { 1 };
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": PATIENCE.as_millis() as u64, "pageLoad": PATIENCE.as_millis() as u64},
            "goog:chromeOptions": {
                "args": arguments,
                "prefs": {"profile.managed_default_content_settings.javascript": scripts},
            },
        }}});
        let session = self.call("POST", "/session", &wanted).expect("a browser");
        self.session = session["sessionId"].as_str().unwrap().to_owned();
    }

    /// Opens an address.
    pub fn go(&self, address: &str) {
        self.command("url", &json!({"url": address}));
    }

    /// Goes back in the history.
    pub fn back(&self) {
        self.command("back", &json!({}));
    }

    /// Goes forward in the history.
    pub fn forward(&self) {
        self.command("forward", &json!({}));
    }

    /// Runs a script in the page, and gives back what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Runs a script that ends by calling its last argument, and gives back what it was called with.
    pub fn run_to_end(&self, script: &str) -> Value {
        self.command("execute/async", &json!({"script": script, "args": []}))
    }

    /// Waits until an expression is true in the page.
    pub fn until(&self, what: &str, expression: &str) {
        let begun = Instant::now();
        loop {
            let script = json!({"script": format!("return !!({expression})"), "args": []});
            // While a page is being replaced there is nothing to ask.
            if self.try_command("execute/sync", &script) == Ok(Value::Bool(true)) {
                return;
            }
            if begun.elapsed() > PATIENCE {
                let page = self.run("return location.href + '\\n' + document.body.innerText.slice(0, 3000)");
                panic!("waited in vain until {what}: {expression}\n{}", page.as_str().unwrap_or_default());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Clicks what a selector finds, once it is there.
    pub fn click(&self, selector: &str) {
        self.until(&format!("{selector} is there"), &format!("document.querySelector({})", json!(selector)));
        let element = self.command("element", &json!({"using": "css selector", "value": selector}));
        let id = element.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        self.command(&format!("element/{id}/click"), &json!({}));
    }

    /// Types keys, wherever the focus is.
    pub fn keys(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})])
            .collect();
        self.command("actions", &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}));
    }

    /// How wide the page is, and whether it is dark.
    pub fn look(&self, width: u32, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("goog/cdp/execute", &json!({"cmd": "Emulation.setEmulatedMedia", "params": media}));
        let metrics = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.command("goog/cdp/execute", &json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics}));
    }

    /// A picture of the whole page, as PNG.
    pub fn picture(&self, width: u32) -> Vec<u8> {
        let height = self.run("return document.documentElement.scrollHeight").as_u64().unwrap_or(900);
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let params = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let picture = self.command("goog/cdp/execute", &json!({"cmd": "Page.captureScreenshot", "params": params}));
        decoded(picture["data"].as_str().unwrap_or_default())
    }

    /// What was written to the console since the last time: errors, and reports of the content policy.
    pub fn console(&self) -> Vec<String> {
        let log = self.command("se/log", &json!({"type": "browser"}));
        log.as_array().unwrap().iter().map(|line| format!("{} {}", line["level"], line["message"])).collect()
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        self.try_command(path, body).unwrap_or_else(|fault| panic!("{path}: {fault}"))
    }

    fn try_command(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.call("POST", &format!("/session/{}/{path}", self.session), body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let text = |fault: std::io::Error| fault.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(text)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(text)?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).map_err(text)?;
        let answer = body_of(&mut BufReader::new(stream)).map_err(text)?;
        let mut answer: Value = serde_json::from_slice(&answer).map_err(|fault| fault.to_string())?;
        let value = answer["value"].take();
        match value["error"].as_str() {
            Some(error) => Err(format!("{error}: {}", value["message"].as_str().unwrap_or_default())),
            None => Ok(value),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.call("DELETE", &format!("/session/{}", self.session), &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Where the driver listens, by its own words.
fn port_of(driver: &mut Child) -> u16 {
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
    let port = lines.find_map(|line| line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok());
    // What it says later is read as well, or it would stop when nobody does.
    std::thread::spawn(move || lines.for_each(drop));
    port.expect("chromedriver does not say where it listens")
}

/// The body of an answer. Its length is in the head: the driver does not hang up.
fn body_of(answer: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if answer.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body)?;
    Ok(body)
}

/// What was written in base 64.
fn decoded(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for six in text.bytes().filter_map(value) {
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn base_64_is_read() {
        assert_eq!(decoded("S2luZm9saw=="), b"Kinfolk");
        assert_eq!(decoded("/+8A"), [255, 239, 0]);
    }
}
