//! Secrets: they come from the environment or a file, and have no text form.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::config::ConfigError;

/// A secret value. No log and no message shows it.
#[derive(Clone)]
pub struct Secret(String);

/// Where a secret is.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum SecretAt {
    /// In this variable of the environment.
    Env { env: String },
    /// In this file, which ends with the secret; the end of its line does not count.
    File { file: PathBuf },
    /// Here, where it must not be. It is not even kept: an error of the parser would show it.
    Here(IgnoredAny),
}

impl Secret {
    /// The secret itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl SecretAt {
    /// Reads it.
    pub(crate) fn read(&self) -> Result<Secret, ConfigError> {
        let text = match self {
            Self::Env { env: name } => {
                std::env::var(name).map_err(|_| ConfigError(format!("the variable {name} is not set")))?
            }
            Self::File { file: path } => std::fs::read_to_string(path)
                .map_err(|fault| ConfigError(format!("the secret in {} can't be read: {fault}", path.display())))?,
            Self::Here(_) => {
                let why = "a secret is not written into a configuration";
                return Err(ConfigError(format!("{why}; say {{ env = \"NAME\" }} or {{ file = \"PATH\" }}")));
            }
        };
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(ConfigError(format!("the secret at {self:?} is empty, or has more than one line")));
        }
        Ok(Secret(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_from_a_file_and_never_shown() {
        let path = std::env::temp_dir().join(format!("kinfolk-secret-{}", std::process::id()));
        std::fs::write(&path, "hush\n").unwrap();
        let secret = SecretAt::File { file: path.clone() }.read().unwrap();
        assert_eq!((secret.expose(), format!("{secret:?}").as_str()), ("hush", "Secret(…)"));
        std::fs::write(&path, "\n").unwrap();
        assert!(SecretAt::File { file: path.clone() }.read().is_err());
        std::fs::remove_file(&path).unwrap();
        assert!(SecretAt::File { file: path }.read().unwrap_err().to_string().contains("can't be read"));
        assert!(
            SecretAt::Env { env: "KINFOLK_NOT_SET".to_owned() }
                .read()
                .unwrap_err()
                .to_string()
                .contains("KINFOLK_NOT_SET")
        );
    }
}
